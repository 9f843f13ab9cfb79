package io.rdma4j.monitor.lab;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.monitor.lab.Sightings.Place;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * A node over soft RoCE whose faults are watched, and a peer in a process of its own. Prints where
 * and when each fault was seen. One thread drives it.
 */
final class FaultScene {
  private static final ConnectionHandler IGNORE = (connection, message) -> {};
  private static final String RXE = "10.9.0.1";
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final int FEWEST_REHEARSALS = 5;
  private static final int MOST_REHEARSALS = 10;
  private static final long REHEARSED_NS = 500_000_000L;

  /**
   * From the event in the journal to the last of the places. A second is wanted; what happens for
   * the first time, or beside something else, takes longer in emulation.
   */
  private static final long LIMIT_NS = 5_000_000_000L;

  /** From the event in the journal to the alert. Twice what is wanted, for the same reason. */
  private static final long ALERT_LIMIT_NS = 10_000_000_000L;

  private final List<String> rows = new ArrayList<>();
  private final FaultyVerbs verbs = new FaultyVerbs();
  private final Node node;
  private final Sightings sightings;
  private FaultyPeer peer = new FaultyPeer(RXE);

  /** What takes a moment elsewhere takes seconds in emulation. */
  static NodeConfig.Builder config(FaultyVerbs verbs) {
    return NodeConfig.builder()
        .paths("verbs")
        .verbs(verbs)
        .handshakeTimeout(Duration.ofSeconds(60))
        .liveness(Duration.ofSeconds(5), Duration.ofSeconds(60));
  }

  FaultScene() throws Exception {
    node = Node.start(config(verbs).build());
    sightings = new Sightings(node);
    rehearse();
  }

  /** Until all the code has been used, which costs seconds at the first times in emulation. */
  private void rehearse() throws Exception {
    long slowestNs = Long.MAX_VALUE;
    for (int i = 0;
        i < FEWEST_REHEARSALS || (i < MOST_REHEARSALS && slowestNs > REHEARSED_NS);
        i++) {
      sightings.forget();
      long nowNs = System.nanoTime();
      node.journal().emit(EventKind.SRQ_ERR, EventSubject.device("rehearsal" + i, 1), "");
      slowestNs =
          slowest(
              show(Sightings.OWN, "(rehearsal)", nowNs, "receive-queue-failed", EventKind.SRQ_ERR));
    }
  }

  FaultyVerbs verbs() {
    return verbs;
  }

  FaultyPeer peer() {
    return peer;
  }

  /** Takes a new peer for one that is gone. */
  void replacePeer() throws Exception {
    peer.close();
    peer = new FaultyPeer(RXE);
  }

  /** Connects to the peer; what was seen before counts no longer. */
  Connection connect() {
    Connection connection = node.connect(peer.address(), IGNORE, PATIENCE);
    sightings.forget();
    return connection;
  }

  static void send(Connection connection) {
    assertTrue(connection.send(MemorySegment.ofArray(new byte[64]), 0, 64) >= 0);
  }

  /** Waits until a fault can be seen everywhere, with the right cause and soon. */
  void expect(String fault, long faultNs, String cause, EventKind... kinds) throws Exception {
    Map<Place, Long> behindNs = show(EnumSet.allOf(Place.class), fault, faultNs, cause, kinds);
    assertTrue(slowest(behindNs) <= LIMIT_NS, () -> fault + " was seen too late: " + behindNs);
    assertTrue(
        behindNs.get(Place.ALERTMANAGER) <= ALERT_LIMIT_NS,
        () -> fault + " was an alert too late: " + behindNs);
  }

  private static long slowest(Map<Place, Long> behindNs) {
    return Sightings.OWN.stream().mapToLong(behindNs::get).max().orElseThrow();
  }

  /** Waits as {@link #expect}, and returns how long behind the journal each place had it. */
  private Map<Place, Long> show(
      Set<Place> places, String fault, long faultNs, String cause, EventKind... kinds)
      throws Exception {
    Map<Place, Long> seenNs = sightings.await(places, cause, Set.of(kinds));
    long toldNs = seenNs.get(Place.JOURNAL);
    Map<Place, Long> behindNs = new EnumMap<>(Place.class);
    StringBuilder row =
        new StringBuilder(
            String.format(
                Locale.ROOT, "%-26s %-26s %7d ms |", fault, cause, (toldNs - faultNs) / 1_000_000));
    for (Place place : places) {
      behindNs.put(place, seenNs.get(place) - toldNs);
      if (place != Place.JOURNAL) {
        row.append(String.format(Locale.ROOT, "%7d ms", behindNs.get(place) / 1_000_000));
      }
    }
    rows.add(row.toString());
    System.out.println(row);
    return behindNs;
  }

  void close() throws Exception {
    System.out.printf(
        "%-26s %-26s %10s | %s%n",
        "fault",
        "cause",
        "reported",
        "seen then: listener, /incidents, /metrics, dashboard, Alertmanager");
    rows.forEach(System.out::println);
    sightings.close();
    node.close();
    peer.close();
  }
}
