package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class SleeperTest {
  private static final int ROUNDS = 100_000;

  private volatile int asked;
  private volatile int answered;

  @Test
  void nobodySleepsThroughNews() throws InterruptedException {
    Sleeper asking = new Sleeper();
    Sleeper answering = new Sleeper();
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int round = 1; round <= ROUNDS; round++) {
                    while (asked < round) {
                      answering.sleepUnless(() -> asked > answered, Long.MAX_VALUE);
                    }
                    answered = round;
                    asking.wake();
                  }
                });
    for (int round = 1; round <= ROUNDS; round++) {
      asked = round;
      answering.wake();
      while (answered < round) {
        asking.sleepUnless(() -> answered == asked, Long.MAX_VALUE);
      }
    }
    other.join();
    assertEquals(ROUNDS, answered);
  }

  @Test
  void anInterruptEndsTheSleepAndIsKept() {
    Thread.currentThread().interrupt();
    new Sleeper().sleepUnless(() -> false, Long.MAX_VALUE);
    assertTrue(Thread.interrupted());
    assertFalse(Thread.currentThread().isInterrupted());
  }
}
