package io.rdma4j.host;

import io.rdma4j.host.DeviceReport.Transport;
import io.rdma4j.host.DeviceReport.VerbsNode;
import io.rdma4j.host.DeviceReport.VerbsNode.State;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads {@code /sys/class/infiniband} and joins each device with its character device. */
final class DeviceReader {
  private static final String DEVICES = "/sys/class/infiniband";
  private static final String VERBS_NODES = "/sys/class/infiniband_verbs";

  /** The kernel has no more: its NODES_SHIFT is 10 at most. */
  private static final int MAX_NUMA_NODE = (1 << 10) - 1;

  private final Probe probe;
  private final @Nullable List<String> deviceNodes;
  private final @Nullable Map<String, String> nodeByDevice;

  DeviceReader(Probe probe, @Nullable List<String> deviceNodes) {
    this.probe = probe;
    this.deviceNodes = deviceNodes;
    this.nodeByDevice = readNodeNames(probe);
  }

  List<DeviceReport> readAll() {
    List<String> names = probe.names(DEVICES);
    List<DeviceReport> devices = new ArrayList<>();
    if (names != null) {
      for (String name : names) {
        devices.add(read(name));
      }
    }
    return devices;
  }

  private DeviceReport read(String name) {
    String dir = DEVICES + "/" + name;
    String nodeType = PortReader.afterColon(probe.text(dir + "/node_type"));
    boolean rnic = "RNIC".equals(nodeType);
    List<PortReport> ports = new PortReader(probe, dir, rnic).readAll();
    String driver = Providers.of(probe.resolve(dir + "/device/driver"), name);
    boolean virtual = isVirtual(dir, driver);
    Long numaNode = virtual ? null : probe.number(dir + "/device/numa_node");
    return new DeviceReport(
        name,
        transport(nodeType, ports),
        virtual,
        numaNode == null || numaNode < 0 || numaNode > MAX_NUMA_NODE
            ? null
            : (Integer) numaNode.intValue(),
        probe.text(dir + "/fw_ver"),
        probe.text(dir + "/hca_type"),
        driver,
        virtual ? null : PcieLink.read(probe, dir),
        readVerbsNode(name),
        ports);
  }

  /** A copied tree may lack the link to the bus device of a device whose name says hardware. */
  private boolean isVirtual(String dir, @Nullable String driver) {
    if (probe.resolve(dir + "/parent") != null) {
      return true;
    }
    return probe.resolve(dir + "/device") == null
        && (probe.isLive() || driver == null || Providers.isSoftware(driver));
  }

  private static @Nullable Transport transport(@Nullable String nodeType, List<PortReport> ports) {
    if ("RNIC".equals(nodeType)) {
      return Transport.IWARP;
    }
    // A card may run one port as InfiniBand and the other as Ethernet: a port in use decides.
    PortReport decisive =
        ports.stream()
            .filter(PortReport::isActive)
            .findFirst()
            .orElse(ports.isEmpty() ? null : ports.getFirst());
    if (decisive == null || decisive.linkLayer() == null) {
      return null;
    }
    return switch (decisive.linkLayer()) {
      case "InfiniBand" -> Transport.INFINIBAND;
      case "Ethernet" -> Transport.ROCE;
      default -> null;
    };
  }

  private VerbsNode readVerbsNode(String device) {
    String node = nodeByDevice == null ? null : nodeByDevice.get(device);
    if (node == null) {
      return nodeOfUnknownName(device);
    }
    String path = "/dev/infiniband/" + node;
    if (deviceNodes == null) {
      return new VerbsNode(path, State.UNKNOWN, "there is no /dev to look into");
    }
    if (!deviceNodes.contains(node)) {
      return new VerbsNode(path, State.ABSENT, path + " is missing");
    }
    return probe.isLive() ? open(path) : new VerbsNode(path, State.LISTED, "listed in the tree");
  }

  private VerbsNode nodeOfUnknownName(String device) {
    if (probe.isLive() || nodeByDevice != null) {
      return new VerbsNode(
          null,
          State.ABSENT,
          "the kernel offers no uverbs node for " + device + " in " + VERBS_NODES);
    }
    if (deviceNodes != null && deviceNodes.stream().noneMatch(n -> n.startsWith("uverbs"))) {
      return new VerbsNode(null, State.ABSENT, "/dev/infiniband has no uverbs node");
    }
    return new VerbsNode(null, State.UNKNOWN, VERBS_NODES + " is not in the tree");
  }

  /**
   * Opens and closes the node, which is what ibv_open_device(3) does first. Permission bits alone
   * would not show the device cgroup of a container, which answers EPERM only when it is opened.
   */
  static VerbsNode open(String path) {
    try (FileChannel channel =
        FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new VerbsNode(path, State.OPENABLE, channel.isOpen() ? "opened and closed" : "closed");
    } catch (IOException e) {
      return new VerbsNode(path, State.DENIED, path + ": " + Probe.describe(e));
    }
  }

  private static @Nullable Map<String, String> readNodeNames(Probe probe) {
    List<String> entries = probe.names(VERBS_NODES);
    if (entries == null) {
      return null;
    }
    Map<String, String> nodeByDevice = new HashMap<>();
    for (String entry : entries) {
      String device =
          entry.startsWith("uverbs") ? probe.text(VERBS_NODES + "/" + entry + "/ibdev") : null;
      if (device != null) {
        nodeByDevice.put(device, entry);
      }
    }
    return nodeByDevice;
  }
}
