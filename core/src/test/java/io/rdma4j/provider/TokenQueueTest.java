package io.rdma4j.provider;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class TokenQueueTest {
  @Test
  void holdsExactlyItsCapacityAndKeepsTheOrder() {
    for (int capacity = 1; capacity <= 9; capacity++) {
      TokenQueue queue = new TokenQueue(capacity);
      for (int round = 0; round < 5; round++) {
        Recorder recorder = new Recorder();
        for (long token = 0; token < capacity; token++) {
          assertFalse(queue.isFull());
          assertTrue(queue.offer(token));
        }
        assertTrue(queue.isFull());
        assertFalse(queue.offer(99));
        assertEquals(capacity, queue.drain(recorder));
        assertEquals(0, queue.drain(recorder));
        for (int i = 0; i < capacity; i++) {
          assertEquals(i, recorder.tokens.get(i));
        }
      }
    }
  }

  @Test
  void refusesSizesItCannotHave() {
    for (int capacity : List.of(0, -1, Integer.MIN_VALUE, (1 << 24) + 1)) {
      assertThrows(IllegalArgumentException.class, () -> new TokenQueue(capacity));
    }
  }

  @Test
  void losesNothingBetweenTwoThreads() throws Exception {
    TokenQueue queue = new TokenQueue(7);
    long count = 200_000;
    var sender =
        new FutureTask<>(
            () -> {
              for (long token = 0; token < count; ) {
                if (queue.offer(token)) {
                  token++;
                } else {
                  LockSupport.parkNanos(1);
                }
              }
              return true;
            });
    Thread.ofPlatform().daemon().start(sender);
    InOrder inOrder = new InOrder();
    while (inOrder.next < count) {
      if (queue.drain(inOrder) == 0) {
        LockSupport.parkNanos(1);
      }
    }
    assertTrue(sender.get(10, TimeUnit.SECONDS));
  }

  private static final class InOrder implements EndpointListener {
    private long next;

    @Override
    public void onMessage(int type, long id, MemorySegment memory, long offset, int lengthBytes) {
      throw new AssertionError("a message from a token queue");
    }

    @Override
    public void onSent(long token) {
      assertEquals(next++, token);
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new AssertionError(cause);
    }
  }
}
