package io.rdma4j.tools.doctor;

import static io.rdma4j.host.CounterSignal.ACCESS_REFUSED;
import static io.rdma4j.host.CounterSignal.ACK_TIMEOUT;
import static io.rdma4j.host.CounterSignal.CNP_HANDLED;
import static io.rdma4j.host.CounterSignal.CNP_IGNORED;
import static io.rdma4j.host.CounterSignal.CNP_SENT;
import static io.rdma4j.host.CounterSignal.CORRUPTED;
import static io.rdma4j.host.CounterSignal.DUPLICATE_REQUEST;
import static io.rdma4j.host.CounterSignal.ECN_MARKED;
import static io.rdma4j.host.CounterSignal.LINK_DOWN;
import static io.rdma4j.host.CounterSignal.LINK_ERRORS;
import static io.rdma4j.host.CounterSignal.NO_RECEIVE_POSTED;
import static io.rdma4j.host.CounterSignal.OUT_OF_SEQUENCE;
import static io.rdma4j.host.CounterSignal.PAUSE_RECEIVED;
import static io.rdma4j.host.CounterSignal.PAUSE_SENT;
import static io.rdma4j.host.CounterSignal.PAUSE_STORM;
import static io.rdma4j.host.CounterSignal.PCI_STALLS;
import static io.rdma4j.host.CounterSignal.RECEIVE_DISCARDS;
import static io.rdma4j.host.CounterSignal.RETRANSMITTED;
import static io.rdma4j.host.CounterSignal.RETRIES_EXCEEDED;
import static io.rdma4j.host.CounterSignal.RNR_NAK;
import static io.rdma4j.host.CounterSignal.RNR_RETRIES_EXCEEDED;
import static io.rdma4j.host.CounterSignal.SEND_DISCARDS;
import static io.rdma4j.host.CounterSignal.SEND_WAIT_TICKS;
import static io.rdma4j.host.CounterSignal.SEQUENCE_NAK;

import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.CounterDelta.How;
import io.rdma4j.host.CounterSignal;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.DeviceReport.Transport;
import io.rdma4j.tools.doctor.Finding.Severity;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Judges what one port counted between two readings. Totals are never judged: they tell of the time
 * since the driver was loaded, not of now.
 */
final class CounterRules {
  private final DeviceReport device;
  private final CounterDelta delta;
  private final String where;
  private final boolean roce;
  private final List<Finding> findings = new ArrayList<>();

  CounterRules(DeviceReport device, CounterDelta delta) {
    this.device = device;
    this.delta = delta;
    this.where = device.name() + (delta.port() == 0 ? "" : " port " + delta.port());
    this.roce = device.transport() == Transport.ROCE;
  }

  List<Finding> judge() {
    judgeLink();
    judgeLoss();
    judgeSilence();
    judgeReceiver();
    judgeCongestion();
    judgePauses();
    judgeMemory();
    judgeReadings();
    return findings;
  }

  private void judgeLink() {
    if (delta.has(LINK_DOWN)) {
      warn(
          "link-went-down",
          where + " lost its link " + times(LINK_DOWN) + " between the readings.",
          evidence(LINK_DOWN),
          "Check cable, transceiver and switch port. Queue pairs that were in use meanwhile are"
              + " dead and have to be connected anew; other ports are not concerned.");
    }
    if (delta.has(LINK_ERRORS) || delta.has(CORRUPTED)) {
      warn(
          "link-errors",
          where + " received bits that the link could not correct.",
          evidence(LINK_ERRORS, CORRUPTED),
          "Clean or change cable and transceiver; compare the counters of the switch port to see"
              + " which direction is bad.");
    }
    if (delta.has(SEND_DISCARDS)) {
      warn(
          "send-discards",
          where + " dropped packets instead of sending them.",
          evidence(SEND_DISCARDS),
          "InfiniBand: a port downstream is down or stuck, look at the switches on the path."
              + " Ethernet: look at the link and at the queues of the card.");
    }
  }

  private void judgeLoss() {
    if (!delta.has(OUT_OF_SEQUENCE) && !delta.has(SEQUENCE_NAK)) {
      return;
    }
    if (!roce || device.virtual()) {
      warn(
          "packet-loss",
          "Packets are lost on the way to or from " + where + ".",
          evidence(OUT_OF_SEQUENCE, SEQUENCE_NAK, ACK_TIMEOUT, RECEIVE_DISCARDS),
          device.virtual()
              ? "Look at drops of the network device below (ip -s link) and of its UDP queues."
              : "Look for errors of links and for ports with discards along the path.");
      return;
    }
    boolean pauses = delta.has(PAUSE_RECEIVED) || delta.has(PAUSE_SENT);
    boolean marks = delta.has(ECN_MARKED) || delta.has(CNP_SENT) || delta.has(CNP_HANDLED);
    warn(
        pauses || marks ? "packet-loss" : "packet-loss-not-lossless",
        "Packets are lost on the way to or from " + where + lossCause(pauses, marks),
        evidence(OUT_OF_SEQUENCE, SEQUENCE_NAK, ACK_TIMEOUT, RECEIVE_DISCARDS) + "; " + silence(),
        pauses || marks
            ? "Check that RDMA travels in the paused priority on every hop (trust DSCP, DSCP to"
                + " priority map), look for discards at the switches and at both cards."
            : Advice.MAKE_LOSSLESS);
  }

  private String lossCause(boolean pauses, boolean marks) {
    if (pauses) {
      return ", although priority flow control works: pause frames are seen. Some hop, or another"
          + " priority, is left out, or a link is bad.";
    }
    if (marks) {
      return ", although congestion is marked; without pause frames marks come too late for"
          + " bursts.";
    }
    boolean known = delta.isSilent(PAUSE_RECEIVED) && delta.isSilent(ECN_MARKED);
    return known
        ? ", and their class is not lossless: no pause frame, no ECN mark and no CNP was seen."
        : ", and their class is not lossless as far as can be seen.";
  }

  /** What was not seen, and what could not be looked at: both belong to the evidence. */
  private String silence() {
    List<String> seen = new ArrayList<>();
    List<String> unknown = new ArrayList<>();
    note(seen, unknown, "pause frames", PAUSE_RECEIVED, PAUSE_SENT);
    note(seen, unknown, "ECN marks", ECN_MARKED);
    note(seen, unknown, "CNPs", CNP_SENT, CNP_HANDLED);
    String text = String.join(", ", seen);
    return unknown.isEmpty()
        ? text
        : text
            + (text.isEmpty() ? "" : "; ")
            + "not readable: "
            + String.join(", ", unknown)
            + (unknown.contains("pause frames")
                ? " (ethtool -S shows them, and only where priority flow control is on)"
                : "");
  }

  private void note(
      List<String> seen, List<String> unknown, String what, CounterSignal... signals) {
    boolean known = false;
    long sum = 0;
    for (CounterSignal signal : signals) {
      known |= delta.increase(signal).isPresent();
      sum += delta.increase(signal).orElse(0);
    }
    if (known) {
      seen.add(what + " +" + sum);
    } else {
      unknown.add(what);
    }
  }

  private void judgeSilence() {
    boolean loss = delta.has(OUT_OF_SEQUENCE) || delta.has(SEQUENCE_NAK);
    if (delta.has(RETRIES_EXCEEDED) || (delta.has(ACK_TIMEOUT) && !loss)) {
      boolean late = delta.has(DUPLICATE_REQUEST) && !delta.has(RETRIES_EXCEEDED);
      warn(
          late ? "acks-late" : "peer-silent",
          late
              ? "Answers came back to " + where + " later than queue pairs wait."
              : "Requests of " + where + " got no answer.",
          evidence(ACK_TIMEOUT, RETRIES_EXCEEDED, DUPLICATE_REQUEST),
          late
              ? "Raise the timeout of the queue pairs, or look for a peer whose card or host is"
                  + " overloaded."
              : "Look whether the peer's process and host live, then at the path: routes, VLAN,"
                  + " equal MTU on both ends, and UDP port 4791 in firewalls (RoCE v2).");
    }
    if (delta.has(RETRANSMITTED) && device.transport() == Transport.IWARP) {
      findings.add(
          Finding.info(
              "tcp-retransmits",
              where
                  + " sent segments again: the network loses packets, TCP repairs it at the cost"
                  + " of latency.",
              evidence(RETRANSMITTED),
              "Look for drops at the switches; ECN or a lossless class helps iWARP too."));
    }
  }

  private void judgeReceiver() {
    if (delta.has(NO_RECEIVE_POSTED)) {
      warn(
          "receiver-not-ready",
          "Messages reached " + where + " when no receive was posted for them.",
          evidence(NO_RECEIVE_POSTED),
          "The program on this host posts too few receives, or its polling thread stands still"
              + " (garbage collection, no free processor). Several senders to one queue need"
              + " credits.");
    }
    if (delta.has(RNR_NAK) || delta.has(RNR_RETRIES_EXCEEDED)) {
      warn(
          "peer-not-ready",
          "A peer of " + where + " had no receive posted for a message.",
          evidence(RNR_NAK, RNR_RETRIES_EXCEEDED),
          "Look at the peer: receives posted, and pauses of its polling thread.");
    }
  }

  private void judgeCongestion() {
    if (delta.has(CNP_IGNORED)) {
      warn(
          "cnp-ignored",
          where + " was told to slow down and did not: its reaction point is off.",
          evidence(CNP_IGNORED),
          "Switch the DCQCN reaction point on for the priority of RDMA"
              + " (/sys/class/net/NETDEV/ecn/roce_rp/enable/PRIORITY with NVIDIA's driver).");
    }
    if (delta.has(ECN_MARKED) && delta.isSilent(CNP_SENT)) {
      warn(
          "cnp-not-sent",
          where
              + " received packets marked as congested and told no sender: its notification"
              + " point is off.",
          evidence(ECN_MARKED) + "; CNPs sent +0",
          "Switch the DCQCN notification point on for the priority of RDMA"
              + " (/sys/class/net/NETDEV/ecn/roce_np/enable/PRIORITY with NVIDIA's driver).");
    } else if ((delta.has(ECN_MARKED) || delta.has(CNP_HANDLED)) && !delta.has(CNP_IGNORED)) {
      inform(
          "congestion-controlled",
          "Paths of " + where + " are congested, and congestion control does its work.",
          evidence(ECN_MARKED, CNP_SENT, CNP_HANDLED),
          "Latency rises meanwhile: spread the load, or look for many senders to one receiver.");
    }
    if (delta.has(SEND_WAIT_TICKS)) {
      inform(
          "send-waited",
          where + " had data ready and could not send it: the network ahead is congested.",
          evidence(SEND_WAIT_TICKS),
          "Look for a slow receiver or a link of less speed on the paths of this port.");
    }
  }

  private void judgePauses() {
    if (delta.has(PAUSE_STORM)) {
      warn(
          "pause-storm",
          where + " paused the network for longer than its card tolerates.",
          evidence(PAUSE_STORM, PAUSE_SENT),
          "The host does not take data from the card: look at PCI Express, at memory bandwidth,"
              + " and whether the machine hangs. A pause watchdog at the switch limits the harm.");
    } else if (delta.has(PAUSE_SENT)) {
      warn(
          "slow-receiver",
          where + " paused the network: this host takes data too slowly.",
          evidence(PAUSE_SENT, PCI_STALLS),
          "Check width and speed of PCI Express, memory on the card's NUMA node, and the IOMMU.");
    } else if (delta.has(PCI_STALLS)) {
      inform(
          "pcie-stalled",
          "The card of " + where + " waited for PCI Express.",
          evidence(PCI_STALLS),
          "Check width and speed of the slot, and memory on the card's NUMA node.");
    }
    if (delta.has(PAUSE_RECEIVED)) {
      inform(
          "paused-by-network",
          "The network paused " + where + ".",
          evidence(PAUSE_RECEIVED, PAUSE_SENT),
          "Find the port that sends the pauses, hop by hop: a slow receiver stops its senders, and"
              + " others with them.");
    }
  }

  private void judgeMemory() {
    if (delta.has(ACCESS_REFUSED)) {
      warn(
          "access-refused",
          "A request of or to " + where + " named memory that may not be used so.",
          evidence(ACCESS_REFUSED),
          "Compare key, address, length and access rights with the memory region on the answering"
              + " side; a key used after deregistration looks the same.");
    }
  }

  private void judgeReadings() {
    List<String> pegged = withHow(How.PEGGED);
    if (!pegged.isEmpty()) {
      inform(
          "counter-at-its-end",
          "Counters of " + where + " stand at their largest value and count no longer.",
          String.join(", ", pegged),
          "Clear them (perfquery -R) to see changes.");
    }
    if (delta.reset()) {
      inform(
          "counters-cleared",
          "Counters of "
              + where
              + " were cleared between the readings; their increases are lower"
              + " bounds.",
          String.join(", ", withHow(How.CLEARED)),
          "A driver loaded anew, a reset of the card or perfquery -R does that; see the kernel"
              + " log.");
    }
  }

  private List<String> withHow(How how) {
    return delta.changes().entrySet().stream()
        .filter(entry -> entry.getValue().how() == how)
        .map(entry -> entry.getKey())
        .toList();
  }

  private String times(CounterSignal signal) {
    long count = delta.increase(signal).orElse(0);
    return count == 1 ? "once" : String.format(Locale.ROOT, "%d times", count);
  }

  private String evidence(CounterSignal... signals) {
    List<String> rows = new ArrayList<>();
    for (CounterSignal signal : signals) {
      rows.addAll(signal.evidence(delta));
    }
    return String.join(", ", rows);
  }

  private void warn(String id, String text, String evidence, String nextStep) {
    findings.add(new Finding(id, Severity.WARNING, text, evidence, nextStep));
  }

  private void inform(String id, String text, String evidence, String nextStep) {
    findings.add(new Finding(id, Severity.INFO, text, evidence, nextStep));
  }
}
