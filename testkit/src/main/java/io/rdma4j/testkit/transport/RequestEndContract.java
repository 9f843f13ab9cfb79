package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.Reply;
import io.rdma4j.transport.ReplyHandler;
import io.rdma4j.transport.RequestFailedException;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * How requests end that get no reply, or too late a one: each exactly once, and nothing is kept.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class RequestEndContract extends TransportFixture {
  /** Creates the suite. */
  protected RequestEndContract() {}

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
}
