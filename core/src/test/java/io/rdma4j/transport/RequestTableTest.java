package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class RequestTableTest {
  /** Writes down what it hears. */
  private static class Log implements StreamHandler {
    final List<String> heard = new ArrayList<>();
    @Nullable Runnable duringPart;

    @Override
    public void onPart(long context, long requestId, Message part) {
      heard.add("part " + context);
      if (duringPart != null) {
        duringPart.run();
      }
    }

    @Override
    public void onReply(long context, Message reply) {
      heard.add("reply " + context);
    }

    @Override
    public void onFailure(long context, Cause cause, String message) {
      heard.add(cause + " " + context);
    }
  }

  private static final ReplyHandler NOBODY =
      new ReplyHandler() {
        @Override
        public void onReply(long context, Message reply) {}

        @Override
        public void onFailure(long context, Cause cause, String message) {}
      };

  private final Log log = new Log();

  // Only views of a message are handed on here; no test of this class reads one.
  @SuppressWarnings("NullAway")
  private final Message message = new Message(null);

  @Test
  void theWindowIsExact() {
    RequestTable table = new RequestTable(3, new RequestTimes(NanoClock.SYSTEM));
    Set<Long> ids = new HashSet<>();
    for (int i = 0; i < 3; i++) {
      assertTrue(ids.add(table.open(0, i, log)));
    }
    assertTrue(table.isFull());
    assertEquals(SendResult.WINDOW_FULL, table.open(0, 3, log));
    assertEquals(3, table.size());
    long one = ids.iterator().next();
    assertTrue(table.complete(one, message));
    assertFalse(table.isFull());
    long next = table.open(0, 4, log);
    assertTrue(next > 0);
    assertNotEquals(one, next, "an id never comes again");
    assertFalse(table.complete(one, message), "a late reply of the slot's last request");
    assertEquals(3, table.size());
  }

  @Test
  void idsThatAPeerMadeUpMeetNobody() {
    RequestTable table = new RequestTable(4, new RequestTimes(NanoClock.SYSTEM));
    long id = table.open(0, 1, log);
    long[] madeUp = {
      0, -1, Long.MIN_VALUE, Long.MAX_VALUE, id + 1, id - 1, id + (1L << 16), id + (1L << 62), 4, 77
    };
    for (long other : madeUp) {
      assertFalse(table.complete(other, message), "id " + other);
      assertFalse(table.deliver(other, message), "id " + other);
      assertFalse(table.fail(other, Cause.PEER_FAILED, ""), "id " + other);
      assertFalse(table.giveUp(other, Cause.CANCELLED), "id " + other);
    }
    assertEquals(List.of(), log.heard);
    assertTrue(table.complete(id, message));
  }

  @Test
  void whoGivesUpDuringAPartIsHeardBehindIt() {
    RequestTable table = new RequestTable(1, new RequestTimes(NanoClock.SYSTEM));
    long id = table.open(0, 7, log);
    log.duringPart =
        () -> {
          assertTrue(table.giveUp(id, Cause.DEADLINE));
          assertFalse(table.giveUp(id, Cause.CANCELLED), "the first one counts");
          assertFalse(table.withdraw(id));
        };
    assertTrue(table.deliver(id, message));
    assertEquals(List.of("part 7", "DEADLINE 7"), log.heard);
    assertFalse(table.complete(id, message));
    assertFalse(table.isFull());
  }

  @Test
  void deadlinesEndWhatTheyConcern() {
    RequestTable table = new RequestTable(4, new RequestTimes(NanoClock.SYSTEM));
    long early = table.open(100, 1, log);
    long late = table.open(200, 2, log);
    List<Long> expired = new ArrayList<>();
    table.expire(99, expired::add);
    assertEquals(List.of(), expired);
    table.expire(100, expired::add);
    table.expire(150, expired::add);
    assertEquals(List.of(early), expired);
    assertEquals(List.of("DEADLINE 1"), log.heard);
    table.failAll("the test is over");
    assertEquals(List.of("DEADLINE 1", "DISCONNECTED 2"), log.heard);
    assertFalse(table.complete(late, message));
    assertEquals(0, table.size());
  }

  @Test
  void aRequestThatWasNotSentHearsNothing() {
    RequestTable table = new RequestTable(1, new RequestTimes(NanoClock.SYSTEM));
    for (int i = 0; i < 100; i++) {
      assertTrue(table.withdraw(table.open(0, i, log)));
    }
    assertEquals(List.of(), log.heard);
    assertEquals(0, table.size());
  }

  @Test
  void partsForAPlainRequestAreRefused() {
    RequestTable table = new RequestTable(1, new RequestTimes(NanoClock.SYSTEM));
    long id = table.open(0, 1, NOBODY);
    assertFalse(table.deliver(id, message));
    assertTrue(table.complete(id, message), "and change nothing");
  }

  /** Threads open, a poller completes, another cancels: each request is ended by one of them. */
  @Test
  void eachRequestEndsOnceUnderConcurrency() throws InterruptedException {
    RequestTable table = new RequestTable(8, new RequestTimes(NanoClock.SYSTEM));
    int threads = 3;
    int each = 30_000;
    AtomicIntegerArray ends = new AtomicIntegerArray(threads * each);
    long[] open = new long[threads];
    var slot = java.lang.invoke.MethodHandles.arrayElementVarHandle(long[].class);
    ReplyHandler counter =
        new ReplyHandler() {
          @Override
          public void onReply(long context, Message reply) {
            ends.incrementAndGet((int) context);
          }

          @Override
          public void onFailure(long context, Cause cause, String text) {
            ends.incrementAndGet((int) context);
          }
        };
    List<Thread> openers = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int thread = t;
      openers.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    for (int i = 0; i < each; i++) {
                      int context = thread * each + i;
                      long id;
                      while ((id = table.open(Long.MAX_VALUE / 2, context, counter)) < 0) {
                        Thread.onSpinWait();
                      }
                      slot.setVolatile(open, thread, id);
                      if (i % 3 == 0) {
                        table.giveUp(id, Cause.CANCELLED);
                      } else {
                        table.complete(id, message);
                      }
                    }
                  }));
    }
    Thread ending =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!Thread.currentThread().isInterrupted()) {
                    for (int t = 0; t < threads; t++) {
                      table.fail((long) slot.getVolatile(open, t), Cause.PEER_FAILED, "");
                    }
                  }
                });
    for (Thread opener : openers) {
      opener.join();
    }
    ending.interrupt();
    ending.join();
    for (int i = 0; i < threads * each; i++) {
      assertEquals(1, ends.get(i), "request " + i);
    }
    assertEquals(0, table.size());
    for (int i = 0; i < 8; i++) {
      assertTrue(table.open(0, 0, NOBODY) > 0, "no slot was lost");
    }
    assertTrue(table.isFull(), "and none came twice");
  }
}
