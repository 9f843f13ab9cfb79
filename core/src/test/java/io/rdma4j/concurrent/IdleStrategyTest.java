package io.rdma4j.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Spinning lasts as long as it has lately paid. */
final class IdleStrategyTest {
  private static final long MAX_SPIN_NS = 16_000;
  private static final long CYCLE_NS = 10;

  private long nowNs;

  /** Returns for how long an idle agent spins before it sleeps. */
  private long spinNs(IdleStrategy idle) {
    assertFalse(idle.idle(1));
    long startNs = nowNs;
    while (!idle.idle(0)) {
      nowNs += CYCLE_NS;
    }
    return nowNs - startNs;
  }

  private static void assertAbout(long expectedNs, long actualNs) {
    assertTrue(
        actualNs >= expectedNs && actualNs <= expectedNs + 20 * CYCLE_NS,
        () -> "spun " + actualNs + " ns, expected " + expectedNs);
  }

  @Test
  void theBudgetFollowsTheSleeps() {
    IdleStrategy idle = IdleStrategy.spinThenSleep(() -> nowNs, MAX_SPIN_NS);
    assertAbout(MAX_SPIN_NS, spinNs(idle));
    idle.slept(MAX_SPIN_NS + 1);
    assertAbout(MAX_SPIN_NS / 2, spinNs(idle));
    for (int i = 0; i < 20; i++) {
      idle.slept(1_000_000);
    }
    assertAbout(MAX_SPIN_NS / 16, spinNs(idle));
    idle.slept(MAX_SPIN_NS);
    assertAbout(MAX_SPIN_NS / 8, spinNs(idle));
    for (int i = 0; i < 20; i++) {
      idle.slept(10);
    }
    assertAbout(MAX_SPIN_NS, spinNs(idle));
  }

  @Test
  void afterASleepWithoutWorkItSleepsOnAtOnce() {
    IdleStrategy idle = IdleStrategy.spinThenSleep(() -> nowNs, MAX_SPIN_NS);
    spinNs(idle);
    assertTrue(idle.idle(0));
    assertTrue(idle.idle(0));
    assertFalse(idle.idle(3));
    assertFalse(idle.idle(0));
  }

  @Test
  void withoutABudgetItSleepsAtOnceAndBusySpinNeverDoes() {
    assertEquals(0, spinNs(IdleStrategy.spinThenSleep(() -> nowNs, 0)));
    IdleStrategy busy = IdleStrategy.busySpin();
    for (int i = 0; i < 10_000; i++) {
      assertFalse(busy.idle(0));
    }
    assertThrows(IllegalArgumentException.class, () -> IdleStrategy.spinThenSleep(() -> nowNs, -1));
  }
}
