package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class LargeDemandTest {
  private static final long SIZE = 1 << 20;
  private static final long WINDOW_NS = 1000;
  private static final long START_NS = Long.MAX_VALUE - 10;

  private final LargeDemand demand = new LargeDemand(WINDOW_NS);

  private boolean note(long nowNs) {
    return demand.note(SIZE, false, START_NS + nowNs);
  }

  @Test
  void theFourthOfAThreadIsEnough() {
    assertFalse(note(0));
    assertFalse(note(1));
    assertFalse(note(2));
    assertTrue(note(3));
  }

  @Test
  void onceUntilItIsThere() {
    for (int i = 0; i < 4; i++) {
      assertEquals(i == 3, note(i));
    }
    assertFalse(note(4));
    AtomicBoolean isExpanding = new AtomicBoolean(true);
    demand.expanding(SIZE, isExpanding::get);
    assertFalse(note(5));
    isExpanding.set(false);
    assertTrue(note(6));
  }

  @Test
  void aSpareIsEnough() {
    for (int i = 0; i < 8; i++) {
      assertFalse(demand.note(SIZE, true, START_NS + i));
    }
    assertTrue(note(9));
  }

  @Test
  void noMoreThanWereEverInUse() {
    for (int i = 0; i < 4; i++) {
      note(i);
    }
    demand.expanding(SIZE, () -> false);
    for (int i = 0; i < 10; i++) {
      demand.released(SIZE);
      assertFalse(note(10 + i));
    }
    assertTrue(note(30));
  }

  @Test
  void afterATrimDemandMayRiseAgain() {
    for (int i = 0; i < 4; i++) {
      note(i);
    }
    demand.expanding(SIZE, () -> false);
    for (int i = 0; i < 4; i++) {
      demand.released(SIZE);
    }
    demand.settle();
    // Recent enough still.
    assertTrue(note(5));
  }

  @Test
  void oldRequestsAreForgotten() {
    for (int i = 0; i < 10; i++) {
      assertFalse(note(i * (LargeDemand.WINDOWS * WINDOW_NS / 2)));
    }
  }

  @Test
  void sizesAreToldApart() {
    for (int i = 0; i < 3; i++) {
      assertFalse(note(i));
      assertFalse(demand.note(2 * SIZE, false, START_NS + i));
    }
    assertTrue(note(4));
  }

  @Test
  void smallRequestsAreNotRemembered() {
    for (int i = 0; i < 10; i++) {
      assertFalse(demand.note(LargeDemand.SMALLEST_BYTES, false, START_NS));
    }
    demand.released(LargeDemand.SMALLEST_BYTES);
  }

  /** More threads than places, so some share one. */
  @Test
  void threadsAreToldApart() throws Exception {
    List<Boolean> outcomes = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      Thread thread = Thread.ofPlatform().start(() -> outcomes.add(note(0)));
      thread.join();
    }
    assertFalse(outcomes.contains(true));
  }

  @Test
  void virtualThreadsCountAsOne() throws Exception {
    List<Boolean> outcomes = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Thread.ofVirtual().start(() -> outcomes.add(note(0))).join();
    }
    assertEquals(List.of(false, false, false, true), outcomes);
  }
}
