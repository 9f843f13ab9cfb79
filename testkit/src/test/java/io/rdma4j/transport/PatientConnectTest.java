package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.testkit.verbs.Ledger;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(240)
final class PatientConnectTest {
  private static final int CLIENTS = 100;
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final ScriptedVerbs verbs = new ScriptedVerbs();

  PatientConnectTest() {
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  }

  private NodeConfig.Builder config() {
    return NodeConfig.builder()
        .paths("verbs")
        .verbs(verbs)
        .maxMessageBytes(1024)
        .window(4)
        .pool(PoolConfig.builder().initialBytes(0).build())
        .backoff(Duration.ofMillis(20), Duration.ofMillis(200));
  }

  /** What connections have of the device; receives lie in the pool, which keeps its slabs. */
  private Map<Ledger.Kind, Integer> alive() {
    Map<Ledger.Kind, Integer> alive = new EnumMap<>(Ledger.Kind.class);
    for (Ledger.Kind kind : Ledger.Kind.values()) {
      if (kind != Ledger.Kind.MEMORY_REGION) {
        alive.put(kind, verbs.ledger().live(kind));
      }
    }
    return alive;
  }

  private void assertNothingLeft(Map<Ledger.Kind, Integer> before, Node node) {
    assertEquals(before, alive());
    assertEquals(0, node.pool().statistics().usedBytes());
  }

  @AfterEach
  void allIsGivenBack() {
    verbs.ledger().assertNothingLeft();
  }

  /** O-23: a server is away, and a hundred clients want it. */
  @Test
  void aHundredClientsFindAServerThatComesLate() throws Exception {
    InetSocketAddress address = freePort();
    AtomicInteger accepted = new AtomicInteger();
    try (Node clients = Node.start(config().build())) {
      Map<Ledger.Kind, Integer> before = alive();
      List<Future<Connection>> connecting = new ArrayList<>();
      try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < CLIENTS; i++) {
          connecting.add(
              threads.submit(() -> clients.connect(address, (from, message) -> {}, PATIENCE)));
        }
        // All have failed at least once by then, or will fail before it listens: either is fine.
        Thread.sleep(100);
        ConnectionAcceptor acceptor =
            (peer, path) -> {
              accepted.incrementAndGet();
              return (from, message) -> {};
            };
        try (Node server = Node.start(config().listen(address, acceptor).build())) {
          assertEquals(address, server.listenAddress());
          for (Future<Connection> connection : connecting) {
            assertTrue(connection.get(120, TimeUnit.SECONDS).isOpen());
          }
          assertEquals(CLIENTS, accepted.get());
          for (Future<Connection> connection : connecting) {
            connection.get().close();
          }
        }
      }
      assertNothingLeft(before, clients);
    }
  }

  @Test
  void attemptsThatFailLeaveNothing() throws Exception {
    try (Node client = Node.start(config().build())) {
      Map<Ledger.Kind, Integer> before = alive();
      InetSocketAddress nobody = freePort();
      ConnectFailedException failure =
          assertThrows(
              ConnectFailedException.class,
              () -> client.connect(nobody, (from, message) -> {}, Duration.ofMillis(300)));
      assertTrue(String.valueOf(failure.getMessage()).contains("attempts"), failure.toString());
      assertNothingLeft(before, client);
    }
  }

  @Test
  void anInterruptEndsTheWait() throws Exception {
    try (Node client = Node.start(config().build())) {
      InetSocketAddress nobody = freePort();
      CompletableFuture<Throwable> outcome = new CompletableFuture<>();
      Thread waiting =
          Thread.ofPlatform()
              .start(
                  () ->
                      outcome.complete(
                          assertThrows(
                              Rdma4jException.class,
                              () -> client.connect(nobody, (from, message) -> {}, PATIENCE))));
      while (!outcome.isDone()) {
        waiting.interrupt();
        Thread.sleep(5);
      }
      assertTrue(outcome.get().toString().contains(nobody.toString()), outcome.get().toString());
    }
  }

  private static InetSocketAddress freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return (InetSocketAddress) socket.getLocalSocketAddress();
    }
  }
}
