package io.rdma4j.provider.verbs;

import io.rdma4j.os.SystemRoot;
import io.rdma4j.provider.verbs.PortFacts.Link;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.PortAddress;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/**
 * The entry of a port's GID table that connections shall run from, where the settings name one.
 *
 * <p>rdma_cm takes the entry by address; of the two that RoCE has for each, v1 and v2, it takes the
 * one of the port's default mode (configfs, {@code rdma_cm/DEVICE/ports/PORT/default_roce_mode}).
 * So an index stands for its address, and whether it is the index itself shows once a queue pair is
 * connected.
 *
 * @param host tells the types of entries
 * @param index {@link PortRestriction#GID_BY_ADDRESS} for none
 */
record GidIndex(SystemRoot host, int index) {
  private static final int GID_BYTES = 16;
  private static final int MAPPED_BYTES = 12;

  /** Returns why an address can not be used with this index, empty when it can. */
  String refusal(Device device, PortAddress port, Link link) {
    if (index == PortRestriction.GID_BY_ADDRESS || link == Link.IWARP) {
      return "";
    }
    byte[] gid = gid(device, port.port(), index);
    if (isEmpty(gid)) {
      return String.format(
          "%s port %d has no GID at index %d (%s); usable: %s",
          port.device(), port.port(), index, VerbsSettings.GID_INDEX, usable(device, port.port()));
    }
    boolean other = link == Link.ROCE && !Arrays.equals(gid, gidOf(port.address()));
    return other
        ? String.format(
            "%s of %s port %d is not the address of GID %d (%s), which is %s",
            port.address().getHostAddress(),
            port.device(),
            port.port(),
            index,
            VerbsSettings.GID_INDEX,
            text(gid))
        : "";
  }

  /** Returns what is doubtful about the entry that a connection runs from, empty for nothing. */
  String doubt(LocalPort port, int usedIndex) {
    if (index == PortRestriction.GID_BY_ADDRESS || usedIndex < 0) {
      return "";
    }
    if (usedIndex != index) {
      return String.format(
          "GID %d was asked for, but rdma_cm took %d of the same address: see default_roce_mode",
          index, usedIndex);
    }
    String type = type(port.device(), port.port(), index);
    return port.facts().link() == Link.ROCE && type.endsWith("v1")
        ? String.format("GID %d is RoCE v1, which no router forwards", index)
        : "";
  }

  private String usable(Device device, int port) {
    List<String> entries = new ArrayList<>();
    for (int i = 0; i < device.port(port).gidTableLength(); i++) {
      byte[] gid = gid(device, port, i);
      if (!isEmpty(gid)) {
        String type = type(device.name(), port, i);
        entries.add(i + " (" + text(gid) + (type.isEmpty() ? "" : ", " + type) + ")");
      }
    }
    return entries.isEmpty() ? "none" : String.join(", ", entries);
  }

  private static byte[] gid(Device device, int port, int index) {
    return index < device.port(port).gidTableLength()
        ? device.gid(port, index)
        : new byte[GID_BYTES];
  }

  /** The kernel says "IB/RoCE v1" or "RoCE v2". */
  private String type(String device, int port, int index) {
    String ports = "/sys/class/infiniband/" + device + "/ports/" + port;
    return host.read(ports + "/gid_attrs/types/" + index).orElse("").strip();
  }

  private static boolean isEmpty(byte[] gid) {
    return Arrays.equals(gid, new byte[GID_BYTES]);
  }

  private static byte[] gidOf(InetAddress address) {
    byte[] bytes = address.getAddress();
    if (!(address instanceof Inet4Address)) {
      return bytes;
    }
    byte[] mapped = new byte[GID_BYTES];
    Arrays.fill(mapped, MAPPED_BYTES - 2, MAPPED_BYTES, (byte) 0xff);
    System.arraycopy(bytes, 0, mapped, MAPPED_BYTES, bytes.length);
    return mapped;
  }

  /** An IPv4 address comes out as such. */
  private static String text(byte[] gid) {
    try {
      return InetAddress.getByAddress(gid).getHostAddress();
    } catch (UnknownHostException ofTheLength) {
      return HexFormat.of().formatHex(gid);
    }
  }
}
