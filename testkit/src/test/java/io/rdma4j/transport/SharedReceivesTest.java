package io.rdma4j.transport;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.ExhaustionPolicy;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.testkit.verbs.Errno;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.verbs.AsyncEvent;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Many peers that draw from the receives of one device. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@ExtendWith(QuietLog.class)
final class SharedReceivesTest {
  private static final InetAddress ADDRESS = InetAddress.getLoopbackAddress();
  private static final int MAX_MESSAGE_BYTES = 4096;
  private static final int WINDOW = 32;
  private static final int CONTROL = 3;
  private static final int LEAST = 4 + CONTROL;

  private final ScriptedVerbs verbs = new ScriptedVerbs();
  private final ScriptedDevice device = verbs.addDevice("scripted0").address(ADDRESS);
  private final List<Node> nodes = new ArrayList<>();
  private final int[] sent = new int[128];
  private final int[] received = new int[128];
  private int outOfOrder;

  /** Its device gave everything back, and no message ever came before its receive. */
  @AfterEach
  void closeAll() {
    nodes.forEach(node -> node.connectionsNow().forEach(Connection::startClosing));
    until("the ends", () -> nodes.stream().allMatch(node -> node.connectionsNow().isEmpty()));
    nodes.forEach(Node::close);
    assertEquals(0, verbs.ledger().receiverNotReady());
    verbs.ledger().assertNothingLeft();
  }

  private NodeConfig.Builder config(int sharedReceives, int reserve) {
    return NodeConfig.builder()
        .paths("verbs")
        .verbs(verbs)
        .threading(Threading.INVOKER)
        .handshakeTimeout(Duration.ofSeconds(60))
        .liveness(Duration.ofSeconds(10), Duration.ofSeconds(120))
        .maxMessageBytes(MAX_MESSAGE_BYTES)
        .window(WINDOW)
        .sharedReceives(sharedReceives)
        .pool(
            PoolConfig.builder()
                .blockSizes(MAX_MESSAGE_BYTES)
                .slabBytes(64 * MAX_MESSAGE_BYTES)
                .initialBytes(0)
                .maxBytes(64L << 20)
                .receiveReserveBlocks(reserve)
                .hugePages(HugePages.NONE)
                .build());
  }

  private Node start(NodeConfig config) {
    Node node = Node.start(config);
    nodes.add(node);
    return node;
  }

  /** A node that checks the order of what each of its peers sends. */
  private Node server(int sharedReceives, int reserve) {
    return start(
        config(sharedReceives, reserve)
            .listen(
                new InetSocketAddress(ADDRESS, 0),
                (peer, path) ->
                    (connection, message) -> {
                      int from = message.memory().get(JAVA_INT_UNALIGNED, message.offset());
                      int number = message.memory().get(JAVA_INT_UNALIGNED, message.offset() + 4);
                      outOfOrder += received[from] == number ? 0 : 1;
                      received[from] = number + 1;
                    })
            .build());
  }

  private List<Connection> connect(Node client, Node server, int count) {
    List<Connection> connections = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      connections.add(
          client.connect(Objects.requireNonNull(server.listenAddress()), (from, message) -> {}));
    }
    return connections;
  }

  private void until(String what, BooleanSupplier done) {
    long startNs = System.nanoTime();
    while (!done.getAsBoolean()) {
      nodes.forEach(Node::poll);
      if (System.nanoTime() - startNs > 60_000_000_000L) {
        throw new AssertionError("not within a minute: " + what);
      }
    }
  }

  /** Sends {@code each} messages more over some of the connections, as fast as they are taken. */
  private void load(List<Connection> over, int first, int each) {
    MemorySegment source = MemorySegment.ofArray(new byte[MAX_MESSAGE_BYTES]);
    int[] end = new int[over.size()];
    for (int i = 0; i < end.length; i++) {
      end[i] = sent[first + i] + each;
    }
    until(
        "all messages",
        () -> {
          boolean done = true;
          for (int i = 0; i < end.length; i++) {
            int peer = first + i;
            source.set(JAVA_INT_UNALIGNED, 0, peer);
            source.set(JAVA_INT_UNALIGNED, 4, sent[peer]);
            while (sent[peer] < end[i]
                && over.get(i).send(source, 0, 8 + sent[peer] % 4000) == SendResult.OK) {
              sent[peer]++;
              source.set(JAVA_INT_UNALIGNED, 4, sent[peer]);
            }
            done &= received[peer] == end[i];
          }
          return done;
        });
    assertEquals(0, outOfOrder);
  }

  private static long receiveBytes(Node node) {
    return node.pool().statistics().usedBytes();
  }

  @Test
  void aHundredPeersNeedAFractionOfTheMemory() {
    int peers = 100;
    Node server = server(2048, 2048);
    Node client = start(config(0, 0).build());
    List<Connection> connections = connect(client, server, peers);
    assertEquals(1, device.sharedReceiveQueues().size(), "one queue for the device");
    long quiet = receiveBytes(server);
    load(connections, 0, 20);
    long afterAll = receiveBytes(server);
    load(connections.subList(0, 8), 0, 2000);
    long afterSome = receiveBytes(server);
    long own = (long) peers * (WINDOW + CONTROL) * MAX_MESSAGE_BYTES;
    System.out.printf(
        "receives of %d peers, window %d, %d bytes: %d KiB of their own; shared %d KiB quiet,"
            + " %d KiB with all of them sending, %d KiB with 8 at full speed%n",
        peers, WINDOW, MAX_MESSAGE_BYTES, own >> 10, quiet >> 10, afterAll >> 10, afterSome >> 10);
    assertTrue(quiet <= own / 4, quiet + " bytes of " + own);
    assertTrue(afterSome <= 2048L * MAX_MESSAGE_BYTES, "more than there may be");
    connections.forEach(Connection::startClosing);
    until("the ends", () -> server.status().connections().isEmpty());
    assertEquals(0, receiveBytes(server), "all blocks are back");
    assertEquals(0, device.sharedReceiveQueues().size());
  }

  /** Once the first peers have all receives they get, later ones still get theirs. */
  @Test
  void whoSendsGetsAWindowAndWhoComesLaterGetsRoom() {
    Node server = server(64, 64);
    Node client = start(config(0, 0).build());
    List<Connection> first = connect(client, server, 2);
    load(first, 0, 500);
    List<Connection> later = connect(client, server, 2);
    load(later, 2, 500);
    load(first, 0, 500);
    load(later, 2, 500);
  }

  @Test
  void aPeerTooManyIsRefusedUntilAnotherGoes() {
    Node server = server(64, 64);
    Node client = start(config(64, 64).build());
    int room = 64 / LEAST;
    List<Connection> connections = connect(client, server, room);
    InetSocketAddress at = Objects.requireNonNull(server.listenAddress());
    var refused =
        assertThrows(ConnectFailedException.class, () -> client.connect(at, (from, m) -> {}));
    assertTrue(String.valueOf(refused.getMessage()).contains("sharedReceives"), refused.toString());
    assertTrue(server.pool().statistics().usedBytes() <= 64L * MAX_MESSAGE_BYTES);
    load(connections, 0, 100);
    connections.getFirst().startClosing();
    until("the end", () -> server.status().connections().size() == room - 1);
    load(connect(client, server, 1), room, 100);
  }

  @Test
  void withoutMemoryForReceivesTheNextPathIsTaken() {
    PoolConfig tiny =
        PoolConfig.builder()
            .blockSizes(MAX_MESSAGE_BYTES)
            .slabBytes(4 * MAX_MESSAGE_BYTES)
            .initialBytes(0)
            .maxBytes(4 * MAX_MESSAGE_BYTES)
            .exhaustion(ExhaustionPolicy.FAIL)
            .hugePages(HugePages.NONE)
            .build();
    Node server =
        start(
            config(0, 0)
                .paths("verbs", "tcp")
                .listen(new InetSocketAddress(ADDRESS, 0), (peer, path) -> (from, message) -> {})
                .build());
    for (int shared : new int[] {0, 64}) {
      Node client = start(config(shared, 0).paths("verbs", "tcp").pool(tiny).build());
      Connection connection =
          client.connect(Objects.requireNonNull(server.listenAddress()), (from, message) -> {});
      assertEquals("tcp", connection.path().name());
      String reason = String.valueOf(connection.path().rejected().get("verbs"));
      assertTrue(reason.contains("no memory for receive"), reason);
      assertEquals(0, server.pool().statistics().usedBytes());
      assertEquals(0, client.pool().statistics().usedBytes());
    }
  }

  @Test
  void theDevicesEventOfFewReceivesBringsMore() {
    Node server = server(256, 256);
    Node client = start(config(0, 0).build());
    List<Connection> connections = connect(client, server, 3);
    var queue = device.sharedReceiveQueues().getFirst();
    int before = queue.posted();
    // The device reports what it sees, whatever this side counts.
    device.raise(AsyncEvent.Type.SRQ_LIMIT_REACHED, queue, 0);
    until("more receives", () -> queue.posted() > before);
    device.raise(AsyncEvent.Type.SRQ_LIMIT_REACHED, null, 0);
    load(connections, 0, 500);
  }

  @Test
  void anErrorOfTheQueueEndsItsConnectionsAndTheNextOneStartsAfresh() {
    Node server = server(64, 64);
    Node client = start(config(0, 0).build());
    connect(client, server, 2);
    device.raise(AsyncEvent.Type.SRQ_ERR, device.sharedReceiveQueues().getFirst(), 0);
    until("the ends", () -> server.status().connections().isEmpty());
    assertEquals(0, device.sharedReceiveQueues().size());
    load(connect(client, server, 1), 2, 100);
  }

  /** What such a queue pair holds is counted as lost, so what is promised is always there. */
  @Test
  void aQueuePairThatNeverSaysItIsDoneCostsOnlyWhatItHeld() {
    Node server = server(64, 64);
    Node client = start(config(0, 0).build());
    List<Connection> connections = connect(client, server, 2);
    load(connections, 0, 100);
    device.keepsLastReceive(true);
    connections.getFirst().startClosing();
    until("the end", () -> server.status().connections().size() == 1);
    device.keepsLastReceive(false);
    load(connections.subList(1, 2), 1, 1000);
    load(connect(client, server, 1), 2, 1000);
  }

  @Test
  void aDeviceThatRefusesTheQueueOrItsLimit() {
    verbs.faults().refuseAlways("ibv_modify_srq", Errno.EINVAL);
    Node server = server(64, 64);
    Node client = start(config(0, 0).build());
    load(connect(client, server, 1), 0, 200);
    verbs.faults().refuseAlways("ibv_create_srq", Errno.ENOMEM);
    Node other = start(config(64, 64).build());
    InetSocketAddress at = Objects.requireNonNull(server.listenAddress());
    var refused =
        assertThrows(ConnectFailedException.class, () -> other.connect(at, (from, m) -> {}));
    assertTrue(String.valueOf(refused.getMessage()).contains("ibv_create_srq"), refused.toString());
    assertEquals(0, other.pool().statistics().usedBytes());
  }

  @Test
  void receivesAreTakenFromTheReserveAndPostedInBatches() {
    Node server = server(0, 128);
    Node client = start(config(0, 0).build());
    List<Connection> connections = connect(client, server, 2);
    PoolStatistics.SizeClass reserve = server.pool().statistics().classes().getLast();
    assertTrue(reserve.reserve());
    assertEquals(2 * (WINDOW + CONTROL), reserve.usedBlocks());
    long doorbells = verbs.ledger().receiveDoorbells();
    long posted = verbs.ledger().receivesPosted();
    load(connections, 0, 2000);
    doorbells = verbs.ledger().receiveDoorbells() - doorbells;
    posted = verbs.ledger().receivesPosted() - posted;
    System.out.printf("%d receives posted again with %d doorbells%n", posted, doorbells);
    assertTrue(posted >= 4000 - 2 * WINDOW);
    assertTrue(doorbells <= posted / 2, doorbells + " doorbells for " + posted + " receives");
  }
}
