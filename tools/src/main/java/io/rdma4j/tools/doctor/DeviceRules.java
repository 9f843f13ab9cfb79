package io.rdma4j.tools.doctor;

import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.DeviceReport.Transport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.LibraryReport;
import io.rdma4j.host.PortReport;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Judges one device. */
final class DeviceRules {
  /** Largest path MTU of the InfiniBand transport. */
  private static final int LARGEST_MTU_BYTES = 4096;

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
    } else if (device.numaNode() == null && (host.numaNodes() == null || host.numaNodes() > 1)) {
      remarks.add(
          Finding.info(
              "numa-unknown",
              "The NUMA node of " + name + " is unknown, so memory cannot be placed near it.",
              "/sys/class/infiniband/" + name + "/device/numa_node is -1 or missing",
              "In a virtual machine, expose the host's NUMA topology to the guest."));
    }
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
