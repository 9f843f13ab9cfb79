package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.ExhaustionPolicy;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolExhaustedException;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.ConnectionStatus;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.Reply;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every path must do for who receives: messages that are kept, and batches that end. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class ReceiveContract extends TransportFixture {
  private static final int COPY_BREAK_BYTES = 512;
  private static final int MAX_MESSAGE_BYTES = 16 * 1024;
  private static final int WINDOW = 16;

  /** More than a path posts that receives into blocks. */
  private static final int RESERVED_BLOCKS = 80;

  private final Keeper keeper = new Keeper();

  /** Creates the suite. */
  protected ReceiveContract() {}

  /** Returns whether long messages reach the application in the block they arrived in. */
  protected abstract boolean handsOver();

  /** Two nodes that are polled by the test, and the connection between them. */
  private record Pair(Node receiver, Node sender, Connection connection) {
    void poll() {
      receiver.poll();
      sender.poll();
    }

    ConnectionStatus received() {
      return receiver.status().connections().getFirst();
    }
  }

  private Pair connect(int freeBlocks, ConnectionHandler handler) {
    Node receiver =
        closeLater(
            Node.start(
                config(freeBlocks)
                    .listen(new InetSocketAddress(address(), 0), (peer, path) -> handler)
                    .build()));
    Node sender = closeLater(Node.start(config(64).build()));
    Connection connection = sender.connect(at(receiver), new Mailbox());
    return new Pair(receiver, sender, connection);
  }

  private Pair connect(int freeBlocks) {
    Pair pair = connect(freeBlocks, keeper);
    keeper.pool = pair.receiver.pool();
    return pair;
  }

  private NodeConfig.Builder config(int freeBlocks) {
    long bytes = (long) (freeBlocks + RESERVED_BLOCKS) * MAX_MESSAGE_BYTES;
    return configure(NodeConfig.builder())
        .threading(Threading.INVOKER)
        .handshakeTimeout(Duration.ofSeconds(60))
        .maxMessageBytes(MAX_MESSAGE_BYTES)
        .window(WINDOW)
        .copyBreakBytes(COPY_BREAK_BYTES)
        .pool(
            PoolConfig.builder()
                .blockSizes(MAX_MESSAGE_BYTES)
                .slabBytes(MAX_MESSAGE_BYTES)
                .initialBytes((long) freeBlocks * MAX_MESSAGE_BYTES)
                .maxBytes(bytes)
                .maxCached(0)
                .receiveReserveBlocks(RESERVED_BLOCKS)
                .receiveBlockSize(MAX_MESSAGE_BYTES)
                .exhaustion(ExhaustionPolicy.FAIL)
                .hugePages(HugePages.NONE)
                .numaAware(false)
                .backgroundThread(false)
                .build());
  }

  /** Takes what it is told to take, and notes messages and ends of batches. */
  private static final class Keeper implements ConnectionHandler {
    private final Deque<RegisteredBuffer> kept = new ArrayDeque<>();
    private final StringBuilder course = new StringBuilder();
    private @Nullable RegisteredBufferPool pool;
    private boolean keeps = true;
    private int received;
    private int refused;
    private @Nullable Throwable wrong;

    @Override
    public void onMessage(Connection connection, Message message) {
      received++;
      course.append('m');
      try {
        if (keeps) {
          keep(message, Objects.requireNonNull(pool).newLease());
        }
      } catch (AssertionError | RuntimeException e) {
        wrong = e;
      }
    }

    private void keep(Message message, RegisteredBuffer lease) {
      byte[] payload = message.payload().toArray(JAVA_BYTE);
      if (message.tryTake(lease)) {
        kept.add(lease);
        assertEquals(0, message.lengthBytes(), "the view ends with the take");
        assertThrows(IllegalStateException.class, message::take, "taken before");
      } else {
        refused++;
        assertTrue(lease.isEmpty());
        assertArrayEquals(payload, message.payload().toArray(JAVA_BYTE), "after a refusal");
      }
    }

    @Override
    public void onBatchEnd(Connection connection) {
      course.append('e');
    }
  }

  /** A failing assertion in a handler is caught by the connection, so it is thrown here. */
  @AfterEach
  void nothingWentWrongInTheHandler() {
    if (keeper.wrong != null) {
      throw new AssertionError(keeper.wrong);
    }
  }

  private static void until(Pair pair, String what, BooleanSupplier done) {
    long startNs = System.nanoTime();
    while (!done.getAsBoolean()) {
      pair.poll();
      if (System.nanoTime() - startNs > 60 * SECOND_NS) {
        throw new AssertionError("not within a minute: " + what);
      }
    }
  }

  private static int lengthBytes(int number) {
    return switch (number % 4) {
      case 0 -> 40;
      case 1 -> COPY_BREAK_BYTES;
      case 2 -> COPY_BREAK_BYTES + 1;
      default -> MAX_MESSAGE_BYTES - number % 100;
    };
  }

  private static void send(Pair pair, int number, int lengthBytes) {
    MemorySegment source = MemorySegment.ofArray(pattern(lengthBytes, number));
    until(pair, "room", () -> pair.connection.send(source, 0, lengthBytes) >= 0);
  }

  private void assertKept(int number, int lengthBytes) {
    try (RegisteredBuffer lease = keeper.kept.remove()) {
      byte[] payload = lease.segment().asSlice(0, lease.lengthBytes()).toArray(JAVA_BYTE);
      assertArrayEquals(pattern(lengthBytes, number), payload, "message " + number);
    }
  }

  @Test
  void whatIsKeptStaysIntactWhileOthersArrive() {
    Pair pair = connect(64);
    int rounds = 50;
    int each = 40;
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < each; i++) {
        send(pair, round * each + i, lengthBytes(i));
      }
      until(pair, "the messages of a round", () -> keeper.kept.size() == each);
      for (int i = 0; i < each; i++) {
        assertKept(round * each + i, lengthBytes(i));
      }
    }
    ConnectionStatus status = pair.received();
    int all = rounds * each;
    assertEquals(handsOver() ? all / 2 : 0, status.messagesHandedOver());
    assertEquals(all - status.messagesHandedOver(), status.messagesCopied());
    assertEquals(0, status.takesRefused());
    assertTrue(
        pair.receiver.pool().statistics().usedBytes() <= RESERVED_BLOCKS * MAX_MESSAGE_BYTES);
    pair.connection.close();
    until(pair, "the end", () -> pair.receiver.status().connections().isEmpty());
    assertEquals(0, pair.receiver.pool().statistics().usedBytes());
    assertEquals(0, pair.receiver.pool().statistics().refusedReleases());
  }

  /** Many more than a window come after the pool was exhausted, so no receive can be missing. */
  @Test
  void anExhaustedPoolRefusesToKeepAndLosesNothing() {
    Pair pair = connect(4);
    int sent = 0;
    for (int round = 0; round < 3; round++) {
      int before = keeper.refused;
      for (int i = 0; i < 100; i++) {
        send(pair, sent++, MAX_MESSAGE_BYTES);
      }
      int expected = sent;
      until(pair, "all messages", () -> keeper.received == expected);
      assertTrue(keeper.refused > before, "the pool holds " + keeper.kept.size());
      int kept = keeper.kept.size();
      for (int i = 0; i < kept; i++) {
        assertKept(round * 100 + i, MAX_MESSAGE_BYTES);
      }
    }
    ConnectionStatus status = pair.received();
    assertEquals(keeper.refused, status.takesRefused());
    assertEquals(
        sent, status.takesRefused() + status.messagesHandedOver() + status.messagesCopied());
    assertEquals(0, status.handlerErrors());
  }

  @Test
  void takingFromAnExhaustedPoolIsTyped() {
    CompletableFuture<RuntimeException> thrown = new CompletableFuture<>();
    Pair pair =
        connect(
            1,
            (from, message) -> {
              try {
                message.take();
                thrown.completeExceptionally(new AssertionError("taken"));
              } catch (RuntimeException e) {
                thrown.complete(e);
              }
            });
    RegisteredBufferPool pool = pair.receiver.pool();
    try (RegisteredBuffer last = pool.allocate(MAX_MESSAGE_BYTES)) {
      assertFalse(last.isEmpty());
      send(pair, 1, 40);
      until(pair, "the message", thrown::isDone);
      assertTrue(thrown.join() instanceof PoolExhaustedException, thrown.join().toString());
    }
  }

  @Test
  void aMessageCanNotBeTakenBehindItsCallOrIntoAStrangeLease() {
    CompletableFuture<Message> escaped = new CompletableFuture<>();
    CompletableFuture<String> refusals = new CompletableFuture<>();
    Node other = closeLater(Node.start(config(4).build()));
    RegisteredBuffer full = other.pool().allocate(1);
    Pair pair =
        connect(
            16,
            (from, message) -> {
              StringBuilder told = new StringBuilder();
              for (RegisteredBuffer lease :
                  new RegisteredBuffer[] {full, other.pool().newLease()}) {
                try {
                  told.append(message.tryTake(lease));
                } catch (IllegalStateException e) {
                  told.append("refused ");
                }
              }
              refusals.complete(told + "" + message.lengthBytes());
              escaped.complete(message);
            });
    send(pair, 1, MAX_MESSAGE_BYTES);
    until(pair, "the message", escaped::isDone);
    assertEquals("refused refused " + MAX_MESSAGE_BYTES, refusals.join());
    assertThrows(IllegalStateException.class, () -> escaped.join().take());
    full.release();
  }

  @Test
  void whatWasTakenIsSentOnAndReleasedByOtherThreads() throws Exception {
    Pair pair = connect(64);
    send(pair, 1, MAX_MESSAGE_BYTES);
    send(pair, 2, 40);
    until(pair, "both", () -> keeper.kept.size() == 2);
    RegisteredBuffer large = keeper.kept.remove();
    Mailbox back = new Mailbox();
    Connection reverse = pair.receiver.connect(at(serve(back)), new Mailbox());
    assertEquals(SendResult.OK, reverse.send(large));
    assertTrue(large.isEmpty());
    until(pair, "what was sent on", () -> back.size() == 1);
    assertArrayEquals(pattern(MAX_MESSAGE_BYTES, 1), back.take());
    RegisteredBuffer small = keeper.kept.remove();
    Thread.ofPlatform().start(small::release).join();
    reverse.close();
  }

  private Node serve(Mailbox inbox) {
    return closeLater(
        Node.start(
            config(16)
                .threading(Threading.DEDICATED)
                .listen(new InetSocketAddress(address(), 0), (peer, path) -> inbox)
                .build()));
  }

  @Test
  void aReplyIsTakenInPlace() {
    Pair pair =
        connect(
            16,
            (from, message) ->
                message.reply(message.memory(), message.offset(), message.lengthBytes()));
    MemorySegment question = MemorySegment.ofArray(pattern(MAX_MESSAGE_BYTES, 5));
    CompletableFuture<Reply> answer =
        pair.connection
            .requestAsync(question, 0, MAX_MESSAGE_BYTES, 60 * SECOND_NS)
            .toCompletableFuture();
    until(pair, "the reply", answer::isDone);
    try (Reply reply = answer.join()) {
      assertArrayEquals(pattern(MAX_MESSAGE_BYTES, 5), reply.payload().toArray(JAVA_BYTE));
    }
    ConnectionStatus asked = pair.connection.status();
    assertEquals(handsOver() ? 1 : 0, asked.messagesHandedOver());
    assertEquals(handsOver() ? 0 : 1, asked.messagesCopied());
  }

  @Test
  void eachTurnWithMessagesHasOneEnd() {
    Pair pair = connect(16);
    keeper.keeps = false;
    int sent = 0;
    for (int round = 0; round < 200; round++) {
      for (int i = 0; i < 1 + round % WINDOW; i++) {
        send(pair, sent++, 40);
      }
      send(pair, sent++, 0);
      pair.sender.poll();
      int expected = sent;
      while (keeper.received < expected) {
        int messages = keeper.received;
        int ends = ends();
        pair.receiver.poll();
        assertEquals(keeper.received > messages ? 1 : 0, ends() - ends, "ends of one turn");
        pair.sender.poll();
      }
    }
    String course = keeper.course.toString();
    assertFalse(course.contains("ee"), "an end without messages");
    assertTrue(course.endsWith("e"));
    assertTrue(course.contains("mm"), "batches of more than one message");
  }

  private int ends() {
    return keeper.course.length() - keeper.received;
  }

  @Test
  void whatIsSentAtTheEndOfABatchGoesOut() {
    CompletableFuture<Integer> counted = new CompletableFuture<>();
    ConnectionHandler counting =
        new ConnectionHandler() {
          private final MemorySegment count = MemorySegment.ofArray(new byte[4]);
          private int messages;

          @Override
          public void onMessage(Connection connection, Message message) {
            messages++;
          }

          @Override
          public void onBatchEnd(Connection connection) {
            count.set(JAVA_INT_UNALIGNED, 0, messages);
            connection.send(count, 0, 4);
            throw new IllegalStateException("thrown on purpose by this test");
          }
        };
    Node receiver =
        closeLater(
            Node.start(
                config(16)
                    .listen(new InetSocketAddress(address(), 0), (peer, path) -> counting)
                    .build()));
    Node sender = closeLater(Node.start(config(16).build()));
    Connection connection =
        sender.connect(
            at(receiver),
            (from, message) ->
                counted.complete(message.memory().get(JAVA_INT_UNALIGNED, message.offset())));
    Pair pair = new Pair(receiver, sender, connection);
    send(pair, 1, 40);
    until(pair, "the count", counted::isDone);
    assertEquals(1, counted.join());
    assertEquals(1, pair.received().handlerErrors(), "a handler that throws is counted");
  }

  @Test
  void noGarbagePerKeptMessage() {
    long[] received = new long[1];
    RegisteredBuffer[] lease = new RegisteredBuffer[1];
    Pair pair =
        connect(
            16,
            (from, message) -> {
              received[0]++;
              if (message.tryTake(Objects.requireNonNull(lease[0]))) {
                lease[0].release();
              }
            });
    lease[0] = pair.receiver.pool().newLease();
    MemorySegment source = MemorySegment.ofArray(new byte[MAX_MESSAGE_BYTES]);
    Runnable both =
        () -> {
          long before = received[0];
          while (pair.connection.send(source, 0, 40) < 0) {
            pair.poll();
          }
          while (pair.connection.send(source, 0, 2 * COPY_BREAK_BYTES) < 0) {
            pair.poll();
          }
          while (received[0] < before + 2) {
            pair.poll();
          }
        };
    double perPair = AllocationMeter.bytesPerOperation(10_000, 10_000, both);
    System.out.printf("%s: %.4f bytes of garbage per two kept messages%n", path(), perPair);
    assertTrue(perPair < 2 * AllocationMeter.NONE, perPair + " bytes per two kept messages");
    assertEquals(0, pair.received().takesRefused());
    assertTrue(pair.received().messagesCopied() > 0);
  }
}
