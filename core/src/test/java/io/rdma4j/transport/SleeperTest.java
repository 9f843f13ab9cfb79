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
    Sleeper asking = new Sleeper(() -> answered == asked);
    Sleeper answering = new Sleeper(() -> asked > answered);
    Thread other =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int round = 1; round <= ROUNDS; round++) {
                    while (asked < round) {
                      answering.sleep();
                    }
                    answered = round;
                    asking.wake();
                  }
                });
    for (int round = 1; round <= ROUNDS; round++) {
      asked = round;
      answering.wake();
      while (answered < round) {
        asking.sleep();
      }
    }
    other.join();
    assertEquals(ROUNDS, answered);
  }

  @Test
  void anInterruptEndsTheSleepAndIsKept() {
    Thread.currentThread().interrupt();
    new Sleeper(() -> false).sleep();
    assertTrue(Thread.interrupted());
    assertFalse(Thread.currentThread().isInterrupted());
  }
}
