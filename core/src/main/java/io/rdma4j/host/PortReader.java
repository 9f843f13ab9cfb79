package io.rdma4j.host;

import io.rdma4j.host.GidReport.Protocol;
import io.rdma4j.host.GidReport.Scope;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the ports of one device: state, link, MTU and the GID table. */
final class PortReader {
  /** Path MTUs that the InfiniBand transport knows, largest first. */
  private static final int[] PATH_MTUS_BYTES = {4096, 2048, 1024, 512, 256};

  /**
   * Room that the kernel leaves for headers when it derives the RoCE MTU from the Ethernet MTU: GRH
   * or IPv6 40, UDP 8, base transport header 12, extended XRC 4, extended atomic 28, invariant CRC
   * 4.
   */
  private static final int ROCE_HEADER_BYTES = 40 + 8 + 12 + 4 + 28 + 4;

  private static final Pattern GID = Pattern.compile("[0-9a-f]{4}(:[0-9a-f]{4}){7}");
  private static final Pattern SLOT = Pattern.compile("\\d{1,9}");
  private static final String EMPTY_GID = "0000:0000:0000:0000:0000:0000:0000:0000";
  private static final String IPV4_MAPPED = "0000:0000:0000:0000:0000:ffff:";

  private final Probe probe;
  private final String deviceDir;
  private final String portsDir;
  private final boolean iwarp;

  PortReader(Probe probe, String deviceDir, boolean iwarp) {
    this.probe = probe;
    this.deviceDir = deviceDir;
    this.portsDir = deviceDir + "/ports";
    this.iwarp = iwarp;
  }

  List<PortReport> readAll() {
    List<PortReport> ports = new ArrayList<>();
    for (int number : probe.numbers(portsDir)) {
      ports.add(read(number));
    }
    return ports;
  }

  private PortReport read(int number) {
    String dir = portsDir + "/" + number;
    String linkLayer = probe.text(dir + "/link_layer");
    List<GidReport> gids = readGids(dir, linkLayer);
    String netdev = PortNetdev.of(probe, deviceDir, number);
    Mtu mtu = readMtu(linkLayer, netdev);
    String device = deviceDir.substring(deviceDir.lastIndexOf('/') + 1);
    boolean roce = !iwarp && "Ethernet".equals(linkLayer);
    return new PortReport(
        number,
        afterColon(probe.text(dir + "/state")),
        linkLayer,
        netdev,
        probe.text(dir + "/rate"),
        mtu.bytes,
        mtu.source,
        gids,
        iwarp ? null : GidRanking.best(gids),
        roce ? RoceSettings.read(probe, device, number, netdev) : null);
  }

  /** A table has up to a thousand slots, nearly all of them empty. */
  private List<GidReport> readGids(String dir, @Nullable String linkLayer) {
    List<GidReport> gids = new ArrayList<>();
    probe.forEachText(
        dir + "/gids",
        (slot, text) -> {
          if (!text.equals(EMPTY_GID) && SLOT.matcher(slot).matches()) {
            addGid(gids, dir, linkLayer, Integer.parseInt(slot), text);
          }
        });
    return gids;
  }

  private void addGid(
      List<GidReport> gids, String dir, @Nullable String linkLayer, int index, String text) {
    String gid = text.toLowerCase(Locale.ROOT);
    if (!GID.matcher(gid).matches()) {
      probe.report(dir + "/gids/" + index, "not a GID: '" + text + "'");
      return;
    }
    String type = probe.optionalText(dir + "/gid_attrs/types/" + index);
    String netdev = probe.optionalText(dir + "/gid_attrs/ndevs/" + index);
    gids.add(new GidReport(index, type(linkLayer, type), gid, scope(gid), netdev));
  }

  /** The kernel says "IB/RoCE v1" on every link; which of the two it means is the link's matter. */
  private @Nullable Protocol type(@Nullable String linkLayer, @Nullable String text) {
    if (iwarp) {
      return Protocol.IWARP;
    }
    if ("InfiniBand".equals(linkLayer)) {
      return Protocol.INFINIBAND;
    }
    if (text == null) {
      return null;
    }
    return switch (text) {
      case "RoCE v2" -> Protocol.ROCE_V2;
      case "IB/RoCE v1", "RoCE v1" -> Protocol.ROCE_V1;
      default -> null;
    };
  }

  private static Scope scope(String gid) {
    if (gid.startsWith(IPV4_MAPPED)) {
      return Scope.IPV4;
    }
    int firstBits = Integer.parseInt(gid.substring(0, 4), 16) & 0xffc0;
    return firstBits == 0xfe80 ? Scope.LINK_LOCAL : Scope.GLOBAL;
  }

  private record Mtu(@Nullable Integer bytes, String source) {}

  private Mtu readMtu(@Nullable String linkLayer, @Nullable String netdev) {
    if (iwarp) {
      return new Mtu(null, "iWARP runs over TCP, which has no path MTU of its own");
    }
    if (!"Ethernet".equals(linkLayer)) {
      return new Mtu(null, "sysfs does not hold the active MTU; ibv_devinfo shows it");
    }
    if (netdev == null) {
      return new Mtu(null, "nothing names the network device of the port");
    }
    Long ethernetMtu = probe.number("/sys/class/net/" + netdev + "/mtu");
    if (ethernetMtu == null) {
      return new Mtu(null, "the MTU of " + netdev + " is not known");
    }
    String source = "from " + netdev + " MTU " + ethernetMtu;
    for (int mtuBytes : PATH_MTUS_BYTES) {
      if (mtuBytes + ROCE_HEADER_BYTES <= ethernetMtu) {
        return new Mtu(mtuBytes, source);
      }
    }
    return new Mtu(null, source + ", too small for any RoCE path MTU");
  }

  /** Sysfs words enumerations as "4: ACTIVE". */
  static @Nullable String afterColon(@Nullable String text) {
    return text == null ? null : text.substring(text.indexOf(':') + 1).strip();
  }
}
