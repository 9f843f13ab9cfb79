package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class BackoffTest {
  private static final int CLIENTS = 100;

  /**
   * All clients lose their server at 0, and it takes connections again from second 9 on. In step,
   * hundred of them would come within one tenth of a second.
   */
  @Test
  void hundredClientsDoNotComeBackInStep() {
    long seed = Long.getLong("seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    int[] attemptsPerTenth = new int[400];
    double lastSeconds = 0;
    for (int client = 0; client < CLIENTS; client++) {
      Backoff backoff =
          new Backoff(TimeUnit.SECONDS.toNanos(1), TimeUnit.SECONDS.toNanos(8), random.split());
      double atSeconds = 0;
      do {
        atSeconds += backoff.nextDelayNs() / 1e9;
        attemptsPerTenth[(int) (atSeconds * 10)]++;
      } while (atSeconds < 9);
      lastSeconds = Math.max(lastSeconds, atSeconds);
    }
    for (int tenth = 5; tenth < attemptsPerTenth.length; tenth++) {
      assertTrue(
          attemptsPerTenth[tenth] <= 40,
          attemptsPerTenth[tenth] + " attempts at " + tenth + " tenths; seed " + seed);
    }
    assertTrue(lastSeconds <= 30, "the last one came at " + lastSeconds + " s; seed " + seed);
  }

  @Test
  void theBoundDoublesUpToTheCapAndStartsAnewAfterASuccess() {
    // Always the largest value allowed.
    Backoff backoff =
        new Backoff(
            100,
            1000,
            new java.util.random.RandomGenerator() {
              @Override
              public long nextLong() {
                throw new UnsupportedOperationException();
              }

              @Override
              public long nextLong(long bound) {
                return bound - 1;
              }
            });
    for (long expected : new long[] {100, 200, 400, 800, 1000, 1000}) {
      assertEquals(expected, backoff.nextDelayNs());
    }
    backoff.reset();
    assertEquals(100, backoff.nextDelayNs());
    Backoff endless = new Backoff(1, Long.MAX_VALUE / 2, new SplittableRandom(1));
    for (int i = 0; i < 200; i++) {
      assertTrue(endless.nextDelayNs() >= 0);
    }
  }
}
