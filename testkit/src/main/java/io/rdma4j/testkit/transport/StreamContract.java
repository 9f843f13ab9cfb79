package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.Reply;
import io.rdma4j.transport.ReplyParts;
import io.rdma4j.transport.ReplyStream;
import io.rdma4j.transport.RequestFailedException;
import io.rdma4j.transport.RequestFailedException.Cause;
import io.rdma4j.transport.StreamHandler;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Answers in parts: flow-controlled, in order, ended or failed exactly once. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class StreamContract extends TransportFixture {
  /** Creates the suite. */
  protected StreamContract() {}

  /** A server that hands its open answers to the test. */
  private static final class Opener implements ConnectionHandler {
    final BlockingQueue<ReplyStream> streams = new LinkedBlockingQueue<>();

    @Override
    public void onMessage(Connection connection, Message message) {
      streams.add(message.openReplyStream());
    }

    ReplyStream take() throws InterruptedException {
      ReplyStream stream = streams.poll(10, TimeUnit.SECONDS);
      if (stream == null) {
        throw new AssertionError("no request within 10 s");
      }
      return stream;
    }
  }

  /** Counts what it hears; grants nothing by itself. */
  private static final class Counter implements StreamHandler {
    final AtomicLong next = new AtomicLong();
    final AtomicInteger outOfOrder = new AtomicInteger();
    final AtomicInteger ends = new AtomicInteger();
    final Queue<Cause> causes = new ConcurrentLinkedQueue<>();

    @Override
    public void onPart(long context, long requestId, Message part) {
      if (part.memory().get(JAVA_LONG_UNALIGNED, part.offset()) != next.getAndIncrement()) {
        outOfOrder.incrementAndGet();
      }
    }

    @Override
    public void onReply(long context, Message reply) {
      ends.incrementAndGet();
    }

    @Override
    public void onFailure(long context, Cause cause, String message) {
      causes.add(cause);
      ends.incrementAndGet();
    }
  }

  private static MemorySegment number(long value) {
    MemorySegment word = MemorySegment.ofArray(new byte[8]);
    word.set(JAVA_LONG_UNALIGNED, 0, value);
    return word;
  }

  private static long sendAllGranted(ReplyStream stream, long first) {
    long next = first;
    while (stream.send(number(next), 0, 8) >= 0) {
      next++;
    }
    return next;
  }

  @Test
  void noMorePartsComeThanWereGranted() throws InterruptedException {
    Opener opener = new Opener();
    Node server = closeLater(server(opener, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    Counter counter = new Counter();
    long id = connection.requestStream(text("x"), 0, 1, 60 * SECOND_NS, 5, 0, counter);
    assertTrue(id > 0);
    ReplyStream stream = opener.take();
    AtomicLong sent = new AtomicLong();
    eventually("five parts", () -> sent.updateAndGet(from -> sendAllGranted(stream, from)) == 5);
    assertEquals(SendResult.BACK_PRESSURED, stream.send(number(5), 0, 8));
    assertEquals(SendResult.BACK_PRESSURED, stream.send(number(5), 0, 8, 20_000_000L));
    eventually("delivery", () -> counter.next.get() == 5);
    AtomicInteger ready = new AtomicInteger();
    stream.whenReady(ready::incrementAndGet);
    assertEquals(0, ready.get());
    connection.grant(id, 3);
    eventually("the callback", () -> ready.get() == 1);
    eventually("eight parts", () -> sent.updateAndGet(from -> sendAllGranted(stream, from)) == 8);
    assertTrue(stream.end(number(0), 0, 0) >= 0, "the end needs no grant");
    assertThrows(IllegalStateException.class, () -> stream.send(number(8), 0, 8));
    assertThrows(IllegalStateException.class, () -> stream.end(number(8), 0, 8));
    eventually("the end", () -> counter.ends.get() == 1);
    assertEquals(8, counter.next.get());
    assertEquals(0, counter.outOfOrder.get());
    assertFalse(connection.cancel(id), "it has ended");
    assertEquals(0, connection.status().requestsOutstanding());
    assertThrows(
        IllegalArgumentException.class,
        () -> connection.requestStream(text("x"), 0, 1, SECOND_NS, 0, 0, counter));
  }

  @Test
  void aThreadReadsAllParts() throws InterruptedException {
    Opener opener = new Opener();
    Node server = closeLater(server(opener, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    int parts = 5_000;
    Thread answering =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    ReplyStream stream = opener.take();
                    for (long i = 0; i < parts; i++) {
                      if (stream.send(number(i), 0, 8, 30 * SECOND_NS) < 0) {
                        return;
                      }
                    }
                    while (stream.end(number(parts), 0, 8) == SendResult.BACK_PRESSURED) {
                      Thread.onSpinWait();
                    }
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    try (ReplyParts answer = connection.requestStream(text("x"), 0, 1, 60 * SECOND_NS, 8)) {
      Reply part = connection.newReply();
      long next = 0;
      while (answer.next(part)) {
        assertEquals(next++, part.memory().get(JAVA_LONG_UNALIGNED, 0));
        part.close();
      }
      assertEquals(parts + 1, next, "the last payload counts");
      assertFalse(answer.next(part), "and stays at its end");
    }
    answering.join();
    assertNothingKept(connection, client);
  }

  @Test
  void aFailureComesAfterThePartsBeforeIt() throws InterruptedException {
    Opener opener = new Opener();
    Node server = closeLater(server(opener, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    try (ReplyParts answer = connection.requestStream(text("x"), 0, 1, 60 * SECOND_NS, 4)) {
      ReplyStream stream = opener.take();
      assertTrue(stream.send(number(0), 0, 8, 10 * SECOND_NS) >= 0);
      assertTrue(stream.send(number(1), 0, 8, 10 * SECOND_NS) >= 0);
      assertTrue(stream.fail("disk gone") >= 0);
      Reply part = connection.newReply();
      assertTrue(answer.next(part));
      part.close();
      assertTrue(answer.next(part));
      part.close();
      RequestFailedException failure =
          assertThrows(RequestFailedException.class, () -> answer.next(part));
      assertEquals(Cause.PEER_FAILED, failure.failure());
      assertTrue(String.valueOf(failure.getMessage()).contains("disk gone"));
    }
    assertNothingKept(connection, client);
  }

  @Test
  void whoeverGivesUpStopsTheOther() throws InterruptedException {
    Opener opener = new Opener();
    Node server = closeLater(server(opener, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    ReplyStream closedEarly;
    try (ReplyParts answer = connection.requestStream(text("x"), 0, 1, 60 * SECOND_NS, 4)) {
      closedEarly = opener.take();
      assertTrue(closedEarly.send(number(0), 0, 8, 10 * SECOND_NS) >= 0);
      try (Reply part = connection.newReply()) {
        assertTrue(answer.next(part));
      }
      assertTrue(closedEarly.send(number(1), 0, 8, 10 * SECOND_NS) >= 0);
    }
    eventually("the cancellation", closedEarly::isCancelled);
    assertEquals(SendResult.CANCELLED, closedEarly.send(number(2), 0, 8));
    assertEquals(SendResult.CANCELLED, closedEarly.end(number(2), 0, 8));
    Counter counter = new Counter();
    connection.requestStream(text("x"), 0, 1, 50_000_000L, 4, 0, counter);
    ReplyStream late = opener.take();
    long[] waited = {SendResult.OK};
    Thread waiter =
        Thread.ofVirtual()
            .start(
                () -> {
                  do {
                    waited[0] = late.send(number(0), 0, 8, 60 * SECOND_NS);
                  } while (waited[0] >= 0);
                });
    eventually("the deadline", () -> counter.ends.get() == 1);
    assertEquals(Cause.DEADLINE, counter.causes.peek());
    waiter.join(10_000);
    assertEquals(SendResult.CANCELLED, waited[0], "a waiting answerer is woken");
    assertNothingKept(connection, client);
  }

  @Test
  void theEndOfTheConnectionEndsBothSides() throws InterruptedException {
    Opener opener = new Opener();
    Node server = closeLater(server(opener, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    Counter counter = new Counter();
    connection.requestStream(text("x"), 0, 1, 60 * SECOND_NS, 4, 0, counter);
    ReplyStream stream = opener.take();
    AtomicInteger ready = new AtomicInteger();
    eventually("four parts", () -> sendAllGranted(stream, 0) >= 0 && counter.next.get() == 4);
    stream.whenReady(ready::incrementAndGet);
    connection.close();
    assertEquals(1, counter.ends.get());
    assertEquals(Cause.DISCONNECTED, counter.causes.peek());
    eventually("the answerer's end", () -> stream.isCancelled() && ready.get() == 1);
  }

  @Test
  void aPlainRequestTakesNoParts() {
    Node server =
        closeLater(server((connection, message) -> message.openReplyStream(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RequestFailedException failure =
        assertThrows(
            RequestFailedException.class,
            () -> connection.request(text("x"), 0, 1, 10 * SECOND_NS));
    assertEquals(Cause.PEER_FAILED, failure.failure());
  }

  /** Cancelled from inside its own part: ended once, behind that part. */
  @Test
  void aHandlerMayCancelItsOwnStream() throws InterruptedException {
    Opener opener = new Opener();
    Node server = closeLater(server(opener, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    List<String> heard = new CopyOnWriteArrayList<>();
    connection.requestStream(
        text("x"),
        0,
        1,
        60 * SECOND_NS,
        4,
        0,
        new StreamHandler() {
          @Override
          public void onPart(long context, long requestId, Message part) {
            heard.add("part(");
            connection.cancel(requestId);
            heard.add(")");
          }

          @Override
          public void onReply(long context, Message reply) {
            heard.add("reply");
          }

          @Override
          public void onFailure(long context, Cause cause, String message) {
            heard.add(cause.name());
          }
        });
    ReplyStream stream = opener.take();
    assertTrue(stream.send(number(0), 0, 8, 10 * SECOND_NS) >= 0);
    eventually("the cancellation", stream::isCancelled);
    eventually("the end", () -> heard.contains("CANCELLED"));
    assertEquals(List.of("part(", ")", "CANCELLED"), heard);
    assertEquals(0, connection.status().requestsOutstanding());
  }

  /** Both ends in one thread, so that all garbage is counted. */
  @Test
  void noGarbagePerPart() {
    ReplyStream[] stream = new ReplyStream[1];
    Node server =
        closeLater(
            server(
                (connection, message) -> stream[0] = message.openReplyStream(), Threading.INVOKER));
    Node client = closeLater(client(Threading.INVOKER));
    Connection connection = client.connect(at(server), new Mailbox());
    long[] heard = new long[1];
    StreamHandler handler =
        new StreamHandler() {
          @Override
          public void onPart(long context, long requestId, Message part) {
            heard[0]++;
            connection.grant(requestId, 1);
          }

          @Override
          public void onReply(long context, Message reply) {}

          @Override
          public void onFailure(long context, Cause cause, String message) {}
        };
    connection.requestStream(text("x"), 0, 1, 3_600 * SECOND_NS, 4, 0, handler);
    MemorySegment payload = MemorySegment.ofArray(new byte[64]);
    while (stream[0] == null) {
      server.poll();
      client.poll();
    }
    Runnable part =
        () -> {
          long before = heard[0];
          while (stream[0].send(payload, 0, 64) < 0) {
            server.poll();
            client.poll();
          }
          while (heard[0] == before) {
            client.poll();
            server.poll();
          }
        };
    double perPart = AllocationMeter.bytesPerOperation(30_000, 20_000, part);
    System.out.printf("%s: %.4f bytes of garbage per part%n", path(), perPart);
    assertTrue(perPart < AllocationMeter.NONE, perPart + " bytes per part");
  }
}
