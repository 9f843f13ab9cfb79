package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.Cause;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.Incident;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Faults of the kernel's soft RoCE device become incidents with the right cause. It takes a link of
 * the guest down and up, and tests after that were seen to stand still: it gets a guest to itself.
 *
 * <pre>
 *   lab/verbs-tests --select-class io.rdma4j.lab.EventsLabTest
 * </pre>
 */
@Tag("lab-long")
@Timeout(300)
final class EventsLabTest {
  private static final ConnectionHandler IGNORE = (connection, message) -> {};
  private static final String RXE = "10.9.0.1";

  /** The guest is an emulation; its time says nothing of a machine's, and the test prints it. */
  private static final class Stopwatch {
    private final ConcurrentHashMap<String, Long> firstNs = new ConcurrentHashMap<>();
    private final long startNs = System.nanoTime();

    void hear(Incident incident) {
      long nowNs = System.nanoTime();
      firstNs.putIfAbsent("", nowNs);
      incident.cause().map(Cause::id).ifPresent(cause -> firstNs.putIfAbsent(cause, nowNs));
    }

    void await(String cause) throws InterruptedException {
      for (int waitedMs = 0; !firstNs.containsKey(cause); waitedMs += 10) {
        assertTrue(waitedMs < 120_000, () -> "heard of " + firstNs.keySet() + " and not " + cause);
        Thread.sleep(10);
      }
      System.out.printf(
          "%s: first heard after %d ms, cause named after %d ms%n", cause, ms(""), ms(cause));
    }

    private long ms(String key) {
      return (Objects.requireNonNull(firstNs.get(key)) - startNs) / 1_000_000;
    }
  }

  private static NodeConfig.Builder config() {
    return NodeConfig.builder().paths("verbs").handshakeTimeout(Duration.ofSeconds(60));
  }

  private static Node server() throws Exception {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getByName(RXE), 0);
    return Node.start(config().listen(address, (peer, path) -> IGNORE).build());
  }

  @Test
  void aPortThatGoesDownAndUpIsALinkFlap() throws Exception {
    try (Node db = server();
        Node app = Node.start(config().build())) {
      Connection connection = app.connect(Objects.requireNonNull(db.listenAddress()), IGNORE);
      Stopwatch down = new Stopwatch();
      app.journal().listen(down::hear);
      Tool.run("ip", "link", "set", "v0", "down");
      down.await("port-down");
      assertTrue(!connection.isOpen() || !connection.path().device().isEmpty());
      Tool.run("ip", "link", "set", "v0", "up");
      down.await("link-flap");
    } finally {
      Tool.run("ip", "link", "set", "v0", "up");
    }
  }

  @Test
  void aKilledPeerIsAProcessThatEnded() throws Exception {
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Child.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (Node app = Node.start(config().build());
        BufferedReader out =
            new BufferedReader(
                new InputStreamReader(child.getInputStream(), StandardCharsets.US_ASCII))) {
      int port = Integer.parseInt(Objects.requireNonNull(out.readLine(), "the child's port"));
      app.connect(new InetSocketAddress(InetAddress.getByName(RXE), port), IGNORE);
      Stopwatch killed = new Stopwatch();
      app.journal().listen(killed::hear);
      child.destroyForcibly();
      killed.await("peer-process-ended");
      assertTrue(
          app.journal().events().stream().anyMatch(e -> e.kind() == EventKind.CONNECTION_LOST));
    } finally {
      child.destroyForcibly();
      assertTrue(child.waitFor(60, TimeUnit.SECONDS));
    }
  }

  /** Listens, tells its port, and ends after four minutes at the latest. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) throws Exception {
      try (Node node = server()) {
        System.out.println(Objects.requireNonNull(node.listenAddress()).getPort());
        Thread.sleep(240_000);
      }
    }
  }
}
