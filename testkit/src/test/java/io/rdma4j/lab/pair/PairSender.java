package io.rdma4j.lab.pair;

import io.rdma4j.transport.Node;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Sends to a {@link PairReceiver} in another guest through all faults: first with RDMA and TCP as
 * its paths, then with TCP alone. Prints how long each recovery took.
 *
 * <p>Arguments: address of the receiver; names of faults, all without any. Exits with 1 when a
 * message that was acknowledged is not what the receiver has, or when a fault is not recovered
 * from.
 */
final class PairSender {
  private final InetSocketAddress peer;
  private final List<Recovery> recoveries = new ArrayList<>();
  private long acknowledged;

  private PairSender(InetSocketAddress peer) {
    this.peer = peer;
  }

  /** Runs all faults. */
  public static void main(String[] args) throws Exception {
    Set<Fault> faults = EnumSet.noneOf(Fault.class);
    for (int i = 1; i < args.length; i++) {
      faults.add(Fault.valueOf(args[i]));
    }
    if (faults.isEmpty()) {
      faults = EnumSet.allOf(Fault.class);
    }
    PairSender sender = new PairSender(new InetSocketAddress(args[0], PairConfig.PORT));
    boolean clean = false;
    try {
      sender.run(faults, false, "verbs", "tcp");
      faults.removeAll(EnumSet.of(Fault.ROCE_DROPPED, Fault.GUEST_RESTARTED));
      clean = sender.run(faults, true, "tcp");
    } catch (IllegalStateException e) {
      e.printStackTrace();
      System.out.println("FAILED: " + e.getMessage());
    }
    System.out.print(Recovery.table(sender.recoveries));
    System.exit(clean ? 0 : 1);
  }

  /** Returns whether the receiver found nothing wrong, when it was the last run. */
  private boolean run(Set<Fault> faults, boolean last, String... paths)
      throws InterruptedException {
    try (Node node = Node.start(PairConfig.node(paths).build());
        Traffic traffic = new Traffic(node, peer, acknowledged)) {
      goesOn(traffic, "the first message over " + String.join(" or ", paths));
      for (Fault fault : faults) {
        suffer(fault, traffic, paths);
      }
      traffic.settle();
      acknowledged = traffic.acknowledged();
      System.out.println("sender: all " + acknowledged + " messages acknowledged");
      if (!last) {
        return true;
      }
      Tally tally = traffic.end();
      System.out.println("sender: the receiver found " + tally);
      return tally.isClean();
    }
  }

  private void suffer(Fault fault, Traffic traffic, String[] paths) throws InterruptedException {
    String first = paths[0];
    goesOn(traffic, "traffic over " + first + " before: " + fault.words());
    traffic.await(first + " before: " + fault.words(), () -> traffic.path().equals(first));
    System.out.println("sender: " + fault.words());
    long moves = traffic.moves();
    int connections = traffic.connections();
    long messages = traffic.acknowledged();
    long event = traffic.lastEvent();
    traffic.listenAnew();
    fault.begin(traffic);
    if (fault == Fault.ROCE_DROPPED) {
      traffic.await("the fallback to tcp", () -> traffic.path().equals("tcp"));
      goesOn(traffic, "traffic over tcp");
      traffic.await("the cause", () -> traffic.causesBehind(event).contains("rdma-path-blocked"));
    }
    if (fault == Fault.GUEST_RESTARTED) {
      traffic.await("a new connection", () -> traffic.connections() > connections);
    }
    Thread.sleep(1000L * fault.seconds());
    fault.end(traffic);
    long endNs = System.nanoTime();
    goesOn(traffic, "recovery from: " + fault.words());
    final long recoveryNs = System.nanoTime() - endNs;
    final long silenceNs = traffic.longestSilenceNs();
    messages = traffic.acknowledged() - messages;
    traffic.await(first + " after: " + fault.words(), () -> traffic.path().equals(first));
    recoveries.add(
        new Recovery(
            String.join(",", paths),
            fault,
            silenceNs,
            recoveryNs,
            System.nanoTime() - endNs,
            traffic.moves() - moves,
            traffic.connections() - connections,
            messages,
            traffic.causesBehind(event)));
  }

  /** Waits until a message that is sent from now on is acknowledged. */
  private static void goesOn(Traffic traffic, String what) {
    long now = traffic.sent();
    traffic.await(what, () -> traffic.acknowledged() > now);
  }
}
