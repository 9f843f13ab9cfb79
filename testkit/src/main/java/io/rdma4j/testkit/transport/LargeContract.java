package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.LargeBuffer;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.LargeHandler;
import io.rdma4j.transport.LargeReceive;
import io.rdma4j.transport.LargeSend;
import io.rdma4j.transport.LargeTransfer;
import io.rdma4j.transport.LargeTransferException;
import io.rdma4j.transport.LargeTransferException.Cause;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.MessageTooLargeException;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Large messages: what arrives, how they end, and what they must leave alone afterwards. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class LargeContract extends TransportFixture {
  private static final long LONG_NS = 100 * SECOND_NS;
  private static final int MIB = 1 << 20;

  private final Arena arena = Arena.ofShared();
  private final Receiving receiving = new Receiving();

  /** Creates the suite. */
  protected LargeContract() {}

  /** A loaded machine must not be taken for a peer that does not let go. */
  @Override
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return super.configure(builder).closeTimeout(Duration.ofSeconds(5));
  }

  @AfterEach
  void closeArena() throws Exception {
    closeAll(); // first: memory belongs to transfers until then
    arena.close();
  }

  /** Counts the end of each transfer. */
  private static final class Ends implements LargeHandler {
    final AtomicInteger done = new AtomicInteger();
    final Queue<Cause> failed = new ConcurrentLinkedQueue<>();
    final Queue<String> reasons = new ConcurrentLinkedQueue<>();

    @Override
    public void onDone(LargeTransfer transfer) {
      done.incrementAndGet();
    }

    @Override
    public void onFailure(LargeTransfer transfer, Cause cause, String message) {
      failed.add(cause);
      reasons.add(message);
    }

    int all() {
      return done.get() + failed.size();
    }
  }

  /** Lets the test say what becomes of offers; keeps small messages. */
  private static final class Receiving implements ConnectionHandler {
    final Ends ends = new Ends();
    final Queue<LargeReceive> offers = new ConcurrentLinkedQueue<>();
    final AtomicInteger messages = new AtomicInteger();
    volatile Consumer<LargeReceive> onOffer = offer -> {};

    @Override
    public void onMessage(Connection connection, Message message) {
      messages.incrementAndGet();
    }

    @Override
    public void onLarge(Connection connection, LargeReceive offer) {
      offers.add(offer);
      onOffer.accept(offer);
    }
  }

  private MemorySegment filled(long lengthBytes, long seed) {
    MemorySegment memory = arena.allocate(lengthBytes, 8);
    byte[] bytes = pattern((int) lengthBytes, seed);
    MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, 0, bytes.length);
    return memory;
  }

  private static void assertFails(Cause cause, LargeTransfer transfer) {
    LargeTransferException failure = assertThrows(LargeTransferException.class, transfer::await);
    assertEquals(cause, failure.failure(), failure.toString());
  }

  private Connection connect(Threading threading) {
    Node server = closeLater(server(receiving, threading));
    Node client = closeLater(client(threading));
    return client.connect(at(server), new Mailbox());
  }

  @Test
  void everyLengthArrivesWholeAndNothingBesides() throws InterruptedException {
    Connection connection = connect(Threading.DEDICATED);
    int max = connection.maxMessageBytes();
    int stretch = 4 * MIB;
    int[] lengths = {
      0,
      1,
      7,
      max - 1,
      max,
      max + 1,
      3 * max,
      MIB,
      MIB + 1,
      stretch - 1,
      stretch,
      stretch + 1,
      2 * stretch + max + 3
    };
    MemorySegment target = arena.allocate(3L * stretch, 8);
    receiving.onOffer = offer -> offer.accept(target.asSlice(1), receiving.ends);
    int count = 0;
    for (int length : lengths) {
      target.fill((byte) 0x33);
      MemorySegment source = filled(length, length);
      Ends ends = new Ends();
      LargeSend send = connection.sendLarge(source, ~length, LONG_NS, ends);
      send.await();
      assertEquals(length, send.transferredBytes());
      count++;
      int expected = count;
      eventually("both ends", () -> receiving.ends.done.get() == expected && ends.all() == 1);
      LargeReceive receive = receiving.offers.remove();
      assertEquals(~length, receive.tag());
      assertEquals(length, receive.lengthBytes());
      assertEquals(length, receive.transferredBytes());
      assertTrue(receive.isDone());
      assertEquals(-1, source.mismatch(target.asSlice(1, length)), length + " bytes");
      assertEquals(0x33, target.get(JAVA_BYTE, 0), "before it");
      assertEquals(0x33, target.get(JAVA_BYTE, length + 1), "behind it");
    }
    assertEquals(0, receiving.ends.failed.size());
  }

  @Test
  void memoryOfThePoolIsSourceAndTarget() {
    Connection connection = connect(Threading.DEDICATED);
    Node server = receivingNode();
    int length = 9 * MIB + 5;
    try (LargeBuffer source = sendingNode().pool().allocateLarge(length);
        LargeBuffer target = server.pool().allocateLarge(length)) {
      byte[] bytes = pattern(length, 7);
      MemorySegment.copy(bytes, 0, source.segment(), JAVA_BYTE, 0, length);
      receiving.onOffer = offer -> offer.accept(target.segment(), receiving.ends);
      connection.sendLarge(source.segment(), 0, LONG_NS, null).await();
      assertEquals(-1, source.segment().mismatch(target.segment()));
    }
  }

  private Node receivingNode() {
    return (Node) opened(0);
  }

  private Node sendingNode() {
    return (Node) opened(1);
  }

  @Test
  void whoTakesNoneRefusesWithAReason() throws InterruptedException {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    MemorySegment source = filled(100, 1);
    Ends ends = new Ends();
    assertFails(Cause.REFUSED, connection.sendLarge(source, 0, LONG_NS, ends));
    eventually("told", () -> ends.all() == 1);
    assertTrue(ends.reasons.remove().contains("takes no large messages"));
    assertTrue(connection.isOpen());
    // The other way, with a reason of its own that does not fit, and a handler that throws.
    Connection other = connect(Threading.DEDICATED);
    receiving.onOffer = offer -> offer.refuse("ü".repeat(1000));
    LargeTransferException refused =
        assertThrows(
            LargeTransferException.class, () -> other.sendLarge(source, 0, LONG_NS, null).await());
    assertEquals(Cause.REFUSED, refused.failure());
    assertTrue(String.valueOf(refused.getMessage()).endsWith("ü"), refused.toString());
    receiving.onOffer =
        offer -> {
          throw new IllegalStateException("of the test");
        };
    assertFails(Cause.PEER_CANCELLED, other.sendLarge(source, 0, LONG_NS, null));
    assertTrue(other.isOpen());
  }

  @Test
  void whatCanNotBeSentOrTakenIsSaidAtOnce() throws InterruptedException {
    Connection connection = connect(Threading.DEDICATED);
    assertThrows(
        IllegalArgumentException.class,
        () -> connection.sendLarge(MemorySegment.ofArray(new byte[8]), 0, LONG_NS, null));
    try (Arena confined = Arena.ofConfined()) {
      MemorySegment mine = confined.allocate(8);
      assertThrows(
          IllegalArgumentException.class, () -> connection.sendLarge(mine, 0, LONG_NS, null));
    }
    MemorySegment beyond = MemorySegment.ofAddress(4096).asSlice(0, 0);
    assertEquals(0, beyond.byteSize());
    int max = connection.maxMessageBytes();
    MessageTooLargeException tooLarge =
        assertThrows(
            MessageTooLargeException.class,
            () -> connection.send(MemorySegment.ofArray(new byte[max + 1]), 0, max + 1));
    assertTrue(String.valueOf(tooLarge.getMessage()).contains("sendLarge"));
    LargeSend send = connection.sendLarge(filled(8, 1), 0, LONG_NS, null);
    eventually("the offer", () -> receiving.offers.size() == 1);
    LargeReceive offer = receiving.offers.remove();
    MemorySegment memory = arena.allocate(8);
    assertThrows(
        IllegalArgumentException.class, () -> offer.accept(memory.asSlice(1), receiving.ends));
    assertThrows(
        IllegalArgumentException.class, () -> offer.accept(memory.asReadOnly(), receiving.ends));
    offer.accept(memory, receiving.ends);
    assertThrows(IllegalStateException.class, () -> offer.accept(memory, receiving.ends));
    assertThrows(IllegalStateException.class, () -> offer.refuse("late"));
    send.await();
    connection.close();
    LargeTransferException closed =
        assertThrows(
            LargeTransferException.class, () -> connection.sendLarge(memory, 0, LONG_NS, null));
    assertEquals(Cause.DISCONNECTED, closed.failure());
  }

  @Test
  void anOfferThatNobodyDecidesEndsWithItsDeadline() throws InterruptedException {
    Connection connection = connect(Threading.DEDICATED);
    MemorySegment source = filled(100, 1);
    Ends ends = new Ends();
    for (long timeoutNs = 30_000_000L; receiving.offers.isEmpty(); timeoutNs *= 2) {
      // One whose deadline passes before the offer has gone out is never heard of.
      Ends tried = new Ends();
      assertFails(Cause.DEADLINE, connection.sendLarge(source, 0, timeoutNs, tried));
      ends = tried;
    }
    Ends last = ends;
    LargeReceive offer = receiving.offers.remove();
    eventually("the other end", offer::isDone);
    offer.accept(arena.allocate(100), receiving.ends);
    assertEquals(Cause.PEER_CANCELLED, receiving.ends.failed.remove(), "told at once");
    eventually("the sender is told", () -> last.all() == 1);
    assertTrue(connection.isOpen());
  }

  /** Either side cancels at any moment; nothing is touched after the end was told. */
  @Test
  void aCancelFromEitherSideEndsBothAndLeavesTheMemoryAlone() throws InterruptedException {
    Connection connection = connect(Threading.DEDICATED);
    long seed = Long.getLong("seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    MemorySegment source = filled(24L * MIB, 3);
    MemorySegment target = arena.allocate(source.byteSize());
    int cancelled = 0;
    for (int round = 0; round < 24; round++) {
      Ends here = new Ends();
      Ends there = new Ends();
      receiving.onOffer = offer -> offer.accept(target, there);
      LargeSend send = connection.sendLarge(source, 0, LONG_NS, here);
      eventually("the offer", () -> !receiving.offers.isEmpty());
      LargeReceive receive = receiving.offers.remove();
      long until = random.nextLong(source.byteSize());
      while (receive.transferredBytes() < until && !receive.isDone()) {
        Thread.onSpinWait();
      }
      boolean bySender = random.nextBoolean();
      (bySender ? send : receive).cancel("of the test");
      eventually("both ends, seed " + seed, () -> here.all() == 1 && there.all() == 1);
      assertEquals(here.done.get(), there.done.get(), "both or none, seed " + seed);
      if (here.done.get() == 0) {
        cancelled++;
        assertEquals(bySender ? Cause.CANCELLED : Cause.PEER_CANCELLED, here.failed.remove());
        assertEquals(bySender ? Cause.PEER_CANCELLED : Cause.CANCELLED, there.failed.remove());
        (bySender ? there : here).reasons.forEach(r -> assertTrue(r.contains("of the test"), r));
      }
      target.fill((byte) round);
      assertTrue(connection.isOpen(), "seed " + seed);
      Thread.sleep(5);
      MemorySegment same = arena.allocate(4096);
      same.fill((byte) round);
      for (long at = 0; at < target.byteSize(); at += MIB) {
        assertEquals(-1, same.mismatch(target.asSlice(at, 4096)), "written later, seed " + seed);
      }
    }
    assertTrue(cancelled > 0, "seed " + seed);
    // And the connection carries on.
    receiving.onOffer = offer -> offer.accept(target, receiving.ends);
    connection.sendLarge(source, 0, LONG_NS, null).await();
    assertEquals(-1, source.mismatch(target));
  }

  @Test
  void manyAtOnceArriveBesideSmallMessages() throws InterruptedException {
    Connection connection = connect(Threading.DEDICATED);
    int count = 20;
    List<MemorySegment> targets = new ArrayList<>();
    List<MemorySegment> sources = new ArrayList<>();
    List<LargeSend> sends = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      sources.add(filled(MIB + 1000L * i, i));
      targets.add(arena.allocate(sources.get(i).byteSize()));
    }
    receiving.onOffer = offer -> offer.accept(targets.get((int) offer.tag()), receiving.ends);
    for (int i = 0; i < count; i++) {
      sends.add(connection.sendLarge(sources.get(i), i, LONG_NS, null));
    }
    int small = 500;
    for (int i = 0; i < small; i++) {
      assertTrue(connection.send(text("small"), 0, 5, LONG_NS) >= 0);
    }
    sends.forEach(LargeTransfer::await);
    eventually("all", () -> receiving.ends.done.get() == count);
    eventually("small ones", () -> receiving.messages.get() == small);
    for (int i = 0; i < count; i++) {
      assertEquals(-1, sources.get(i).mismatch(targets.get(i)), "message " + i);
    }
  }

  /** Both ends in one thread: a small message is there after a few turns, whatever else goes on. */
  @Test
  void aSmallMessageIsNotHeldUp() {
    Connection connection = connect(Threading.INVOKER);
    Node server = receivingNode();
    Node client = sendingNode();
    MemorySegment source = arena.allocate(64L * MIB);
    MemorySegment target = arena.allocate(source.byteSize());
    receiving.onOffer = offer -> offer.accept(target, receiving.ends);
    for (int i = 0; i < 4; i++) {
      connection.sendLarge(source.asSlice(i * 16L * MIB, 16L * MIB), 0, LONG_NS, null);
    }
    int most = 0;
    for (int i = 1; receiving.ends.done.get() < 4; i++) {
      int turns = 0;
      while (connection.send(text("small"), 0, 5) == SendResult.BACK_PRESSURED) {
        turns = turn(turns, server, client);
      }
      while (receiving.messages.get() < i) {
        turns = turn(turns, server, client);
      }
      most = Math.max(most, turns);
    }
    System.out.printf("%s: a small message took %d turns at most%n", path(), most);
  }

  private static int turn(int turns, Node server, Node client) {
    int work = client.poll() + server.poll();
    // Turns that do nothing wait for the kernel, which may take its time.
    int counted = turns + (work > 0 ? 1 : 0);
    assertTrue(counted < 64, "a small message waits for " + counted + " turns");
    return counted;
  }

  @Test
  void theEndOfTheConnectionIsTheEndOfAll() throws InterruptedException {
    Connection connection = connect(Threading.DEDICATED);
    Ends ends = new Ends();
    MemorySegment source = filled(MIB, 1);
    MemorySegment target = arena.allocate(64L * MIB);
    receiving.onOffer =
        offer -> {
          if (offer.tag() == 0) {
            offer.accept(target, receiving.ends);
          }
        };
    for (int tag = 0; tag < 3; tag++) {
      connection.sendLarge(tag == 0 ? target : source, tag, LONG_NS, ends);
    }
    eventually("the offers", () -> receiving.offers.size() == 3);
    connection.close();
    eventually("all ends", () -> ends.all() == 3 && receiving.ends.all() == 1);
    ends.failed.forEach(cause -> assertEquals(Cause.DISCONNECTED, cause));
    eventually("offers too", () -> receiving.offers.stream().allMatch(LargeTransfer::isDone));
  }

  @Test
  void tooManyAtOnceAreRefusedHere() {
    Connection connection = connect(Threading.DEDICATED);
    MemorySegment source = filled(8, 1);
    List<LargeSend> sends = new ArrayList<>();
    LargeTransferException refused =
        assertThrows(
            LargeTransferException.class,
            () -> {
              for (int i = 0; i < 10_000; i++) {
                sends.add(connection.sendLarge(source, i, LONG_NS, null));
              }
            });
    assertEquals(Cause.TOO_MANY, refused.failure());
    sends.forEach(send -> send.cancel("enough"));
    sends.forEach(send -> assertFails(Cause.CANCELLED, send));
    receiving.onOffer = offer -> offer.accept(arena.allocate(8), receiving.ends);
    connection.sendLarge(source, 0, LONG_NS, null).await();
  }

  /** A file with a hole stands for memory that no machine has. */
  @Test
  void theLongestThereIsCanBeStartedAndCancelled(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("hole");
    MemorySegment hole;
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE_NEW,
            StandardOpenOption.SPARSE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      hole = channel.map(FileChannel.MapMode.READ_WRITE, 0, LargeTransfer.MAX_BYTES, arena);
    } catch (IOException e) {
      assumeTrue(false, "this file system has no files of 1 TiB: " + e);
      return;
    }
    Files.delete(file);
    Connection connection = connect(Threading.DEDICATED);
    receiving.onOffer = offer -> offer.accept(hole, receiving.ends);
    LargeSend send = connection.sendLarge(hole, 0, LONG_NS, null);
    while (send.transferredBytes() < 16L * MIB) {
      assertFalse(send.isDone());
      Thread.onSpinWait();
    }
    assertEquals(LargeTransfer.MAX_BYTES, receiving.offers.peek().lengthBytes());
    send.cancel("seen enough");
    assertFails(Cause.CANCELLED, send);
    eventually("the other end", () -> receiving.ends.failed.size() == 1);
  }

  @Test
  void memoryThatGoesAwayEndsTheTransferOnly() throws InterruptedException {
    Connection connection = connect(Threading.DEDICATED);
    LargeSend send;
    try (Arena gone = Arena.ofShared()) {
      send = connection.sendLarge(gone.allocate(MIB), 0, LONG_NS, null);
      eventually("the offer", () -> receiving.offers.size() == 1);
    }
    receiving.offers.remove().accept(arena.allocate(MIB), receiving.ends);
    assertFails(Cause.MEMORY, send);
    eventually("the other end", () -> receiving.ends.failed.size() == 1);
    assertTrue(connection.isOpen());
  }
}
