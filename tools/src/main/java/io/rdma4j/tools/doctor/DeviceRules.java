package io.rdma4j.tools.doctor;

import io.rdma4j.host.CgroupReport.RdmaQuota;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.DeviceReport.Transport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.LibraryReport;
import io.rdma4j.host.NumaNodeReport;
import io.rdma4j.host.PcieLink;
import io.rdma4j.host.PortReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Judges one device. */
final class DeviceRules {
  /** Largest path MTU of the InfiniBand transport. */
  private static final int LARGEST_MTU_BYTES = 4096;

  /** Fewer objects than this end a small pool with a handful of connections. */
  private static final int FEW_OBJECTS = 64;

  private final HostReport host;
  private final DeviceReport device;
  private final String name;

  DeviceRules(HostReport host, DeviceReport device) {
    this.host = host;
    this.device = device;
    this.name = device.name();
  }

  /** What keeps the device from being used; empty when nothing does. */
  List<Finding> blockers() {
    List<Finding> blockers = new ArrayList<>();
    add(blockers, nodeBlocker());
    add(blockers, providerBlocker());
    add(blockers, quotaBlocker());
    add(blockers, portBlocker());
    return blockers;
  }

  /** What is worth knowing about a device whether or not it can be used. */
  List<Finding> remarks() {
    List<Finding> remarks = new ArrayList<>();
    if (device.virtual()) {
      remarks.add(
          Finding.info(
              "software-device",
              name
                  + " is a software device: right for trying out, its speed says nothing about a"
                  + " NIC.",
              "/sys/class/infiniband/" + name + " has no hardware behind it",
              ""));
    } else if (device.numaNode() == null
        && (host.numaNodes() == null || host.numaNodes().size() > 1)) {
      remarks.add(
          Finding.info(
              "numa-unknown",
              "The NUMA node of " + name + " is unknown, so memory cannot be placed near it.",
              "/sys/class/infiniband/" + name + "/device/numa_node is -1 or missing",
              "In a virtual machine, expose the host's NUMA topology to the guest."));
    }
    addMemoryRemark(remarks);
    addPcieRemark(remarks);
    addQuotaRemark(remarks);
    for (PortReport port : device.ports()) {
      addPortRemarks(port, remarks);
    }
    return remarks;
  }

  private @Nullable Finding nodeBlocker() {
    return switch (device.node().state()) {
      case OPENABLE, LISTED, UNKNOWN -> null;
      case ABSENT ->
          blocker(
              "uverbs-node-missing",
              "sysfs lists " + name + ", but " + device.node().detail() + ".",
              Advice.deviceNodes(host),
              "In a container: " + passNode() + ". Elsewhere: modprobe ib_uverbs.");
      case DENIED ->
          blocker(
              "uverbs-node-denied",
              "This process may not open the device node of " + name + ".",
              device.node().detail(),
              "Give the user read and write access (group rdma, or a udev rule). In a container: "
                  + passNode()
                  + ".");
    };
  }

  private String passNode() {
    String path = device.node().path();
    return "start it with --device="
        + (path == null ? "/dev/infiniband" : path)
        + " (Docker, Podman), or request the device from the RDMA device plugin (Kubernetes)";
  }

  private @Nullable Finding providerBlocker() {
    String driver = device.driver();
    boolean librariesKnown =
        host.libraries().stream()
            .anyMatch(l -> l.kind() == LibraryReport.Kind.CORE && Boolean.TRUE.equals(l.found()));
    if (driver == null || !librariesKnown) {
      return null;
    }
    boolean there =
        host.libraries().stream()
            .anyMatch(l -> l.kind() == LibraryReport.Kind.PROVIDER && l.name().equals(driver));
    return there
        ? null
        : blocker(
            "provider-missing",
            "The libibverbs provider " + driver + " for " + name + " is not installed.",
            "no lib" + driver + "-rdmav*.so in the libibverbs folder beside the library",
            Advice.INSTALL_PROVIDERS);
  }

  private @Nullable RdmaQuota quota() {
    return host.cgroup().rdma().stream()
        .filter(quota -> quota.device().equals(name))
        .findFirst()
        .orElse(null);
  }

  private @Nullable Finding quotaBlocker() {
    RdmaQuota quota = quota();
    if (quota == null || quota.usedHandles() < quota.maxHandles()) {
      return null;
    }
    return blocker(
        "rdma-quota-spent",
        "The control group may not open " + name + " once more.",
        "rdma.max: hca_handle=" + quota.maxHandles() + ", in use: " + quota.usedHandles(),
        "Raise hca_handle in rdma.max of the control group, or end other users of the device.");
  }

  private void addQuotaRemark(List<Finding> remarks) {
    RdmaQuota quota = quota();
    if (quota == null || quota.maxObjects() - quota.usedObjects() >= FEW_OBJECTS) {
      return;
    }
    remarks.add(
        Finding.warning(
            "rdma-quota-low",
            "The control group leaves "
                + Math.max(0, quota.maxObjects() - quota.usedObjects())
                + " objects on "
                + name
                + "; each connection takes two, each slab of the pool one.",
            "rdma.max: hca_object=" + quota.maxObjects() + ", in use: " + quota.usedObjects(),
            "Raise hca_object in rdma.max of the control group."));
  }

  private void addPcieRemark(List<Finding> remarks) {
    PcieLink pcie = device.pcie();
    if (pcie == null || !pcie.isDegraded()) {
      return;
    }
    remarks.add(
        Finding.warning(
            "pcie-degraded",
            "The slot gives " + name + " less than the card can do.",
            String.format(
                Locale.ROOT,
                "%d lanes at %.1f GT/s of %d at %.1f",
                pcie.lanes(),
                pcie.gigatransfers(),
                pcie.maxLanes(),
                pcie.maxGigatransfers()),
            "Seat the card in a slot of its width and generation; a card at rest may lower its"
                + " speed, so look again under load."));
  }

  private void addMemoryRemark(List<Finding> remarks) {
    Integer node = device.numaNode();
    List<NumaNodeReport> nodes = host.numaNodes();
    if (node == null || nodes == null || !isWithoutMemory(nodes, node)) {
      return;
    }
    remarks.add(
        Finding.info(
            "numa-node-without-memory",
            "NUMA node "
                + node
                + " of "
                + name
                + " has no memory; the nearest that has some is "
                + nearest(nodes, node)
                + ".",
            "/sys/devices/system/node/has_memory",
            "Memory is placed there. Put modules of memory beside the card's processor for less"
                + " latency."));
  }

  private static boolean isWithoutMemory(List<NumaNodeReport> nodes, int node) {
    return nodes.stream().anyMatch(n -> n.id() == node && !n.hasMemory());
  }

  /** Nearest first, the lower number of two equally near. */
  private static String nearest(List<NumaNodeReport> nodes, int node) {
    List<Integer> distances =
        nodes.stream().filter(n -> n.id() == node).findFirst().orElseThrow().distances();
    int best = -1;
    for (int i = 0; i < nodes.size(); i++) {
      boolean nearer = best < 0 || (i < distances.size() && distances.get(i) < distances.get(best));
      if (nodes.get(i).hasMemory() && nearer) {
        best = i;
      }
    }
    return best < 0 ? "unknown" : "node " + nodes.get(best).id();
  }

  private @Nullable Finding portBlocker() {
    List<PortReport> ports = device.ports();
    if (ports.isEmpty()) {
      return blocker(
          "no-port",
          "sysfs shows no port of " + name + ".",
          "/sys/class/infiniband/" + name + "/ports is missing or empty",
          host.live()
              ? "Look into the kernel log (dmesg) for messages of the driver."
              : "Copy the tree again with its symbolic links (tar, cp -a): without them it looks"
                  + " like this.");
    }
    if (ports.stream().anyMatch(this::carriesTraffic)) {
      return null;
    }
    PortReport first =
        ports.stream().filter(PortReport::isActive).findFirst().orElse(ports.getFirst());
    return first.isActive() ? noGid(first) : portDown(first);
  }

  private boolean carriesTraffic(PortReport port) {
    return port.isActive() && (device.transport() != Transport.ROCE || !port.gids().isEmpty());
  }

  private static String path(String device, PortReport port) {
    return "/sys/class/infiniband/" + device + "/ports/" + port.number();
  }

  private Finding noGid(PortReport port) {
    return blocker(
        "gid-missing",
        name + " port " + port.number() + " has no GID, so no connection can start from it.",
        path(name, port) + "/gids has no filled slot",
        "Bring the network device of the port up and give it an IP address (ip addr add).");
  }

  private Finding portDown(PortReport port) {
    String state = port.state() == null ? "unknown" : port.state();
    String nextStep =
        state.equals("INIT") && device.transport() == Transport.INFINIBAND
            ? "The link is up but no subnet manager has configured it: start one (opensm) or check"
                + " the switch's."
            : "Check cable and switch port, and bring the network device up (ip link set DEV up).";
    return blocker(
        "port-not-active",
        name + " port " + port.number() + " is not active: its state is " + state + ".",
        path(name, port) + "/state",
        nextStep);
  }

  private void addPortRemarks(PortReport port, List<Finding> remarks) {
    if (!port.isActive()) {
      if (device.ports().stream().anyMatch(PortReport::isActive)) {
        remarks.add(portDown(port).as(Finding.Severity.INFO));
      }
      return;
    }
    GidReport gid = port.recommendedGid();
    if (device.transport() == Transport.ROCE && gid != null) {
      addGidRemark(port, gid, remarks);
    }
    addNamespaceRemark(port, remarks);
    Integer mtuBytes = port.mtuBytes();
    if (mtuBytes != null && mtuBytes < LARGEST_MTU_BYTES) {
      remarks.add(
          Finding.info(
              "mtu-small",
              name + " port " + port.number() + " carries a path MTU of " + mtuBytes + " bytes.",
              port.mtuSource(),
              "For 4096, raise the Ethernet MTU to 4200 or more (9000 is usual) on both hosts and"
                  + " every switch between."));
    }
  }

  /**
   * sysfs names the network device of a GID whether or not it is in the namespace of the reader.
   */
  private void addNamespaceRemark(PortReport port, List<Finding> remarks) {
    String netdev = port.netdev();
    List<String> visible = host.netdevs();
    if (netdev == null || visible == null || visible.contains(netdev)) {
      return;
    }
    remarks.add(
        Finding.warning(
            "netdev-not-visible",
            netdev
                + ", the network device of "
                + name
                + " port "
                + port.number()
                + ", is in another network namespace: its addresses can not be used here.",
            "/sys/class/net holds " + String.join(", ", visible),
            "Run the container with the host's network (--network host, hostNetwork), or move the"
                + " network device, or a virtual function of it, into the container."));
  }

  private void addGidRemark(PortReport port, GidReport gid, List<Finding> remarks) {
    String where = name + " port " + port.number();
    String evidence = path(name, port) + "/gids/" + gid.index() + " = " + gid.gid();
    if (gid.type() != GidReport.Protocol.ROCE_V2) {
      remarks.add(
          Finding.warning(
              "gid-not-roce-v2",
              where + " has no RoCE v2 GID; v1 does not cross routers and few peers expect it.",
              evidence,
              "Enable RoCE v2 in the driver and give the network device an IP address."));
    } else if (gid.scope() == GidReport.Scope.LINK_LOCAL) {
      remarks.add(
          Finding.warning(
              "gid-link-local",
              where + " has link-local GIDs only, which reach peers on the same link only.",
              evidence,
              "Give "
                  + (gid.netdev() == null ? "its network device" : gid.netdev())
                  + " a routable IP address (ip addr add)."));
    }
  }

  private static Finding blocker(String id, String text, String evidence, String nextStep) {
    return Finding.error(id, text, evidence, nextStep);
  }

  private static void add(List<Finding> findings, @Nullable Finding finding) {
    if (finding != null) {
      findings.add(finding);
    }
  }
}
