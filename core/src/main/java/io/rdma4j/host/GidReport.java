package io.rdma4j.host;

import org.jspecify.annotations.Nullable;

/**
 * A filled slot of a port's GID table.
 *
 * @param index slot number, what {@code sgid_index} of an address handle names
 * @param type protocol the entry speaks, null when the kernel does not tell
 * @param gid the 128-bit identifier as the kernel prints it: eight groups of four hex digits
 * @param scope reach of the identifier
 * @param netdev network device the entry belongs to, null on InfiniBand
 */
public record GidReport(
    int index, @Nullable Protocol type, String gid, Scope scope, @Nullable String netdev) {

  /** Protocol of a GID table entry. */
  public enum Protocol {
    /** InfiniBand global route header. */
    INFINIBAND("InfiniBand"),
    /** RoCE v1: an Ethernet frame type of its own, not routed. */
    ROCE_V1("RoCE v1"),
    /** RoCE v2: inside UDP, routed like any IP packet. */
    ROCE_V2("RoCE v2"),
    /** iWARP: the entry only carries the MAC address. */
    IWARP("iWARP");

    private final String label;

    Protocol(String label) {
      this.label = label;
    }

    /** The name people use. */
    public String label() {
      return label;
    }
  }

  /** Reach of a GID. */
  public enum Scope {
    /** An IPv4 address mapped into IPv6, {@code ::ffff:a.b.c.d}. */
    IPV4,
    /** Any other routable identifier. */
    GLOBAL,
    /** {@code fe80::/10}: valid on one link only. */
    LINK_LOCAL
  }

  /** The identifier as an IPv4 address, null when it is not one. */
  public @Nullable String ipv4() {
    if (scope != Scope.IPV4) {
      return null;
    }
    int high = Integer.parseInt(gid.substring(30, 34), 16);
    int low = Integer.parseInt(gid.substring(35, 39), 16);
    return (high >> 8) + "." + (high & 0xff) + "." + (low >> 8) + "." + (low & 0xff);
  }
}
