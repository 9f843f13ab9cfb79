package io.rdma4j.verbs;

import io.rdma4j.Availability;

/**
 * A device as it is listed before it is opened.
 *
 * @param name kernel name, for example {@code mlx5_0}
 * @param guid node GUID in host order, 0 when unknown
 * @param transport InfiniBand covers RoCE as well; iWARP devices connect through rdma_cm only
 * @param availability whether it can be opened by this process, with the reason
 */
public record DeviceInfo(String name, long guid, Transport transport, Availability availability) {
  /** Transport type as libibverbs reports it (ibv_get_device_list(3)). */
  public enum Transport {
    /** InfiniBand and RoCE. */
    INFINIBAND,
    /** iWARP. */
    IWARP,
    /** Any other. */
    OTHER
  }
}
