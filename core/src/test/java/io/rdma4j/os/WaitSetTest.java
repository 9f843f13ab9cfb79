package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A sleep ends by its time or by a wake-up, also one that came before. */
@Timeout(60)
final class WaitSetTest {
  private static final int LONG_MS = 30_000;

  @Test
  void aSleepEndsByItself() {
    try (var set = new WaitSet()) {
      assertFalse(set.await(1));
    }
  }

  @Test
  void aWakeUpEndsOneSleepAlsoWhenItCameBefore() {
    try (var set = new WaitSet()) {
      set.wakeUp();
      set.wakeUp();
      assertTrue(set.await(LONG_MS));
      assertFalse(set.await(1), "both ended the one sleep");
    }
  }

  @Test
  void aWakeUpFromAnotherThreadEndsTheSleep() throws InterruptedException {
    try (var set = new WaitSet()) {
      for (int i = 0; i < 100; i++) {
        Thread waker = Thread.ofPlatform().start(set::wakeUp);
        assertTrue(set.await(LONG_MS));
        waker.join();
        while (set.await(1)) {
          // The wake-up may have come in two: seen, then counted.
        }
      }
    }
  }

  @Test
  void anotherSetInItEndsTheSleep() {
    try (var inner = new WaitSet();
        var set = new WaitSet()) {
      set.add(inner.descriptor());
      assertFalse(set.await(1));
      inner.wakeUp();
      assertTrue(set.await(LONG_MS));
      assertTrue(inner.await(LONG_MS));
      assertFalse(set.await(1), "the inner one is quiet again");
    }
  }

  @Test
  void whatCanNotBeWaitedForIsRefused() {
    try (var set = new WaitSet()) {
      OsException refused = assertThrows(OsException.class, () -> set.add(1 << 20));
      assertTrue(String.valueOf(refused.getMessage()).contains("epoll_ctl"));
    }
  }

  @Test
  void aClosedSetTakesNoNotice() {
    var set = new WaitSet();
    set.close();
    set.wakeUp();
    set.close();
  }
}
