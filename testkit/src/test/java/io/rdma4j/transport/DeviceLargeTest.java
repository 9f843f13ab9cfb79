package io.rdma4j.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.pool.LargeBuffer;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedQueuePair;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.transport.LargeTransferException.Cause;
import io.rdma4j.verbs.Access;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Large messages that the receiver's device reads: who knows what memory, and for how long. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class DeviceLargeTest {
  private static final int MIB = 1 << 20;
  private static final long LONG_NS = 100_000_000_000L;

  private final long seed = Long.getLong("seed", System.nanoTime());
  private final ScriptedVerbs verbs = new ScriptedVerbs();
  private final ScriptedDevice device =
      verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  private final Arena arena = Arena.ofShared();
  private final List<Node> nodes = new ArrayList<>();
  private final Receiving receiving = new Receiving();

  @AfterEach
  void nothingIsLeft() {
    nodes.reversed().forEach(Node::close);
    verbs.ledger().assertNothingLeft();
    arena.close();
  }

  private static final class Receiving implements ConnectionHandler {
    final Queue<LargeReceive> offers = new ConcurrentLinkedQueue<>();
    volatile MemorySegment target = MemorySegment.NULL;

    @Override
    public void onMessage(Connection connection, Message message) {}

    @Override
    public void onLarge(Connection connection, LargeReceive offer) {
      offers.add(offer);
      offer.accept(target, null);
    }
  }

  private NodeConfig.Builder config(String... paths) {
    return NodeConfig.builder()
        .verbs(verbs)
        .paths(paths)
        .handshakeTimeout(Duration.ofSeconds(20))
        .closeTimeout(Duration.ofSeconds(20));
  }

  private static NodeConfig.Builder resuming(NodeConfig.Builder config) {
    return config
        .backoff(Duration.ofMillis(20), Duration.ofMillis(200))
        .resume(Duration.ofSeconds(40), Duration.ofMillis(200));
  }

  private Connection connect(NodeConfig.Builder server, NodeConfig.Builder client) {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    nodes.add(Node.start(server.listen(any, (peer, path) -> receiving).build()));
    nodes.add(Node.start(client.build()));
    return nodes
        .getLast()
        .connect(
            Objects.requireNonNull(nodes.getFirst().listenAddress()), (connection, message) -> {});
  }

  private MemorySegment filled(long lengthBytes) {
    MemorySegment memory = arena.allocate(lengthBytes, 8);
    byte[] bytes = new byte[(int) lengthBytes];
    new SplittableRandom(seed).nextBytes(bytes);
    MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, 0, bytes.length);
    return memory;
  }

  private static void await(String what, BooleanSupplier condition) throws InterruptedException {
    for (int waitMs = 0; !condition.getAsBoolean(); waitMs += 2) {
      assertTrue(waitMs < 60_000, "not within 60 s: " + what);
      Thread.sleep(2);
    }
  }

  private static void assertFails(Cause cause, LargeTransfer transfer) {
    LargeTransferException failure = assertThrows(LargeTransferException.class, transfer::await);
    assertEquals(cause, failure.failure(), failure.toString());
  }

  /**
   * Starts a transfer and stops the queue pair of the receiver, whose node was started first, with
   * reads under way.
   */
  private LargeSend startAndStall(Connection connection, MemorySegment source, ScriptedQueuePair it)
      throws InterruptedException {
    it.stall();
    LargeSend send = connection.sendLarge(source, 0, LONG_NS, null);
    await(
        "reads under way",
        () -> {
          if (verbs.ledger().remoteReads() == 0) {
            it.executeNext(); // the receiver's messages
          }
          return verbs.ledger().remoteReads() >= 4;
        });
    return send;
  }

  @Test
  void theDeviceReadsAndOnlyTheSourceIsOpenToIt() {
    Connection connection = connect(config("verbs"), config("verbs"));
    int registered = verbs.ledger().registeredAccess().size();
    MemorySegment source = filled(20L * MIB + 3);
    receiving.target = arena.allocate(source.byteSize());
    connection.sendLarge(source, 0, LONG_NS, null).await();
    assertEquals(-1, source.mismatch(receiving.target));
    assertTrue(verbs.ledger().remoteReads() >= 21, "fragments of 1 MiB");
    assertTrue(verbs.ledger().mostReadsUnderWay() <= 4);
    List<Integer> access = verbs.ledger().registeredAccess();
    List<Long> lengths = verbs.ledger().registeredLengths();
    long open = 0;
    for (int i = registered; i < access.size(); i++) {
      assertEquals(0, access.get(i) & (Access.REMOTE_WRITE | Access.REMOTE_ATOMIC));
      open += (access.get(i) & Access.REMOTE_READ) != 0 ? lengths.get(i) : 0;
    }
    assertEquals(source.byteSize(), open, "each stretch of the source once");
    assertTrue(connection.status().bytesSent() < 1000, "nothing of it was a message");
  }

  @Test
  void aTargetInThePoolIsNotMadeKnownAgain() {
    Connection connection = connect(config("verbs"), config("verbs"));
    MemorySegment source = filled(9L * MIB + 1);
    try (LargeBuffer target = nodes.getFirst().pool().allocateLarge(source.byteSize())) {
      assertTrue(target.awaitReady(0, source.byteSize(), LONG_NS));
      receiving.target = target.segment();
      int registered = verbs.ledger().registeredAccess().size();
      connection.sendLarge(source, 0, LONG_NS, null).await();
      assertEquals(-1, source.mismatch(target.segment()));
      int stretches = 3;
      assertEquals(registered + stretches, verbs.ledger().registeredAccess().size());
    }
  }

  @Test
  void theFragmentsFitThePort() {
    device.limits().maxMessageBytes = 100_000;
    Connection connection = connect(config("verbs"), config("verbs"));
    MemorySegment source = filled(MIB);
    receiving.target = arena.allocate(source.byteSize());
    connection.sendLarge(source, 0, LONG_NS, null).await();
    assertEquals(-1, source.mismatch(receiving.target));
    assertEquals(11, verbs.ledger().remoteReads());
  }

  /** What the device may not pin goes by message; the transfer does not notice. */
  @Test
  void withoutLockedMemoryItGoesByMessages() {
    Connection connection = connect(config("verbs"), config("verbs"));
    MemorySegment source = filled(6L * MIB + 1);
    receiving.target = arena.allocate(source.byteSize());
    device.limits().lockedMemoryBytes = device.pinnedBytes() + MIB;
    connection.sendLarge(source, 0, LONG_NS, null).await();
    assertEquals(-1, source.mismatch(receiving.target));
    assertEquals(0, verbs.ledger().remoteReads());
    // Room for the source but not for the target as well.
    device.limits().lockedMemoryBytes = device.pinnedBytes() + 14L * MIB;
    connection.sendLarge(source, 0, LONG_NS, null).await();
    assertEquals(-1, source.mismatch(receiving.target));
  }

  /** Paths break under it, also with reads on their way; it goes on from what has arrived. */
  @Test
  void aPathThatEndsCostsNothingOfIt() throws InterruptedException {
    Connection connection =
        connect(resuming(config("verbs", "tcp")), resuming(config("verbs", "tcp")));
    MemorySegment source = filled(64L * MIB);
    receiving.target = arena.allocate(source.byteSize());
    ScriptedQueuePair pair = device.queuePairs().getFirst();
    LargeSend send = startAndStall(connection, source, pair);
    LargeReceive receive = receiving.offers.remove();
    for (int i = 0; i < 7; i++) {
      await("some arrive", pair::executeNext);
    }
    pair.cut();
    pair.resume();
    send.await();
    await("the other end", receive::isDone);
    assertEquals(-1, source.mismatch(receiving.target), "seed " + seed);
    assertTrue(connection.isOpen());
  }

  @Test
  void aCancelWaitsForTheDevice() throws InterruptedException {
    Connection connection = connect(config("verbs"), config("verbs"));
    MemorySegment source = filled(64L * MIB);
    receiving.target = arena.allocate(source.byteSize());
    ScriptedQueuePair pair = device.queuePairs().getFirst();
    LargeSend send = startAndStall(connection, source, pair);
    LargeReceive receive = receiving.offers.remove();
    long reads = verbs.ledger().remoteReads();
    receive.cancel("of the test");
    Thread.sleep(100); // either end could be told too early meanwhile
    assertFalse(receive.isDone() || send.isDone(), "reads are under way");
    pair.resume();
    assertFails(Cause.CANCELLED, receive);
    assertFails(Cause.PEER_CANCELLED, send);
    assertEquals(reads, verbs.ledger().remoteReads());
    assertTrue(connection.isOpen());
  }

  /** A receiver that does not let go loses the path; the sender gets its memory back in time. */
  @Test
  void aReceiverThatDoesNotLetGoIsNotWaitedForForEver() throws InterruptedException {
    Connection connection =
        connect(config("verbs"), config("verbs").closeTimeout(Duration.ofMillis(100)));
    MemorySegment source = filled(8L * MIB);
    receiving.target = arena.allocate(source.byteSize());
    ScriptedQueuePair pair = device.queuePairs().getFirst();
    LargeSend send = startAndStall(connection, source, pair);
    LargeReceive receive = receiving.offers.remove();
    assertFalse(verbs.ledger().deregisteredAddresses().contains(source.address()));
    send.cancel("of the test");
    assertFails(Cause.CANCELLED, send);
    assertTrue(verbs.ledger().deregisteredAddresses().contains(source.address()));
    pair.resume(); // its reads are refused, which costs the path
    assertFails(Cause.PEER_CANCELLED, receive);
    await("the end", () -> !connection.isOpen());
  }
}
