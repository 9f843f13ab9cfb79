package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests and replies: each request gets its own reply, or the reason why there is none. */
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
