package io.rdma4j.tools.doctor;

import io.rdma4j.host.CounterSignal;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.DeviceReport.Transport;
import io.rdma4j.host.PortCounters;
import io.rdma4j.host.PortReport;
import io.rdma4j.host.RoceSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Says what each transport of a host needs from network and host, and which signs of it are there;
 * once for all devices of a transport.
 */
final class TransportAdvice {
  private final Snapshot snapshot;
  private final List<Finding> findings = new ArrayList<>();

  private TransportAdvice(Snapshot snapshot) {
    this.snapshot = snapshot;
  }

  static List<Finding> give(Snapshot snapshot) {
    TransportAdvice advice = new TransportAdvice(snapshot);
    advice.addInfiniBand();
    advice.addRoce();
    advice.addIwarp();
    return advice.findings;
  }

  private List<DeviceReport> devices(Transport transport) {
    return snapshot.host().devices().stream().filter(d -> d.transport() == transport).toList();
  }

  private static String names(List<DeviceReport> devices) {
    return devices.stream().map(DeviceReport::name).collect(Collectors.joining(", "));
  }

  private void addInfiniBand() {
    List<DeviceReport> devices = devices(Transport.INFINIBAND);
    if (!devices.isEmpty()) {
      findings.add(
          Finding.info(
              "advice-infiniband",
              "InfiniBand is lossless by design: a link sends only what the next hop has credits"
                  + " for.",
              "link layer InfiniBand: " + names(devices),
              "Nothing to set for flow control. A subnet manager has to run (opensm, or the"
                  + " switch's), and partitions (pkey) and path MTU are its configuration. Watch"
                  + " symbol_error, link_downed and port_xmit_wait."));
    }
  }

  private void addIwarp() {
    List<DeviceReport> devices = devices(Transport.IWARP);
    if (!devices.isEmpty()) {
      findings.add(
          Finding.info(
              "advice-iwarp",
              "iWARP connects through rdma_cm only, and its TCP repairs losses.",
              "node type RNIC: " + names(devices),
              "Nothing is needed from the switches; a drop costs latency, so ECN helps. Open the"
                  + " TCP ports of your connections in firewalls, and connect to the IP address of"
                  + " the device's network device."));
    }
  }

  /** A software device has no card and mostly no switch to set up. */
  private void addRoce() {
    List<DeviceReport> devices =
        devices(Transport.ROCE).stream().filter(device -> !device.virtual()).toList();
    if (devices.isEmpty()) {
      return;
    }
    List<String> evidence = new ArrayList<>();
    for (DeviceReport device : devices) {
      for (PortReport port : device.ports()) {
        if (port.isActive()) {
          List<String> signs = signs(device, port);
          judgeSettings(device.name() + " port " + port.number(), port);
          evidence.add(
              device.name()
                  + " port "
                  + port.number()
                  + ": "
                  + (signs.isEmpty() ? "no sign can be read" : String.join(", ", signs)));
        }
      }
    }
    findings.add(
        Finding.info(
            "advice-roce",
            "RoCE runs on Ethernet, which drops packets unless host and every switch on the path"
                + " are set up not to; and a lost packet costs sending again all that came after"
                + " it.",
            evidence.isEmpty() ? "no port is active" : String.join("; ", evidence),
            Advice.ROCE_CHECKLIST));
  }

  /** What can be seen of flow and congestion control. */
  private List<String> signs(DeviceReport device, PortReport port) {
    List<String> signs = new ArrayList<>();
    snapshot.counters().stream()
        .filter(c -> c.device().equals(device.name()) && c.port() == port.number())
        .forEach(counters -> addCounterSigns(counters, signs));
    if (port.roce() != null) {
      addSettings(port.roce(), signs);
    }
    return signs;
  }

  /** Drivers show the pauses of a priority only where priority flow control is on. */
  private static void addCounterSigns(PortCounters counters, List<String> signs) {
    String priorities =
        counters.values().keySet().stream()
            .filter(name -> name.matches("ethtool/rx_prio\\d_pause"))
            .map(name -> name.replaceAll("\\D", ""))
            .collect(Collectors.joining(", "));
    if (!priorities.isEmpty()) {
      signs.add("pauses are counted on priority " + priorities);
    }
    addTotal(counters, CounterSignal.ECN_MARKED, "ECN marks", signs);
    addTotal(counters, CounterSignal.CNP_SENT, "CNPs sent", signs);
    addTotal(counters, CounterSignal.CNP_HANDLED, "CNPs obeyed", signs);
  }

  private static void addTotal(
      PortCounters counters, CounterSignal signal, String what, List<String> signs) {
    signal.counters().stream()
        .map(counters.values()::get)
        .filter(value -> value != null)
        .reduce(Long::sum)
        .ifPresent(total -> signs.add(what + " since start " + Long.toUnsignedString(total)));
  }

  private static void addSettings(RoceSettings roce, List<String> signs) {
    if (roce.trust() != null) {
      signs.add("card classes packets by " + roce.trust());
    }
    if (roce.notificationPriorities() != null) {
      signs.add("answers ECN marks on priorities " + roce.notificationPriorities());
    }
    if (roce.reactionPriorities() != null) {
      signs.add("slows down on priorities " + roce.reactionPriorities());
    }
    if (roce.dscp() != null) {
      signs.add("packets carry DSCP " + roce.dscp());
    }
  }

  private void judgeSettings(String where, PortReport port) {
    RoceSettings roce = port.roce();
    if (roce == null) {
      return;
    }
    String netdev = port.netdev();
    boolean tagged = netdev != null && netdev.contains(".");
    if ("pcp".equals(roce.trust()) && !tagged) {
      findings.add(
          Finding.warning(
              "roce-trust-pcp",
              where
                  + " classes packets by their VLAN priority, and its network device is untagged:"
                  + " all RDMA traffic is in the default priority.",
              "/sys/class/net/" + netdev + "/qos/trust = pcp",
              "mlnx_qos -i " + netdev + " --trust dscp, with the same on the switches."));
    }
    List<Integer> notify = roce.notificationPriorities();
    List<Integer> react = roce.reactionPriorities();
    if (notify != null && react != null && !notify.equals(react)) {
      findings.add(
          Finding.warning(
              "dcqcn-one-sided",
              where + " controls congestion on one side only.",
              "/sys/class/net/"
                  + netdev
                  + "/ecn: roce_np on priorities "
                  + notify
                  + ", roce_rp on "
                  + react,
              "Enable both for the priority of RDMA: a receiver has to notify, a sender has to"
                  + " react."));
    }
  }
}
