package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolExhaustedException;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.MessageTooLargeException;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.Reply;
import io.rdma4j.transport.ReplyHandler;
import io.rdma4j.transport.RequestFailedException;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests and replies: each request ends exactly once, whatever happens. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class RequestContract extends TransportFixture {
  /** Creates the suite. */
  protected RequestContract() {}

  @Test
  void requestsGetTheirReply() {
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  byte[] body = message.payload().toArray(JAVA_BYTE);
                  assertTrue(message.reply(MemorySegment.ofArray(body), 0, body.length) >= 0);
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    for (int i = 0; i < 200; i++) {
      byte[] asked = pattern(i * 7, i);
      try (Reply reply =
          connection.request(MemorySegment.ofArray(asked), 0, asked.length, 5 * SECOND_NS)) {
        assertArrayEquals(asked, reply.payload().toArray(JAVA_BYTE));
      }
    }
    assertNothingKept(connection, client);
  }

  @Test
  void repliesMayComeLateAndInAnyOrder() {
    List<Long> held = new ArrayList<>();
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  held.add(message.correlationId());
                  if (held.size() == 3) {
                    for (long id : held.reversed()) {
                      MemorySegment body = text("reply");
                      assertTrue(connection.reply(id, body, 0, body.byteSize() == 5 ? 5 : 0) >= 0);
                    }
                  }
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    var first = connection.requestAsync(text("a"), 0, 1, 5 * SECOND_NS).toCompletableFuture();
    var second = connection.requestAsync(text("b"), 0, 1, 5 * SECOND_NS).toCompletableFuture();
    try (Reply third = connection.request(text("c"), 0, 1, 5 * SECOND_NS)) {
      assertEquals(5, third.lengthBytes());
    }
    first.join().close();
    second.join().close();
  }

  @Test
  void aReplyThatFindsNoBufferEndsItsRequest() {
    Node server =
        closeLater(
            server(
                (connection, message) -> message.reply(text("reply"), 0, 5), Threading.DEDICATED));
    // A slab for replies, and one for receives where they are of the pool.
    PoolConfig small = PoolConfig.builder().maxBytes(4 << 20).slabBytes(2 << 20).build();
    Node client =
        closeLater(Node.start(configure(NodeConfig.builder()).window(4).pool(small).build()));
    Connection connection = client.connect(at(server), new Mailbox());
    List<RegisteredBuffer> taken = new ArrayList<>();
    assertThrows(
        PoolExhaustedException.class,
        () -> {
          while (true) {
            taken.add(client.pool().allocate(8192));
          }
        });
    RequestFailedException failure =
        assertThrows(
            RequestFailedException.class,
            () -> connection.request(text("x"), 0, 1, 10 * SECOND_NS));
    assertEquals(RequestFailedException.Cause.NO_BUFFER, failure.failure());
    taken.forEach(RegisteredBuffer::release);
    connection.request(text("x"), 0, 1, 10 * SECOND_NS).close();
  }

  @Test
  void openRequestsFailWhenThePeerCloses() {
    Node server = server((connection, message) -> connection.close(), Threading.DEDICATED);
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RequestFailedException failure =
        assertThrows(
            RequestFailedException.class,
            () -> connection.request(text("x"), 0, 1, 10 * SECOND_NS));
    assertEquals(RequestFailedException.Cause.DISCONNECTED, failure.failure());
    server.close();
  }

  @Test
  void aRequestThatIsRefusedLeavesNoTrace() {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    int tooLong = connection.maxMessageBytes() + 1;
    MemorySegment source = MemorySegment.ofArray(new byte[tooLong]);
    assertThrows(
        MessageTooLargeException.class,
        () -> connection.request(source, 0, tooLong, 10 * SECOND_NS));
    assertThrows(
        MessageTooLargeException.class,
        () -> connection.requestAsync(source, 0, tooLong, 10 * SECOND_NS));
    assertEquals(0, connection.status().requestsOutstanding());
  }

  /** A server that answers nothing by itself, and notes what it was asked and told. */
  private static final class Silent implements ConnectionHandler {
    final Queue<Long> asked = new ConcurrentLinkedQueue<>();
    final Queue<Long> cancelled = new ConcurrentLinkedQueue<>();
    final AtomicReference<Connection> connection = new AtomicReference<>();

    @Override
    public void onConnected(Connection connection) {
      this.connection.set(connection);
    }

    @Override
    public void onMessage(Connection connection, Message message) {
      asked.add(message.correlationId());
    }

    @Override
    public void onCancelled(Connection connection, long correlationId) {
      cancelled.add(correlationId);
    }
  }

  /** Counts how often each request has ended, by context. */
  private static final class Ends implements ReplyHandler {
    final AtomicIntegerArray count;
    final AtomicIntegerArray replies;

    Ends(int requests) {
      count = new AtomicIntegerArray(requests);
      replies = new AtomicIntegerArray(requests);
    }

    @Override
    public void onReply(long context, Message reply) {
      if (reply.memory().get(JAVA_LONG_UNALIGNED, reply.offset()) == context) {
        replies.incrementAndGet((int) context);
      }
      count.incrementAndGet((int) context);
    }

    @Override
    public void onFailure(long context, Cause cause, String message) {
      count.incrementAndGet((int) context);
    }
  }

  /** Answers with what it was asked, later when there is no room for the answer now. */
  private static final class PatientEcho implements ConnectionHandler {
    private record Owed(long correlationId, byte[] answer) {}

    private final Queue<Owed> owed = new ArrayDeque<>();

    @Override
    public void onMessage(Connection connection, Message message) {
      if (owed.isEmpty()
          && message.reply(message.memory(), message.offset(), message.lengthBytes()) >= 0) {
        return;
      }
      boolean first = owed.isEmpty();
      owed.add(new Owed(message.correlationId(), message.payload().toArray(JAVA_BYTE)));
      if (first) {
        connection.whenReady(() -> answerOwed(connection));
      }
    }

    private void answerOwed(Connection connection) {
      for (Owed next; (next = owed.peek()) != null; owed.remove()) {
        MemorySegment answer = MemorySegment.ofArray(next.answer);
        if (connection.reply(next.correlationId, answer, 0, next.answer.length) < 0) {
          connection.whenReady(() -> answerOwed(connection));
          return;
        }
      }
    }
  }

  private static Cause causeOf(CompletableFuture<Reply> stage) {
    CompletionException failure = assertThrows(CompletionException.class, stage::join);
    return assertInstanceOf(RequestFailedException.class, failure.getCause()).failure();
  }

  @Test
  void aRequestWithoutReplyEndsAtItsDeadlineAndThePeerIsTold() throws InterruptedException {
    Silent silent = new Silent();
    Node server = closeLater(server(silent, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RequestFailedException blocking =
        assertThrows(
            RequestFailedException.class, () -> connection.request(text("x"), 0, 1, 50_000_000L));
    assertEquals(Cause.DEADLINE, blocking.failure());
    var stage = connection.requestAsync(text("y"), 0, 1, 50_000_000L).toCompletableFuture();
    assertEquals(Cause.DEADLINE, causeOf(stage));
    assertEquals(0, connection.status().requestsOutstanding());
    eventually("both cancellations", () -> silent.cancelled.size() == 2);
    assertEquals(List.copyOf(silent.asked), List.copyOf(silent.cancelled));
    // A reply after the deadline is counted and harms nobody.
    for (long id : silent.asked) {
      silent.connection.get().reply(id, text("late"), 0, 4);
    }
    eventually("both late replies", () -> client.status().lateReplies() == 2);
    assertNothingKept(connection, client);
  }

  /**
   * Each reply comes when its requester has given up and waits with the same object for another.
   */
  @Test
  void aLateReplyNeverLandsInTheNextRequest() throws InterruptedException {
    Silent silent = new Silent();
    Node server = closeLater(server(silent, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    Reply reply = connection.newReply();
    MemorySegment word = MemorySegment.ofArray(new byte[8]);
    for (long round = 0; round < 50; round++) {
      assertThrows(
          RequestFailedException.class, () -> connection.request(word, 0, 8, 1_000_000L, reply));
      eventually("the request", () -> !silent.asked.isEmpty());
      long late = silent.asked.remove();
      Thread answering =
          Thread.ofPlatform()
              .start(
                  () -> {
                    while (silent.asked.isEmpty()) {
                      Thread.onSpinWait();
                    }
                    long next = silent.asked.remove();
                    MemorySegment answer = MemorySegment.ofArray(new byte[8]);
                    answer.set(JAVA_LONG_UNALIGNED, 0, -1L);
                    silent.connection.get().reply(late, answer, 0, 8);
                    answer.set(JAVA_LONG_UNALIGNED, 0, next);
                    silent.connection.get().reply(next, answer, 0, 8);
                  });
      connection.request(word, 0, 8, 10 * SECOND_NS, reply);
      long answered = reply.memory().get(JAVA_LONG_UNALIGNED, 0);
      assertNotEquals(-1, answered, "round " + round);
      reply.close();
      answering.join();
    }
    eventually("late replies", () -> client.status().lateReplies() == 50);
  }

  /** The peer reads a request long after its deadline: it must see that one, not what came next. */
  @Test
  void theBufferOfATimedOutRequestIsNobodysWhileItTravels() {
    List<byte[]> seen = new ArrayList<>();
    Node server =
        closeLater(
            server(
                (connection, message) -> seen.add(message.payload().toArray(JAVA_BYTE)),
                Threading.INVOKER));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    byte[] first = pattern(4096, 1);
    RegisteredBuffer buffer = client.pool().allocate(4096);
    MemorySegment.copy(first, 0, buffer.segment(), JAVA_BYTE, 0, 4096);
    RequestFailedException failure =
        assertThrows(RequestFailedException.class, () -> connection.request(buffer, 100_000_000L));
    assertEquals(Cause.DEADLINE, failure.failure());
    assertTrue(buffer.isEmpty(), "it was sent, so it is the connection's");
    List<RegisteredBuffer> reused = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      reused.add(client.pool().allocate(4096));
      reused.getLast().segment().fill((byte) 0xEE);
    }
    while (seen.isEmpty()) {
      server.poll();
    }
    assertArrayEquals(first, seen.getFirst());
    reused.forEach(RegisteredBuffer::release);
  }

  @Test
  void aCancelledStageTellsThePeer() throws InterruptedException {
    Silent silent = new Silent();
    Node server = closeLater(server(silent, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    var cancelled = connection.requestAsync(text("a"), 0, 1, 60 * SECOND_NS).toCompletableFuture();
    var timedOut =
        connection
            .requestAsync(text("b"), 0, 1, 60 * SECOND_NS)
            .toCompletableFuture()
            .orTimeout(20, TimeUnit.MILLISECONDS);
    assertTrue(cancelled.cancel(true));
    assertThrows(CompletionException.class, timedOut::join);
    eventually("their places to be free", () -> connection.status().requestsOutstanding() == 0);
    eventually("both cancellations", () -> silent.cancelled.size() == 2);
    for (long id : silent.asked) {
      silent.connection.get().reply(id, text("late"), 0, 4);
    }
    eventually("both late replies", () -> client.status().lateReplies() == 2);
    assertTrue(cancelled.isCancelled());
    assertNothingKept(connection, client);
  }

  @Test
  void anInterruptedWaiterGivesItsRequestUp() throws InterruptedException {
    Silent silent = new Silent();
    Node server = closeLater(server(silent, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    AtomicReference<Object> outcome = new AtomicReference<>();
    Thread waiter =
        Thread.ofVirtual()
            .start(
                () -> {
                  try (Reply reply = connection.request(text("x"), 0, 1, 60 * SECOND_NS)) {
                    outcome.set(reply);
                  } catch (RequestFailedException e) {
                    outcome.set(Thread.currentThread().isInterrupted() ? e.failure() : e);
                  }
                });
    eventually("the request", () -> !silent.asked.isEmpty());
    waiter.interrupt();
    waiter.join();
    assertEquals(Cause.CANCELLED, outcome.get());
    eventually("the cancellation", () -> silent.cancelled.size() == 1);
    assertEquals(0, connection.status().requestsOutstanding());
  }

  @Test
  void theWindowBoundsOutstandingRequests() throws InterruptedException {
    Silent silent = new Silent();
    Node server = closeLater(server(silent, Threading.DEDICATED));
    Node client = closeLater(Node.start(configure(NodeConfig.builder()).requestWindow(4).build()));
    Connection connection = client.connect(at(server), new Mailbox());
    Ends ends = new Ends(5);
    long[] ids = new long[4];
    for (int i = 0; i < 4; i++) {
      ids[i] = connection.request(text("x"), 0, 1, 60 * SECOND_NS, i, ends);
      assertTrue(ids[i] > 0);
    }
    assertEquals(4, connection.status().requestsOutstanding());
    assertEquals(
        SendResult.WINDOW_FULL, connection.request(text("x"), 0, 1, 60 * SECOND_NS, 4, ends));
    assertEquals(
        Cause.WINDOW_FULL,
        causeOf(connection.requestAsync(text("x"), 0, 1, SECOND_NS).toCompletableFuture()));
    RequestFailedException waited =
        assertThrows(
            RequestFailedException.class, () -> connection.request(text("x"), 0, 1, 30_000_000L));
    assertEquals(Cause.WINDOW_FULL, waited.failure());
    Thread waiter =
        Thread.ofVirtual().start(() -> connection.request(text("y"), 0, 1, 60 * SECOND_NS).close());
    Thread.sleep(20);
    assertEquals(4, silent.asked.size(), "nothing beyond the window was sent");
    assertTrue(connection.cancel(ids[2]));
    assertFalse(connection.cancel(ids[2]), "once");
    eventually("the waiter's request", () -> silent.asked.size() == 5);
    long last = List.copyOf(silent.asked).getLast();
    silent.connection.get().reply(last, text(""), 0, 0);
    waiter.join(10_000);
    assertFalse(waiter.isAlive());
    connection.close();
    for (int i = 0; i < 4; i++) {
      assertEquals(1, ends.count.get(i), "request " + i);
    }
    assertEquals(0, ends.count.get(4), "one that was refused hears nothing");
  }

  @Test
  void thousandsOfVirtualThreadsMayWait() throws InterruptedException {
    int threads = 4000;
    Node server = closeLater(server(new PatientEcho(), Threading.DEDICATED));
    Node client = closeLater(Node.start(configure(NodeConfig.builder()).requestWindow(64).build()));
    Connection connection = client.connect(at(server), new Mailbox());
    AtomicInteger right = new AtomicInteger();
    List<Thread> all = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      long number = i;
      all.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    MemorySegment asked = MemorySegment.ofArray(new byte[8]);
                    asked.set(JAVA_LONG_UNALIGNED, 0, number);
                    try (Reply reply = connection.request(asked, 0, 8, 60 * SECOND_NS)) {
                      if (reply.memory().get(JAVA_LONG_UNALIGNED, 0) == number) {
                        right.incrementAndGet();
                      }
                    }
                  }));
    }
    for (Thread thread : all) {
      thread.join();
    }
    assertEquals(threads, right.get());
    assertEquals(0, connection.status().requestsOutstanding());
    assertNothingKept(connection, client);
  }

  @Test
  void aPeerThatFailsSaysSo() {
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  if (message.lengthBytes() == 1) {
                    message.fail("no such table");
                  } else {
                    throw new IllegalStateException("thrown on purpose by this test");
                  }
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    for (int length = 1; length <= 2; length++) {
      int lengthBytes = length;
      RequestFailedException failure =
          assertThrows(
              RequestFailedException.class,
              () -> connection.request(text("xx"), 0, lengthBytes, 10 * SECOND_NS));
      assertEquals(Cause.PEER_FAILED, failure.failure());
      String expected = length == 1 ? "no such table" : IllegalStateException.class.getName();
      assertTrue(String.valueOf(failure.getMessage()).contains(expected), failure.toString());
    }
  }

  /** A server that misbehaves in every way, requesters that give up, and an end in the middle. */
  @Test
  void everyRequestEndsExactlyOnce() throws InterruptedException {
    long seed = Long.getLong("seed", System.nanoTime());
    SplittableRandom serverRandom = new SplittableRandom(seed);
    List<Long> held = new ArrayList<>();
    MemorySegment word = MemorySegment.ofArray(new byte[8]);
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  word.set(
                      JAVA_LONG_UNALIGNED,
                      0,
                      message.memory().get(JAVA_LONG_UNALIGNED, message.offset()));
                  switch (serverRandom.nextInt(8)) {
                    case 0 -> held.add(message.correlationId());
                    case 1 -> message.fail("no");
                    case 2 -> {
                      message.reply(word, 0, 8);
                      message.reply(word, 0, 8);
                    }
                    case 3 -> {
                      message.reply(word, 0, 8);
                      connection.fail(message.correlationId(), "after all");
                    }
                    case 4 -> {
                      for (long id : held) {
                        connection.reply(id, word, 0, 8);
                      }
                      held.clear();
                    }
                    case 5 -> connection.reply(serverRandom.nextLong(), word, 0, 8);
                    default -> message.reply(word, 0, 8);
                  }
                },
                Threading.DEDICATED));
    Node client = closeLater(Node.start(configure(NodeConfig.builder()).requestWindow(32).build()));
    Connection connection = client.connect(at(server), new Mailbox());
    int requests = 20_000;
    Ends ends = new Ends(requests);
    boolean[] taken = new boolean[requests];
    SplittableRandom random = new SplittableRandom(seed + 1);
    MemorySegment asked = MemorySegment.ofArray(new byte[8]);
    for (int i = 0; i < requests; i++) {
      asked.set(JAVA_LONG_UNALIGNED, 0, (long) i);
      long timeoutNs = random.nextInt(4) == 0 ? random.nextLong(2_000_000) : 20_000_000;
      long id = connection.request(asked, 0, 8, timeoutNs, i, ends);
      taken[i] = id >= 0;
      if (id > 0 && random.nextInt(10) == 0) {
        connection.cancel(id);
      }
    }
    connection.close();
    int ended = 0;
    for (int i = 0; i < requests; i++) {
      assertEquals(taken[i] ? 1 : 0, ends.count.get(i), "request " + i + ", seed " + seed);
      ended += ends.count.get(i);
    }
    assertTrue(ended > 0, "none was taken, seed " + seed);
    assertEquals(0, connection.status().requestsOutstanding());
    assertNothingKept(connection, client);
  }

  @Test
  void aHandlerMustNotWaitForItsOwnPoller() throws InterruptedException {
    // A reply that is there before the continuation is would run it on this thread.
    CountDownLatch attached = new CountDownLatch(1);
    ConnectionHandler answersLate =
        (connection, message) -> {
          awaitQuietly(attached);
          message.reply(text("pong"), 0, 4);
        };
    Node server = closeLater(server(answersLate, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    CompletableFuture<Object> outcome =
        connection
            .requestAsync(text("x"), 0, 1, 60 * SECOND_NS)
            .toCompletableFuture()
            .handle(
                (reply, failure) -> {
                  if (reply != null) {
                    reply.close();
                  }
                  return assertThrows(
                      IllegalStateException.class,
                      () -> connection.request(text("y"), 0, 1, SECOND_NS));
                });
    attached.countDown();
    Object refusal = outcome.orTimeout(60, TimeUnit.SECONDS).join();
    assertInstanceOf(IllegalStateException.class, refusal);
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** Both ends in one thread, so that all garbage is counted: sixteen requests at a time. */
  @Test
  void noGarbagePerRequestWithAHandler() {
    Node server =
        closeLater(
            server(
                (connection, message) ->
                    message.reply(message.memory(), message.offset(), message.lengthBytes()),
                Threading.INVOKER));
    Node client = closeLater(client(Threading.INVOKER));
    Connection connection = client.connect(at(server), new Mailbox());
    int[] answered = new int[1];
    ReplyHandler handler =
        new ReplyHandler() {
          @Override
          public void onReply(long context, Message reply) {
            answered[0] += reply.memory().get(JAVA_INT_UNALIGNED, reply.offset());
          }

          @Override
          public void onFailure(long context, Cause cause, String message) {
            throw new AssertionError(message);
          }
        };
    MemorySegment one = MemorySegment.ofArray(new byte[64]);
    one.set(JAVA_INT_UNALIGNED, 0, 1);
    Runnable sixteen =
        () -> {
          int until = answered[0] + 16;
          for (int i = 0; i < 16; i++) {
            while (connection.request(one, 0, 64, 60 * SECOND_NS, i, handler) < 0) {
              server.poll();
              client.poll();
            }
          }
          while (answered[0] != until) {
            server.poll();
            client.poll();
          }
        };
    double perRequest = AllocationMeter.bytesPerOperation(5_000, 5_000, sixteen) / 16;
    System.out.printf("%s: %.4f bytes of garbage per request with handler%n", path(), perRequest);
    assertTrue(perRequest < AllocationMeter.NONE, perRequest + " bytes per request");
  }

  @Test
  void noGarbagePerRequestThatWaits() {
    Node server =
        closeLater(
            server(
                (connection, message) ->
                    message.reply(message.memory(), message.offset(), message.lengthBytes()),
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.INVOKER));
    Connection connection = client.connect(at(server), new Mailbox());
    Reply reply = connection.newReply();
    MemorySegment source = MemorySegment.ofArray(new byte[64]);
    Runnable request =
        () -> {
          connection.request(source, 0, 64, 60 * SECOND_NS, reply);
          reply.close();
        };
    double perRequest = AllocationMeter.bytesPerOperation(3_000, 2_000, request);
    System.out.printf("%s: %.4f bytes of garbage per waiting request%n", path(), perRequest);
    assertTrue(perRequest < AllocationMeter.NONE, perRequest + " bytes per request");
  }
}
