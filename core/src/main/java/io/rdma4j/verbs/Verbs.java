package io.rdma4j.verbs;

import io.rdma4j.Availability;
import java.util.List;

/**
 * The RDMA stack of this machine: its devices and its connection manager.
 *
 * <p>Safe for use by several threads. No library or no device is a normal state that {@link
 * #availability()} explains; then {@link #devices()} is empty.
 */
public interface Verbs {
  /** Returns whether any device can be used here, with the reason. */
  Availability availability();

  /** Returns what is known of every device, usable or not, in the order of their names. */
  List<DeviceInfo> devices();

  /**
   * Opens a device.
   *
   * @throws io.rdma4j.VerbsException when it cannot be opened
   */
  Device open(String deviceName);

  /**
   * Creates an rdma_cm identifier with an event channel of its own. The caller closes it.
   *
   * @throws io.rdma4j.VerbsException when librdmacm or /dev/infiniband/rdma_cm is missing
   */
  CmId createCmId();
}
