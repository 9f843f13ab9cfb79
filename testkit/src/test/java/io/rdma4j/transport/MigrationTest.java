package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.Metric;
import io.rdma4j.testkit.transport.Mailbox;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CmEvent;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Paths come and go below a connection; what it carries arrives once and in order. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
final class MigrationTest {
  private static final Duration SETTLE = Duration.ofMillis(200);
  private static final ValueLayout.OfLong NUMBER = ValueLayout.JAVA_LONG_UNALIGNED;

  private final long seed = Long.getLong("seed", System.nanoTime());
  private final SplittableRandom random = new SplittableRandom(seed);
  private final ScriptedVerbs verbs = new ScriptedVerbs();
  private final ScriptedDevice device =
      verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());

  @AfterEach
  void nothingIsLeft() {
    verbs.ledger().assertNothingLeft();
  }

  private NodeConfig.Builder config(String... paths) {
    return NodeConfig.builder()
        .verbs(verbs)
        .paths(paths)
        .handshakeTimeout(Duration.ofSeconds(20))
        .closeTimeout(Duration.ofSeconds(10))
        .backoff(Duration.ofMillis(20), Duration.ofMillis(200))
        .resume(Duration.ofSeconds(40), SETTLE);
  }

  private static Node server(NodeConfig.Builder config, ConnectionHandler handler) {
    return accepting(config, (peer, path) -> handler);
  }

  private static Node accepting(NodeConfig.Builder config, ConnectionAcceptor acceptor) {
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return Node.start(config.listen(anyPort, acceptor).build());
  }

  private static InetSocketAddress at(Node node) {
    return Objects.requireNonNull(node.listenAddress());
  }

  private void await(String what, BooleanSupplier condition) throws InterruptedException {
    for (int waitMs = 0; !condition.getAsBoolean(); waitMs += 5) {
      assertTrue(waitMs < 30_000, "not within 30 s: " + what + "; seed " + seed);
      Thread.sleep(5);
    }
  }

  /** Takes numbered messages and notes the first that is not the next one. */
  private static final class Counting implements ConnectionHandler {
    final AtomicLong next = new AtomicLong();
    final AtomicLong wrong = new AtomicLong(-1);
    volatile EndpointFailure ended = new EndpointFailure(EndpointFailure.Kind.DEVICE, "");
    volatile Connection connection;

    @SuppressWarnings("NullAway.Init") // set by onConnected, which comes first
    Counting() {}

    @Override
    public void onConnected(Connection connection) {
      this.connection = connection;
    }

    @Override
    public void onMessage(Connection connection, Message message) {
      long number = message.memory().get(NUMBER, message.offset());
      if (!next.compareAndSet(number, number + 1)) {
        wrong.compareAndSet(-1, number);
      }
    }

    @Override
    public void onDisconnected(Connection connection, EndpointFailure reason) {
      ended = reason;
    }
  }

  /** Sends numbered messages of many lengths, copied and pooled in turns, until told to stop. */
  private final class Sending implements AutoCloseable {
    private final Node node;
    private final Connection connection;
    private final SplittableRandom lengths = random.split();
    private final Thread thread = Thread.ofPlatform().unstarted(this::run);
    private volatile boolean running = true;
    private volatile long sent;
    private volatile String problem = "";

    Sending(Node node, Connection connection) {
      this.node = node;
      this.connection = connection;
      thread.start();
    }

    private void run() {
      MemorySegment source = MemorySegment.ofArray(new byte[20_000]);
      RegisteredBuffer lease = node.pool().newLease();
      for (long number = 0; running; number++) {
        int length = lengths.nextInt(100) == 0 ? 20_000 : lengths.nextInt(8, 300);
        boolean pooled = lengths.nextBoolean();
        long result;
        do {
          if (pooled) {
            if (lease.isEmpty()) {
              node.pool().allocate(length, lease);
              lease.segment().set(NUMBER, 0, number);
            }
            result = connection.send(lease);
          } else {
            source.set(NUMBER, 0, number);
            result = connection.send(source, 0, length);
          }
          if (result == SendResult.BACK_PRESSURED) {
            LockSupport.parkNanos(20_000);
          }
        } while (result == SendResult.BACK_PRESSURED && running);
        if (result >= 0) {
          sent = number + 1;
        } else if (result != SendResult.BACK_PRESSURED) {
          problem = SendResult.nameOf(result);
          break;
        }
      }
      if (!lease.isEmpty()) {
        lease.release();
      }
    }

    long stop() throws InterruptedException {
      running = false;
      thread.join();
      assertEquals("", problem, "seed " + seed);
      return sent;
    }

    @Override
    public void close() {
      running = false;
    }
  }

  private static long metric(Node node, String name, String... labelValues) {
    return node.metrics().snapshot().metrics().stream()
        .filter(m -> m.name().equals(name) && m.labelValues().equals(List.of(labelValues)))
        .map(m -> ((Metric.Whole) m.value()).amount())
        .findFirst()
        .orElseThrow();
  }

  private static long events(Node node, EventKind kind) {
    return node.journal().events().stream().filter(event -> event.kind() == kind).count();
  }

  private void portDown() {
    device.raise(AsyncEvent.Type.PORT_ERR, null, 1);
  }

  @Test
  void fromVerbsToTcpAndBackNothingIsLostAndNothingComesTwice() throws Exception {
    Counting atServer = new Counting();
    Counting atClient = new Counting();
    try (Node server = server(config("verbs", "tcp"), atServer);
        Node client = Node.start(config("verbs", "tcp").build())) {
      Connection connection = client.connect(at(server), atClient);
      assertEquals("verbs", connection.path().name());
      await("the server's end", () -> atServer.connection != null);
      long sentByClient;
      long sentByServer;
      try (Sending forth = new Sending(client, connection);
          Sending back = new Sending(server, atServer.connection)) {
        for (int flap = 0; flap < 4; flap++) {
          Thread.sleep(random.nextInt(1, 60));
          portDown();
          await("tcp", () -> connection.path().name().equals("tcp"));
          long before = atServer.next.get();
          await("messages over tcp", () -> atServer.next.get() > before + 100);
          await("verbs again", () -> connection.path().name().equals("verbs"));
          long later = atClient.next.get();
          await("messages over verbs", () -> atClient.next.get() > later + 100);
        }
        sentByClient = forth.stop();
        sentByServer = back.stop();
      }
      await("all at the server", () -> atServer.next.get() == sentByClient);
      await("all at the client", () -> atClient.next.get() == sentByServer);
      assertEquals(-1, atServer.wrong.get(), "seed " + seed);
      assertEquals(-1, atClient.wrong.get(), "seed " + seed);
      assertTrue(connection.pathChanges() >= 8, connection.pathChanges() + " changes");
      assertEquals(connection.pathChanges(), metric(client, "rdma4j_node_path_changes_total"));
      assertEquals(1, metric(client, "rdma4j_node_connections", "verbs"));
      assertEquals(0, metric(client, "rdma4j_node_connections", "tcp"));
      for (Node node : List.of(client, server)) {
        long lost = events(node, EventKind.PATH_LOST);
        long left = events(node, EventKind.PATH_LEFT);
        // Back to verbs is a plan, and no incident.
        assertTrue(left >= 4, left + " paths left, " + lost + " lost");
        assertEquals(connection.pathChanges(), lost + left);
      }
      System.out.println(
          connection.pathChanges() + " moves under " + (sentByClient + sentByServer) + " messages");
      connection.close();
      await("no pooled block is kept", () -> client.pool().statistics().usedBytes() == 0);
      await("no pooled block is kept", () -> server.pool().statistics().usedBytes() == 0);
    }
    assertEquals(EndpointFailure.Kind.PEER_CLOSED, atServer.ended.kind());
  }

  @Test
  void theLostPathIsTheLastChoiceHoweverLongTheSearchTakes() throws Exception {
    Counting atServer = new Counting();
    try (Node server = server(config("verbs", "tcp"), atServer);
        TamperingProxy proxy = new TamperingProxy(at(server));
        Node client = Node.start(config("verbs", "tcp").build())) {
      Connection connection = client.connect(proxy.address(), new Counting());
      assertEquals("verbs", connection.path().name());
      await("the server's end", () -> atServer.connection != null);
      proxy.refusing(true);
      portDown();
      await("the path's end", () -> events(client, EventKind.PATH_LOST) > 0);
      Thread.sleep(2 * SETTLE.toMillis());
      proxy.refusing(false);
      await("back on verbs", () -> connection.pathChanges() == 2);
      List<String> moves =
          client.journal().events().stream()
              .filter(event -> event.kind() == EventKind.PATH_MOVED)
              .map(event -> event.text().split(" ")[1])
              .toList();
      assertEquals(List.of("tcp", "verbs"), moves);
      connection.close();
    }
  }

  @Test
  void aPathThatHangsLeavesTimeForTheNextOne() throws Exception {
    Counting atServer = new Counting();
    Duration resume = Duration.ofSeconds(4);
    Duration handshake = Duration.ofSeconds(60); // half of which is more than there is
    try (Node server =
            server(
                config("verbs", "tcp").handshakeTimeout(handshake).resume(resume, SETTLE),
                atServer);
        TamperingProxy proxy = new TamperingProxy(at(server));
        Node client =
            Node.start(
                config("tcp", "verbs")
                    .handshakeTimeout(handshake)
                    .resume(resume, SETTLE)
                    .build())) {
      Connection connection = client.connect(proxy.address(), new Counting());
      assertEquals("tcp", connection.path().name());
      await("the server's end", () -> atServer.connection != null);
      verbs.connectionManager().loseAll(CmEvent.Type.ESTABLISHED);
      proxy.cut();
      await("another path", () -> connection.pathChanges() == 1);
      assertEquals("tcp", connection.path().name());
      connection.close();
    }
  }

  @Test
  void aConnectionThatIsCutOrFallsSilentGoesOn() throws Exception {
    Counting atServer = new Counting();
    Counting atClient = new Counting();
    Duration heartbeat = Duration.ofMillis(50);
    Duration silence = Duration.ofMillis(300);
    // An attempt that meets the silence hangs until its deadline.
    Duration deadline = Duration.ofSeconds(2);
    NodeConfig.Builder both = config("tcp").liveness(heartbeat, silence).handshakeTimeout(deadline);
    try (Node server = server(both, atServer);
        Node client =
            Node.start(
                config("tcp").liveness(heartbeat, silence).handshakeTimeout(deadline).build());
        TamperingProxy proxy = new TamperingProxy(at(server))) {
      Connection connection = client.connect(proxy.address(), atClient);
      await("the server's end", () -> atServer.connection != null);
      long sentByClient;
      long sentByServer;
      try (Sending forth = new Sending(client, connection);
          Sending back = new Sending(server, atServer.connection)) {
        for (int round = 0; round < 6; round++) {
          Thread.sleep(random.nextInt(1, 100));
          int changes = connection.pathChanges();
          if (round % 2 == 0) {
            proxy.cut();
          } else {
            proxy.silent(true);
            Thread.sleep(400);
            proxy.silent(false);
          }
          await("another path", () -> connection.pathChanges() > changes);
          long before = atServer.next.get();
          await("messages again", () -> atServer.next.get() > before + 100);
        }
        sentByClient = forth.stop();
        sentByServer = back.stop();
      }
      await("all at the server", () -> atServer.next.get() == sentByClient);
      await("all at the client", () -> atClient.next.get() == sentByServer);
      assertEquals(-1, atServer.wrong.get(), "seed " + seed);
      assertEquals(-1, atClient.wrong.get(), "seed " + seed);
      connection.close();
    }
  }

  @Test
  void requestsUnderWayGetTheirReplyOverTheNextPath() throws Exception {
    AtomicLong handled = new AtomicLong();
    ConnectionHandler answering =
        (connection, message) -> {
          handled.incrementAndGet();
          assertEquals(SendResult.OK, message.reply(message.memory(), message.offset(), 8));
        };
    try (Node server = server(config("verbs", "tcp"), answering);
        Node client = Node.start(config("verbs", "tcp").build())) {
      Connection connection = client.connect(at(server), new Mailbox());
      MemorySegment source = MemorySegment.ofArray(new byte[8]);
      for (long i = 0; i < 300; i++) {
        if (i % 100 == 50) {
          portDown();
        }
        source.set(NUMBER, 0, i);
        try (Reply reply = connection.request(source, 0, 8, 20_000_000_000L)) {
          assertEquals(i, reply.payload().get(NUMBER, 0), "seed " + seed);
        }
      }
      assertEquals(300, handled.get());
      connection.close();
    }
  }

  /**
   * An application that lets the peer wait for its decision. Only once it is asked does the
   * acceptor have all of the handshake: before that, a lost path ends both ends' attempt.
   */
  private record Deciding(
      CountDownLatch asked, CountDownLatch decided, @Nullable ConnectionHandler verdict)
      implements ConnectionAcceptor {
    Deciding(@Nullable ConnectionHandler verdict) {
      this(new CountDownLatch(1), new CountDownLatch(1), verdict);
    }

    @Override
    public @Nullable ConnectionHandler accept(InetSocketAddress peer, PathChoice path) {
      asked.countDown();
      awaitLatch(decided);
      return verdict;
    }

    void awaitAsked() {
      awaitLatch(asked);
    }

    void decide() {
      decided.countDown();
    }

    private static void awaitLatch(CountDownLatch latch) {
      try {
        assertTrue(latch.await(60, TimeUnit.SECONDS));
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }
  }

  @Test
  void aPathLostBeforeTheApplicationHasDecidedIsResumedAfterwards() throws Exception {
    for (String path : new String[] {"tcp", "shm", "verbs"}) {
      Counting atServer = new Counting();
      Deciding application = new Deciding(atServer);
      try (Node server = accepting(config(path), application);
          TamperingProxy proxy = new TamperingProxy(at(server));
          Node client = Node.start(config(path).build())) {
        Connection connection = client.connect(proxy.address(), new Counting());
        application.awaitAsked();
        if (path.equals("verbs")) {
          portDown();
        } else {
          proxy.cut();
        }
        await("the path's end", () -> events(client, EventKind.PATH_LOST) > 0);
        Thread.sleep(random.nextInt(1, 400));
        assertTrue(connection.isOpen(), path);
        application.decide();
        await("another path", () -> connection.pathChanges() > 0);
        assertEquals(0, connection.send(MemorySegment.ofArray(new long[1]), 0, Long.BYTES));
        await("the message over it", () -> atServer.next.get() == 1);
        connection.close();
      }
    }
  }

  @Test
  void anApplicationThatDecidesLaterThanAnAttemptEndsCostsAttemptsOnly() throws Exception {
    Deciding application = new Deciding(new Counting());
    Duration brief = Duration.ofMillis(500);
    try (Node server = accepting(config("tcp").handshakeTimeout(brief), application);
        TamperingProxy proxy = new TamperingProxy(at(server));
        Node client = Node.start(config("tcp").handshakeTimeout(brief).build())) {
      Connection connection = client.connect(proxy.address(), new Counting());
      application.awaitAsked();
      proxy.cut();
      await("two attempts", () -> metric(server, "rdma4j_node_handshakes_failed_total") >= 2);
      assertTrue(connection.isOpen());
      application.decide();
      await("another path", () -> connection.pathChanges() == 1);
      connection.close();
    }
  }

  @Test
  void aConnectionThatTheApplicationRefusesIsNotResumed() throws Exception {
    Deciding application = new Deciding(null);
    Mailbox own = new Mailbox();
    try (Node server = accepting(config("tcp"), application);
        TamperingProxy proxy = new TamperingProxy(at(server));
        Node client = Node.start(config("tcp").build())) {
      Connection connection = client.connect(proxy.address(), own);
      application.awaitAsked();
      proxy.cut();
      await("the path's end", () -> events(client, EventKind.PATH_LOST) > 0);
      Thread.sleep(random.nextInt(1, 400));
      assertTrue(connection.isOpen());
      application.decide();
      EndpointFailure reason = own.ended();
      assertEquals(EndpointFailure.Kind.PEER_LOST, reason.kind());
      assertTrue(reason.message().contains("does not know"), reason.message());
    }
  }

  @Test
  void aPeerThatHasStartedAnewDoesNotKnowTheConnection() throws Exception {
    Mailbox own = new Mailbox();
    Node server = server(config("tcp"), new Mailbox());
    try (TamperingProxy proxy = new TamperingProxy(at(server));
        Node another = server(config("tcp"), new Mailbox());
        Node client = Node.start(config("tcp").build())) {
      client.connect(proxy.address(), own);
      proxy.target(at(another));
      proxy.cut();
      EndpointFailure reason = own.ended();
      assertEquals(EndpointFailure.Kind.PEER_LOST, reason.kind());
      assertTrue(reason.message().contains("does not know"), reason.message());
    } finally {
      server.close();
    }
  }

  @Test
  void withoutAnotherPathInTimeTheConnectionEndsAndGivesEverythingBack() throws Exception {
    Mailbox own = new Mailbox();
    Mailbox theirs = new Mailbox();
    NodeConfig.Builder brief = config("tcp").resume(Duration.ofMillis(400), SETTLE);
    try (Node server = server(config("tcp").resume(Duration.ofMillis(400), SETTLE), theirs);
        Node client = Node.start(brief.build());
        TamperingProxy proxy = new TamperingProxy(at(server))) {
      Connection connection = client.connect(proxy.address(), own);
      theirs.connection();
      proxy.refusing(true);
      proxy.cut();
      RegisteredBuffer lease = client.pool().newLease();
      client.pool().allocate(100, lease);
      while (connection.send(lease) == SendResult.OK) {
        client.pool().allocate(100, lease);
      }
      lease.release();
      String reason = own.ended().message();
      assertTrue(reason.contains("no other path came up in time, which is 400 ms"), reason);
      assertTrue(reason.contains("the last attempt: [tcp]: "), reason);
      assertNotNull(theirs.ended());
      assertEquals(
          SendResult.NOT_CONNECTED, connection.send(MemorySegment.ofArray(new byte[1]), 0, 1));
      assertEquals(0, client.pool().statistics().usedBytes());
      assertEquals(0, client.status().connections().size());
    }
  }

  @Test
  void withOneEndThatDoesNotResumeAConnectionEndsWithItsPath() throws Exception {
    Mailbox own = new Mailbox();
    NodeConfig.Builder plain = NodeConfig.builder().verbs(verbs).paths("verbs", "tcp");
    try (Node server = server(config("verbs", "tcp"), new Mailbox());
        Node client = Node.start(plain.build())) {
      Connection connection = client.connect(at(server), own);
      assertEquals("verbs", connection.path().name());
      portDown();
      // The device's own event, or the peer that has gone because of the same event.
      assertTrue(own.ended().kind() != EndpointFailure.Kind.PEER_CLOSED, own.ended().message());
      assertEquals(0, connection.pathChanges());
    }
  }

  /** Neither TCP nor a reliable queue pair notices a peer that says nothing any more. */
  @Test
  void aSilentPeerIsNoticedOnEveryPath() throws Exception {
    for (String path : new String[] {"tcp", "shm", "verbs"}) {
      Mailbox own = new Mailbox();
      NodeConfig.Builder brief =
          NodeConfig.builder()
              .verbs(verbs)
              .paths(path)
              .liveness(Duration.ofMillis(50), Duration.ofMillis(300));
      try (Node server = server(NodeConfig.builder().verbs(verbs).paths(path), new Mailbox());
          Node client = Node.start(brief.build());
          TamperingProxy proxy = new TamperingProxy(at(server))) {
        // The server's heartbeats come too rarely for what the client has agreed to bear with.
        Connection connection = client.connect(proxy.address(), own);
        proxy.silent(true);
        EndpointFailure reason = own.ended();
        assertEquals(EndpointFailure.Kind.PEER_LOST, reason.kind(), path);
        assertTrue(reason.message().contains("nothing heard"), path + ": " + reason.message());
        assertTrue(!connection.isOpen());
      }
    }
  }

  @Test
  void theEventOfAnotherPortMovesNothing() throws Exception {
    Mailbox inbox = new Mailbox();
    try (Node server = server(config("verbs", "tcp"), inbox);
        Node client = Node.start(config("verbs", "tcp").build())) {
      Connection connection = client.connect(at(server), new Mailbox());
      device.raise(AsyncEvent.Type.PORT_ERR, null, 2);
      device.raise(AsyncEvent.Type.GID_CHANGE, null, 1);
      Thread.sleep(100);
      assertEquals(0, connection.send(MemorySegment.ofArray(new byte[] {9}), 0, 1));
      assertArrayEquals(new byte[] {9}, inbox.take());
      assertEquals("verbs", connection.path().name());
      assertEquals(0, connection.pathChanges());
    }
  }
}
