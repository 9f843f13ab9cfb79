package io.rdma4j.verbs;

import io.rdma4j.Availability;
import io.rdma4j.verbs.ffi.NativeVerbs;
import java.util.List;

/**
 * The RDMA stack of this machine: its devices and its connection manager.
 *
 * <p>Safe for use by several threads. No library or no device is a normal state that {@link
 * #availability()} explains; then {@link #devices()} is empty.
 */
public interface Verbs {
  /**
   * Returns the stack of this machine over libibverbs.so.1 and librdmacm.so.1, the same object at
   * each call. The system properties {@code rdma4j.verbs.library} and {@code rdma4j.rdmacm.library}
   * name other files.
   */
  static Verbs system() {
    return NativeVerbs.system();
  }

  /** Returns whether any device can be used here, with the reason. */
  Availability availability();

  /** Returns what is known of every device, usable or not, in the order of their names. */
  List<DeviceInfo> devices();

  /**
   * Opens a device. All who open it get the same object, and each closes it once; the last close
   * closes what was made from it.
   *
   * @throws io.rdma4j.VerbsException when it cannot be opened
   */
  Device open(String deviceName);

  /**
   * Returns the IP addresses of this machine by which rdma_cm finds ports of devices, as they are
   * now. It asks rdma_cm about each address, which takes some ten microseconds.
   *
   * @throws io.rdma4j.VerbsException when librdmacm or /dev/infiniband/rdma_cm is missing
   */
  List<PortAddress> portAddresses();

  /**
   * Creates an rdma_cm identifier with an event channel of its own. The caller closes it.
   *
   * @throws io.rdma4j.VerbsException when librdmacm or /dev/infiniband/rdma_cm is missing
   */
  CmId createCmId();
}
