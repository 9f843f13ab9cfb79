package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.rdma4j.SendResult;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.provider.Rest;
import io.rdma4j.transport.NodeConfig.Threading;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An idle poller sleeps, and a message ends the sleep; on every path that has events. */
@Timeout(120)
final class PollerWaitingTest {
  private static final MemorySegment EIGHT_BYTES = MemorySegment.ofArray(new byte[8]);
  private static final int MESSAGES = 20;

  /** Two nodes, the initiator's connection, and what the acceptor has received. */
  private static final class Pair implements AutoCloseable {
    final AtomicInteger received = new AtomicInteger();
    final Node server;
    final Node client;
    final Connection connection;
    final Poller serverPoller;

    Pair(String path) {
      this(() -> config(path));
    }

    Pair(Supplier<NodeConfig.Builder> config) {
      server =
          Node.start(
              config
                  .get()
                  .listen(
                      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                      (peer, choice) -> (from, message) -> received.incrementAndGet())
                  .build());
      client = Node.start(config.get().build());
      connection = client.connect(address(server), (from, message) -> {});
      awaitTrue(() -> server.connectionsNow().iterator().hasNext());
      serverPoller = server.connectionsNow().iterator().next().poller();
    }

    private static NodeConfig.Builder config(String path) {
      return NodeConfig.builder().paths(path).pool(PoolConfig.builder().minBytes(0).build());
    }

    private static InetSocketAddress address(Node server) {
      return Objects.requireNonNull(server.listenAddress());
    }

    @Override
    public void close() {
      client.close();
      server.close();
    }
  }

  private static void awaitTrue(BooleanSupplier condition) {
    long startNs = System.nanoTime();
    while (!condition.getAsBoolean()) {
      LockSupport.parkNanos(100_000);
      if (System.nanoTime() - startNs > 30_000_000_000L) {
        fail("it did not come true within 30 s");
      }
    }
  }

  /** CPU time, which does not depend on who else wants the machine. */
  private static long cpuNs(String threadName) {
    var threads = ManagementFactory.getThreadMXBean();
    long sumNs = 0;
    for (var info : threads.getThreadInfo(threads.getAllThreadIds())) {
      if (info != null && info.getThreadName().startsWith(threadName)) {
        sumNs += threads.getThreadCpuTime(info.getThreadId());
      }
    }
    return sumNs;
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void aMessageEndsTheSleep(String path) {
    try (var pair = new Pair(path)) {
      long before = pair.serverPoller.wakeUpsByEvent();
      for (int i = 1; i <= MESSAGES; i++) {
        awaitTrue(pair.serverPoller::isSleeping);
        LockSupport.parkNanos(3_000_000); // past the first, short sleep
        assertEquals(0, pair.connection.send(EIGHT_BYTES, 0, 8));
        int expected = i;
        awaitTrue(() -> pair.received.get() == expected);
      }
      long ended = pair.serverPoller.wakeUpsByEvent() - before;
      // Now and then the sleep's own end comes first, or the message meets the poller awake.
      assertTrue(ended >= MESSAGES / 2, () -> "only " + ended + " of " + MESSAGES);
    }
  }

  /**
   * Where paths may change, what was delivered is acknowledged by itself, to a peer that sleeps.
   */
  @Test
  void anAcknowledgementEndsTheSleep() {
    try (var pair = new Pair(PollerWaitingTest::resumable)) {
      var clientPoller = pair.connection.poller();
      long before = clientPoller.wakeUpsByEvent();
      for (int i = 1; i <= MESSAGES; i++) {
        awaitTrue(clientPoller::isSleeping);
        LockSupport.parkNanos(3_000_000); // past the first, short sleep
        assertEquals(0, pair.connection.send(EIGHT_BYTES, 0, 8));
        // No message comes back and no heartbeat is due: what ends the sleep is the
        // acknowledgement.
        long acknowledged = before + Math.max(0, i - MESSAGES / 2);
        awaitTrue(() -> clientPoller.wakeUpsByEvent() >= acknowledged);
      }
    }
  }

  private static NodeConfig.Builder resumable() {
    return Pair.config("shm")
        .resume(Duration.ofSeconds(60), Duration.ofSeconds(60))
        .liveness(Duration.ofSeconds(300), Duration.ofSeconds(1000));
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void anIdleNodeBurnsNextToNothing(String path) {
    try (var pair = new Pair(path)) {
      awaitTrue(pair.serverPoller::isSleeping);
      LockSupport.parkNanos(500_000_000);
      long startNs = System.nanoTime();
      long cpuNs = -cpuNs("rdma4j-poller");
      LockSupport.parkNanos(1_000_000_000);
      cpuNs += cpuNs("rdma4j-poller");
      long elapsedNs = System.nanoTime() - startNs;
      double share = (double) cpuNs / elapsedNs;
      assertTrue(share <= 2 * 0.02, () -> "both pollers burnt " + 100 * share + " % of a core");
    }
  }

  /** Room in a ring raises no event, so a poller that somebody waits for sleeps briefly. */
  @Test
  void whoWaitsForRoomShortensTheSleep() {
    var release = new CountDownLatch(1);
    try (var server =
            Node.start(
                Pair.config("shm")
                    .listen(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        (peer, choice) ->
                            (from, message) -> awaitTrue(() -> release.getCount() == 0))
                    .build());
        var client = Node.start(Pair.config("shm").threading(Threading.INVOKER).build())) {
      var connection = client.connect(Pair.address(server), (from, message) -> {});
      try {
        while (connection.send(EIGHT_BYTES, 0, 8) != SendResult.BACK_PRESSURED) {
          client.poll();
        }
        assertEquals(Rest.UNTIL_EVENT, connection.arm());
        var called = new AtomicBoolean();
        assertTrue(connection.whenReady(() -> called.set(true)));
        assertEquals(Rest.BRIEF, connection.arm());
        release.countDown();
        awaitTrue(
            () -> {
              client.poll();
              return called.get();
            });
        assertEquals(Rest.UNTIL_EVENT, connection.arm());
      } finally {
        release.countDown();
        connection.disarm();
      }
    }
  }
}
