package io.rdma4j.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who wants a reading gets one soon, however slow its source is. */
@Timeout(60)
final class SlowReadingTest {
  private static final long HOUR_NS = 3_600_000_000_000L;

  private final Semaphore answers = new Semaphore(0);
  private final AtomicInteger readings = new AtomicInteger();
  private final SlowReading<Integer> slow =
      new SlowReading<>("test-reading", this::read, HOUR_NS, 0);

  private int read() {
    int number = readings.incrementAndGet();
    answers.acquireUninterruptibly();
    if (number == 3) {
      throw new IllegalStateException("no third answer");
    }
    return number;
  }

  private void await(int wanted) throws InterruptedException {
    while (slow.get() != wanted) {
      Thread.sleep(1);
    }
  }

  @Test
  void anAnswerThatIsLateIsHadByThoseWhoAskLater() throws Exception {
    assertEquals(0, slow.get());
    assertEquals(0, slow.get());
    assertEquals(1, readings.get(), "one reading at a time");
    answers.release();
    await(1);
    assertEquals(1, slow.get());
    assertEquals(1, readings.get(), "a reading that is good");
  }

  @Test
  void whatIsOutdatedIsReadAnewAndAFailureIsTold() throws Exception {
    answers.release(2);
    await(1);
    slow.outdate(0);
    await(2);
    slow.outdate(0);
    assertEquals(2, slow.get(), "the last answer while the next one is waited for");
    answers.release();
    IllegalStateException failure =
        assertThrows(IllegalStateException.class, () -> await(Integer.MAX_VALUE));
    assertTrue(failure.toString().contains("no third answer"), failure::toString);
  }
}
