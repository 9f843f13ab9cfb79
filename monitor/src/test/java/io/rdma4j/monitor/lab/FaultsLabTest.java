package io.rdma4j.monitor.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.monitor.lab.Sightings.Place;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.RegionDescriptor;
import io.rdma4j.transport.RemoteOperation;
import io.rdma4j.transport.Reply;
import io.rdma4j.transport.RequestFailedException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;

/**
 * Faults of the kernel's devices in the lab's guest, seen by operators with the right cause: in the
 * journal, by a listener, and on the monitor's pages.
 */
@Tag("lab")
@Timeout(300)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
final class FaultsLabTest {
  private static final ConnectionHandler IGNORE = (connection, message) -> {};
  private static final String RXE = "10.9.0.1";
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final long REQUEST_NS = TimeUnit.SECONDS.toNanos(60);

  /** So few entries that the peer's messages do not fit. */
  private static final int SHORT_QUEUE = 15;

  private static final List<String> ROWS = new ArrayList<>();
  private static final FaultyVerbs VERBS = new FaultyVerbs();
  private static Node node;
  private static Sightings sightings;
  private static FaultyPeer peer;

  /** What takes a moment elsewhere takes seconds in emulation. */
  static NodeConfig.Builder config(FaultyVerbs verbs) {
    return NodeConfig.builder()
        .paths("verbs")
        .verbs(verbs)
        .handshakeTimeout(Duration.ofSeconds(60))
        .liveness(Duration.ofSeconds(5), Duration.ofSeconds(60));
  }

  @BeforeAll
  static void start() throws Exception {
    startNodes();
    // Once through all the code, which costs seconds at the first time in emulation.
    for (int i = 0; i < 2; i++) {
      sightings.forget();
      long nowNs = System.nanoTime();
      node.journal().emit(EventKind.SRQ_ERR, EventSubject.device("rehearsal" + i, 1), "");
      expect("(rehearsal)", nowNs, "receive-queue-failed", EventKind.SRQ_ERR);
    }
  }

  private static void startNodes() throws Exception {
    peer = new FaultyPeer(RXE);
    node = Node.start(config(VERBS).build());
    sightings = new Sightings(node);
  }

  @AfterAll
  static void stop() throws Exception {
    System.out.printf(
        "%-26s %-26s %10s | %s%n",
        "fault", "cause", "reported", "seen then: listener, /incidents, /metrics, dashboard");
    ROWS.forEach(System.out::println);
    stopNodes();
  }

  private static void stopNodes() throws Exception {
    sightings.close();
    node.close();
    peer.close();
  }

  private static void expect(String fault, long faultNs, String cause, EventKind... kinds)
      throws Exception {
    Map<Place, Long> seen = sightings.await(cause, Set.of(kinds));
    long toldNs = seen.get(Place.JOURNAL);
    StringBuilder row =
        new StringBuilder(
            String.format(
                Locale.ROOT, "%-26s %-26s %7d ms |", fault, cause, (toldNs - faultNs) / 1_000_000));
    for (Place place : List.of(Place.LISTENER, Place.INCIDENTS, Place.METRICS, Place.DASHBOARD)) {
      row.append(String.format(Locale.ROOT, "%7d ms", (seen.get(place) - toldNs) / 1_000_000));
    }
    ROWS.add(row.toString());
    System.out.println(row);
  }

  private static Connection connect() {
    Connection connection = node.connect(peer.address(), IGNORE, PATIENCE);
    sightings.forget();
    return connection;
  }

  private static void send(Connection connection) {
    assertTrue(connection.send(MemorySegment.ofArray(new byte[64]), 0, 64) >= 0);
  }

  @Test
  @Order(1)
  void aRequestWithAWrongKeyIsARemoteAccessError() throws Exception {
    Connection connection = connect();
    RegionDescriptor region;
    try (Reply reply = connection.request(MemorySegment.ofArray(new byte[8]), 0, 8, REQUEST_NS)) {
      region = RegionDescriptor.read(reply.payload(), 0);
    }
    VERBS.spoilKeys(true);
    RemoteOperation read = connection.newRemoteOperation(null);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment target = arena.allocate(FaultyPeer.REGION_BYTES, 4096);
      // The first goes by message; the device takes over once the peer has sent its key.
      while (VERBS.spoiledNs() == 0) {
        read.read(region, 0, target, 0, 64, REQUEST_NS);
        read.await();
      }
    } catch (RequestFailedException e) {
      assertTrue(VERBS.spoiledNs() != 0, e::toString);
    }
    VERBS.spoilKeys(false);
    expect("wrong remote key", VERBS.spoiledNs(), "remote-access", EventKind.COMPLETION_ERROR);
  }

  @Test
  @Order(2)
  void aQueueThatNobodyPollsOverruns() throws Exception {
    VERBS.shortenQueues(SHORT_QUEUE);
    connect();
    VERBS.shortenQueues(Integer.MAX_VALUE);
    VERBS.hideCompletions(true);
    long faultNs = System.nanoTime();
    peer.tell(FaultyPeer.FLOOD);
    expect("completion queue overrun", faultNs, "completion-queue-overrun", EventKind.CQ_ERR);
    VERBS.hideCompletions(false);
  }

  @Test
  @Order(3)
  void aPeerWithoutItsQueuePairIsOutOfReachOfRdma() throws Exception {
    Connection connection = connect();
    peer.tell(FaultyPeer.LOSE_QUEUE_PAIRS);
    long faultNs = System.nanoTime();
    send(connection);
    expect("retries exceeded", faultNs, "rdma-path-blocked", EventKind.COMPLETION_ERROR);
  }

  @Test
  @Order(4)
  void aPeerWithoutReceivesIsNotReady() throws Exception {
    peer.tell(FaultyPeer.WITHHOLD_RECEIVES);
    Connection connection = connect();
    long faultNs = System.nanoTime();
    send(connection);
    expect("receiver not ready", faultNs, "peer-not-ready", EventKind.COMPLETION_ERROR);
  }

  @Test
  @Order(5)
  void aKilledPeerIsAProcessThatEnded() throws Exception {
    connect();
    long faultNs = System.nanoTime();
    peer.kill();
    expect("peer killed", faultNs, "peer-process-ended", EventKind.PEER_SOCKET_CLOSED);
    peer.close();
    peer = new FaultyPeer(RXE);
  }

  @Test
  @Order(6)
  void aDeviceThatIsTakenAwayHasFailed() throws Exception {
    connect();
    long faultNs = System.nanoTime();
    Process removal = new ProcessBuilder("rdma", "link", "delete", "rxe0").inheritIO().start();
    expect(
        "device removed",
        faultNs,
        "device-failed",
        EventKind.DEVICE_FATAL,
        EventKind.CM_DEVICE_REMOVAL);
    stopNodes();
    assertTrue(removal.waitFor(60, TimeUnit.SECONDS), "the device does not go");
    command("rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "v0");
    startNodes();
    try (Connection again = connect()) {
      send(again);
    }
  }

  /**
   * The last, since the kernel's soft RoCE (6.1) stays useless: once a disconnect has met a port
   * that is down, requests of rdma_cm stay in the device's queue, and taking it away waits for
   * them.
   */
  @Test
  @Order(7)
  void aPortThatGoesDownAndUpIsALinkFlap() throws Exception {
    connect();
    try {
      long downNs = System.nanoTime();
      command("ip", "link", "set", "v0", "down");
      expect("port down", downNs, "port-down", EventKind.PORT_ERR);
    } finally {
      long upNs = System.nanoTime();
      command("ip", "link", "set", "v0", "up");
      expect("port up again", upNs, "link-flap", EventKind.PORT_ACTIVE);
    }
  }

  private static void command(String... words) throws Exception {
    Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), () -> String.join(" ", words) + ": " + said);
  }
}
