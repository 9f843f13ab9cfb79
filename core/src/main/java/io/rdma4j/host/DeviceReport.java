package io.rdma4j.host;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An RDMA device as sysfs describes it.
 *
 * @param name kernel name, for example {@code mlx5_0}
 * @param transport wire protocol of the device, null when neither node type nor a link layer tells
 * @param virtual true for a software device, which has no bus device behind it
 * @param numaNode NUMA node the device sits on; null when the kernel does not know (-1, software
 *     devices)
 * @param firmware firmware version, null when the driver gives none
 * @param model driver's name of the hardware, for example {@code MT4123}
 * @param driver user-space provider that serves the device, for example {@code mlx5}; null when not
 *     known
 * @param pcie PCI Express link of the card, null when unknown and for software devices
 * @param node the character device that programs open
 * @param ports physical ports, in order of their numbers
 */
public record DeviceReport(
    String name,
    @Nullable Transport transport,
    boolean virtual,
    @Nullable Integer numaNode,
    @Nullable String firmware,
    @Nullable String model,
    @Nullable String driver,
    @Nullable PcieLink pcie,
    VerbsNode node,
    List<PortReport> ports) {

  /** Copies the list of ports. */
  public DeviceReport {
    ports = List.copyOf(ports);
  }

  /** Wire protocol of a device. */
  public enum Transport {
    /** Native InfiniBand fabric. */
    INFINIBAND("InfiniBand"),
    /** RDMA over Converged Ethernet; each GID says whether it speaks v1 or v2. */
    ROCE("RoCE"),
    /** RDMA over TCP; connections are made through rdma_cm only. */
    IWARP("iWARP");

    private final String label;

    Transport(String label) {
      this.label = label;
    }

    /** The name people use. */
    public String label() {
      return label;
    }
  }

  /**
   * The character device {@code /dev/infiniband/uverbsN} that a program opens to use a device.
   *
   * @param path its path, null when the number N is not known
   * @param state whether it can be opened
   * @param detail what was found, in words
   */
  public record VerbsNode(@Nullable String path, State state, String detail) {
    /** What is known about the node. */
    public enum State {
      /** This process opened it and closed it again. */
      OPENABLE,
      /** It is listed in a copied tree; whether it opens there is not known. */
      LISTED,
      /** It is there, but this process may not open it. */
      DENIED,
      /** It is not there. */
      ABSENT,
      /** The tree does not tell. */
      UNKNOWN
    }
  }
}
