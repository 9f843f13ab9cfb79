package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import io.rdma4j.status.Cause;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.Incident;
import io.rdma4j.status.JournalReader;
import io.rdma4j.status.VarsText;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedQueuePair;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.verbs.AsyncEvent;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Faults of living nodes become incidents at both ends, with their causes. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
final class NodeEventsTest {
  private static final ConnectionHandler IGNORE = (connection, message) -> {};

  @TempDir private Path dir;
  private final ScriptedVerbs verbs = new ScriptedVerbs();
  private final ScriptedDevice device =
      verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());

  @AfterEach
  void nothingIsLeft() {
    verbs.ledger().assertNothingLeft();
  }

  private NodeConfig.Builder config(String... paths) {
    return NodeConfig.builder().verbs(verbs).paths(paths);
  }

  private static Node server(NodeConfig.Builder config) {
    return server(config, IGNORE);
  }

  private static Node server(NodeConfig.Builder config, ConnectionHandler handler) {
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return Node.start(config.listen(anyPort, (peer, path) -> handler).build());
  }

  /**
   * Slow to take silence for the end, and to notice it: longer than a loaded machine stands still.
   */
  private static NodeConfig.Builder patient(NodeConfig.Builder config) {
    return config.liveness(Duration.ofSeconds(1), Duration.ofSeconds(100));
  }

  private static InetSocketAddress at(Node node) {
    return Objects.requireNonNull(node.listenAddress());
  }

  private static void await(String what, BooleanSupplier condition) throws InterruptedException {
    for (int waitedMs = 0; !condition.getAsBoolean(); waitedMs += 5) {
      assertTrue(waitedMs < 60_000, "not within 60 s: " + what);
      Thread.sleep(5);
    }
  }

  private static boolean has(Node node, String cause) {
    return node.journal().incidents().stream()
        .anyMatch(i -> i.cause().map(Cause::id).orElse("").equals(cause));
  }

  private static Event event(Node node, Predicate<Event> which) {
    return node.journal().events().stream().filter(which).findFirst().orElseThrow();
  }

  /** Incidents, but for those of a loaded machine that did not run this process for a while. */
  private static List<Incident> faults(Node node) {
    return node.journal().incidents().stream()
        .filter(incident -> incident.trigger().kind() != EventKind.SYMPTOM)
        .toList();
  }

  private ScriptedQueuePair queuePairOf(Connection connection) {
    int number = connection.subject().queuePair();
    return device.queuePairs().stream()
        .filter(qp -> qp.number() == number)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void anAccessViolationIsNamedAtBothEnds() throws InterruptedException {
    try (Node db = server(config("verbs"));
        Node app = Node.start(config("verbs").build())) {
      List<Incident> heard = new CopyOnWriteArrayList<>();
      app.journal().listen(heard::add);
      Connection connection = app.connect(at(db), IGNORE);
      device.raise(AsyncEvent.Type.QP_ACCESS_ERR, queuePairOf(connection), 0);
      await("the cause here", () -> has(app, "remote-access"));
      await("the cause at the peer, which has it from here", () -> has(db, "remote-access"));
      assertTrue(heard.size() >= 1);
      Event opened = event(app, e -> e.kind() == EventKind.CONNECTION_OPENED);
      Event violation = event(app, e -> e.kind() == EventKind.QP_ACCESS_ERR);
      assertEquals(opened.subject(), violation.subject(), "attributed to the connection");
      assertEquals(connection.id(), violation.subject().connection());
      assertNotNull(event(db, e -> e.kind() == EventKind.PEER_DIGEST));
    }
  }

  /** A handler that does not return from its first message. */
  private static final class Stuck implements ConnectionHandler, AutoCloseable {
    private final CountDownLatch handling = new CountDownLatch(1);
    private final CountDownLatch handled = new CountDownLatch(1);

    @Override
    public void onMessage(Connection connection, Message message) {
      handling.countDown();
      try {
        handled.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    void handleMessageOf(Connection connection) throws InterruptedException {
      assertTrue(connection.send(MemorySegment.ofArray(new byte[8]), 0, 8) >= 0);
      handling.await();
    }

    @Override
    public void close() {
      handled.countDown();
    }
  }

  /** While a connection closes, the end of the bootstrap connection is no news by itself. */
  @Test
  void aPeerThatIsLostWhileItsConnectionClosesIsNamed() throws Exception {
    NodeConfig.Builder slow = patient(config("shm")).closeTimeout(Duration.ofHours(1));
    Stuck stuck = new Stuck();
    try (Node db = server(config("shm"), stuck);
        stuck;
        TamperingProxy proxy = new TamperingProxy(at(db));
        Node app = Node.start(slow.build())) {
      Connection connection = app.connect(proxy.address(), IGNORE);
      stuck.handleMessageOf(connection);
      Thread closing = Thread.ofVirtual().start(connection::close);
      await("the goodbye", () -> !connection.isOpen());
      proxy.cut();
      closing.join();
      await("the cause", () -> has(app, "peer-process-ended"));
    }
  }

  @Test
  void aCloseThatThePeerDoesNotAnswerIsNamed() throws Exception {
    NodeConfig.Builder brief = patient(config("shm")).closeTimeout(Duration.ofMillis(100));
    Stuck stuck = new Stuck();
    try (Node db = server(config("shm"), stuck);
        stuck;
        Node app = Node.start(brief.build())) {
      Connection connection = app.connect(at(db), IGNORE);
      stuck.handleMessageOf(connection);
      connection.close();
      await("the cause", () -> has(app, "close-unanswered"));
    }
  }

  /** Where the bootstrap connection alone tells the peer, which reads it to its end at once. */
  @Test
  void aPathThatDropsRdmaAloneIsNamedAtBothEnds() throws InterruptedException {
    verbs.loseDisconnects();
    try (Node db = server(patient(config("verbs")));
        Node app = Node.start(patient(config("verbs")).build())) {
      Connection connection = app.connect(at(db), IGNORE);
      queuePairOf(connection).failNext(ScriptedQueuePair.RETRY_EXCEEDED, 0x81);
      assertTrue(connection.send(MemorySegment.ofArray(new byte[64]), 0, 64) >= 0);
      await("the peer's word here", () -> has(app, "rdma-path-blocked"));
      await("the cause at the peer, which has it from here", () -> has(db, "rdma-path-blocked"));
    }
  }

  /** Field case O-22: port 2 harms nobody on port 1; both are counted. */
  @Test
  void onlyThePortConcernedIsInTrouble() throws InterruptedException {
    try (Node db = server(config("verbs"));
        Node app = Node.start(config("verbs").build())) {
      Connection connection = app.connect(at(db), IGNORE);
      device.raise(AsyncEvent.Type.PORT_ERR, null, 2);
      await("port 2", () -> has(app, "port-down") && has(db, "port-down"));
      assertTrue(connection.isOpen());
      device.raise(AsyncEvent.Type.PORT_ERR, null, 1);
      device.raise(AsyncEvent.Type.GID_CHANGE, null, 1);
      device.raise(AsyncEvent.Type.GID_CHANGE, null, 1);
      device.raise(AsyncEvent.Type.PORT_ACTIVE, null, 1);
      await("the end of the connection", () -> !connection.isOpen());
      await("port 1", () -> has(app, "link-flap") && has(db, "link-flap"));
      for (Node node : List.of(app, db)) {
        assertEquals(
            2,
            node.journal().events().stream().filter(e -> e.kind() == EventKind.PORT_ERR).count(),
            "nodes of one process share the device's context, and each hears of its ports");
      }
      try (Connection again = app.connect(at(db), IGNORE)) {
        assertTrue(again.isOpen(), "on a new queue pair");
      }
    }
  }

  /** Field case O-22: what is open on port 1 ends with it, and with it alone. */
  @Test
  void openRequestsEndWithTheirPort() throws InterruptedException {
    int requests = 10;
    try (Node db = server(config("verbs"));
        Node app = Node.start(config("verbs").build())) {
      Connection connection = app.connect(at(db), IGNORE);
      Ends ends = new Ends();
      MemorySegment order = MemorySegment.ofArray(new byte[100]);
      for (int i = 0; i < requests; i++) {
        assertTrue(connection.request(order, 0, 100, Duration.ofHours(1).toNanos(), i, ends) >= 0);
      }
      device.raise(AsyncEvent.Type.PORT_ERR, null, 2);
      await("port 2", () -> has(app, "port-down") && has(db, "port-down"));
      assertEquals(0, ends.count.get(), "of requests on port 1");
      int queuePair = connection.subject().queuePair();
      device.raise(AsyncEvent.Type.PORT_ERR, null, 1);
      await("the end of the requests", () -> ends.count.get() == requests);
      assertEquals(List.of(), ends.others, "ended otherwise");
      assertTrue(connection.send(order, 0, 100) < 0, "no new work");
      assertEquals(
          (double) requests,
          metric(app, "rdma4j_node_requests_failed_total{cause=\"disconnected\"}"));
      device.raise(AsyncEvent.Type.GID_CHANGE, null, 1);
      device.raise(AsyncEvent.Type.PORT_ACTIVE, null, 1);
      await(
          "the port's state",
          () ->
              metric(app, "rdma4j_device_port_active{device=\"scripted0\",port=\"1\"}") == 1
                  && metric(app, "rdma4j_device_port_active{device=\"scripted0\",port=\"2\"}")
                      == 0);
      try (Connection again = app.connect(at(db), IGNORE)) {
        assertNotEquals(
            queuePair, again.subject().queuePair(), "a dead queue pair is not used again");
        assertTrue(again.send(order, 0, 100) >= 0);
      }
    }
  }

  /** Field case O-20: an overrun ends what ran over its queues, and the next have queues anew. */
  @Test
  void anOverrunEndsItsConnectionsAndRequestsAlone() throws InterruptedException {
    try (Node db = server(config("verbs"));
        Node app = Node.start(config("verbs").build())) {
      Connection spared = app.connect(at(db), IGNORE);
      List<Connection> lost = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        lost.add(app.connect(at(db), IGNORE));
      }
      Ends ends = new Ends();
      MemorySegment source = MemorySegment.ofArray(new byte[8]);
      for (int i = 0; i < 20; i++) {
        assertTrue(lost.get(i % 3).request(source, 0, 8, 100_000_000_000L, i, ends) > 0);
      }
      for (Connection connection : lost) {
        ScriptedQueuePair of = queuePairOf(connection);
        device.raise(AsyncEvent.Type.CQ_ERR, of.sendCompletions(), 0);
      }
      await("the requests", () -> ends.count.get() == 20);
      await("the connections", () -> lost.stream().noneMatch(Connection::isOpen));
      await("the cause", () -> has(app, "completion-queue-overrun"));
      String figures = event(app, e -> e.kind() == EventKind.CQ_ERR).text();
      assertTrue(figures.contains("receives are outstanding"), figures);
      assertTrue(spared.isOpen());
      try (Connection next = app.connect(at(db), IGNORE)) {
        assertTrue(next.isOpen());
        assertEquals(0, device.unacknowledgedEvents());
      }
    }
  }

  private static double metric(Node node, String series) {
    return VarsText.of(node.metrics().snapshot(), "")
        .lines()
        .filter(line -> line.startsWith(series + " : "))
        .mapToDouble(line -> Double.parseDouble(line.substring(series.length() + 3)))
        .findFirst()
        .orElse(Double.NaN);
  }

  /** Counts requests that end with their connection. */
  private static final class Ends implements ReplyHandler {
    private final AtomicInteger count = new AtomicInteger();
    private final List<String> others = new CopyOnWriteArrayList<>();

    @Override
    public void onReply(long context, Message reply) {
      others.add("a reply to " + context);
    }

    @Override
    public void onFailure(long context, RequestFailedException.Cause cause, String message) {
      if (cause == RequestFailedException.Cause.DISCONNECTED) {
        count.incrementAndGet();
      } else {
        others.add(cause + ": " + message);
      }
    }
  }

  @Test
  void aGoodEndIsNoIncident() throws InterruptedException {
    for (String path : List.of("shm", "tcp", "verbs")) {
      try (Node db = server(config(path));
          Node app = Node.start(config(path).build())) {
        app.connect(at(db), IGNORE).close();
        await("the end at the peer", () -> db.status().connections().isEmpty());
        await(
            "the peer's event",
            () ->
                db.journal().events().stream()
                    .anyMatch(e -> e.kind() == EventKind.CONNECTION_CLOSED));
        event(app, e -> e.kind() == EventKind.CONNECTION_CLOSED);
        assertEquals(List.of(), faults(app), path);
        assertEquals(List.of(), faults(db), path);
      }
    }
  }

  @Test
  void theFileHasItAfterTheNodeHasGone() throws Exception {
    Path file = dir.resolve("node.journal");
    try (Node db = server(config("verbs"));
        Node app = Node.start(config("verbs").journal(file).build())) {
      Connection connection = app.connect(at(db), IGNORE);
      device.raise(AsyncEvent.Type.QP_FATAL, queuePairOf(connection), 0);
      await("the cause", () -> has(app, "queue-pair-failed"));
      assertThrowsBusy(file);
    }
    Incident incident = JournalReader.read(file).incidents().getLast();
    assertEquals("queue-pair-failed", incident.cause().orElseThrow().id());
    assertEquals(Incident.State.CLOSED, incident.state());
  }

  private void assertThrowsBusy(Path file) {
    Rdma4jException busy =
        Assertions.assertThrows(
            Rdma4jException.class, () -> Node.start(config("tcp").journal(file).build()));
    assertTrue(String.valueOf(busy.getMessage()).contains("its own file"), busy.toString());
  }

  /** A peer that stands still, then goes on, then is killed. */
  @Test
  void whatBecomesOfAProcessIsTold() throws Exception {
    for (String path : List.of("shm", "tcp")) {
      Process child = startChild(path);
      try (Node app = Node.start(patient(config(path)).build());
          BufferedReader out =
              new BufferedReader(
                  new InputStreamReader(child.getInputStream(), StandardCharsets.US_ASCII))) {
        int port = Integer.parseInt(Objects.requireNonNull(out.readLine(), "the child's port"));
        Connection connection =
            app.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), IGNORE);
        signal(child, "STOP");
        await("silence", () -> has(app, "peer-stalled"));
        signal(child, "CONT");
        await(
            "its end",
            () -> app.journal().events().stream().anyMatch(e -> e.kind() == EventKind.PEER_HEARD));
        child.destroyForcibly();
        await("the end of the connection", () -> !connection.isOpen());
        await("the cause", () -> has(app, "peer-process-ended"));
      } finally {
        child.destroyForcibly();
        assertTrue(child.waitFor(60, TimeUnit.SECONDS));
      }
    }
  }

  private static void signal(Process process, String name) throws Exception {
    assertEquals(
        0, new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor());
  }

  private static Process startChild(String path) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            Child.class.getName(),
            path)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  /** Listens, tells its port, and ends with its parent or after two minutes. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) throws IOException, InterruptedException {
      try (Node node = server(patient(NodeConfig.builder().paths(args[0])))) {
        System.out.println(at(node).getPort());
        Thread.ofPlatform().daemon(true).start(Child::endWithParent);
        Thread.sleep(120_000);
      }
    }

    private static void endWithParent() {
      try {
        int read;
        do {
          read = System.in.read();
        } while (read >= 0);
      } catch (IOException e) {
        System.err.println("the parent has gone: " + e);
      }
      Runtime.getRuntime().halt(0);
    }
  }
}
