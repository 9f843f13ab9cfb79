package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.LeakCheck;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ten thousand connections, one after the other, leave nothing behind. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
final class ManyConnectionsTest {
  private static final int WARM_UP = 200;
  private static final long HEAP_TOLERANCE_BYTES = 4L << 20;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final AtomicLong received = new AtomicLong();

  @ParameterizedTest
  @CsvSource({"tcp, 4000", "shm, 3000", "verbs, 3000"})
  void memoryAndDescriptorsStayFlat(String path, int cycles) throws InterruptedException {
    ScriptedVerbs verbs = new ScriptedVerbs();
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    NodeConfig.Builder listening =
        config(verbs, path)
            .listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                (peer, choice) -> (connection, message) -> received.incrementAndGet());
    try (Node server = Node.start(listening.build());
        Node client = Node.start(config(verbs, path).build())) {
      cycle(client, server, WARM_UP);
      LeakCheck before = LeakCheck.now();
      long heapBefore = liveHeapBytes();
      cycle(client, server, cycles);
      // The virtual machine maps memory for its compiler and collector as it sees fit.
      before.assertBackToBase(64);
      long grownBytes = liveHeapBytes() - heapBefore;
      System.out.println(
          cycles + " connections over " + path + ": live heap " + grownBytes + " bytes more");
      assertTrue(grownBytes < HEAP_TOLERANCE_BYTES, grownBytes + " bytes more on the heap");
      assertEquals(WARM_UP + cycles, received.get());
    }
    verbs.ledger().assertNothingLeft();
  }

  /** Sizes small, so that a connection that is kept shows as one and not as a lack of memory. */
  private static NodeConfig.Builder config(ScriptedVerbs verbs, String path) {
    return NodeConfig.builder()
        .verbs(verbs)
        .paths(path)
        .maxMessageBytes(4096)
        .ringBytes(65_536)
        .window(8)
        .handshakeTimeout(PATIENCE)
        .closeTimeout(PATIENCE)
        .liveness(Duration.ofSeconds(1), PATIENCE)
        .resume(PATIENCE, Duration.ofSeconds(1));
  }

  private static void cycle(Node client, Node server, int count) throws InterruptedException {
    MemorySegment message = MemorySegment.ofArray(new byte[8]);
    InetSocketAddress to = Objects.requireNonNull(server.listenAddress());
    for (int i = 0; i < count; i++) {
      try (Connection connection = client.connect(to, (from, received) -> {})) {
        assertEquals(0, connection.send(message, 0, 8));
      }
    }
    for (int waitMs = 0; !server.status().connections().isEmpty() && waitMs < 30_000; waitMs += 5) {
      Thread.sleep(5);
    }
    assertEquals(0, server.status().connections().size());
  }

  private static long liveHeapBytes() throws InterruptedException {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(50);
      Runtime runtime = Runtime.getRuntime();
      least = Math.min(least, runtime.totalMemory() - runtime.freeMemory());
    }
    return least;
  }
}
