package io.rdma4j.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ShortLockTest {
  private static final int THREADS = 4;
  private static final int ROUNDS = 20_000;

  private final ShortLock lock = new ShortLock();
  private long guarded;

  @Test
  void letsOnePlatformThreadInAtATime() throws InterruptedException {
    assertCounts(Thread.ofPlatform());
  }

  @Test
  void letsOneVirtualThreadInAtATime() throws InterruptedException {
    assertCounts(Thread.ofVirtual());
  }

  private void assertCounts(Thread.Builder builder) throws InterruptedException {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      threads.add(builder.start(this::count));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals((long) THREADS * ROUNDS, guarded);
  }

  /** A plain read and write: without the lock some of them would be lost. */
  private void count() {
    for (int i = 0; i < ROUNDS; i++) {
      lock.lock();
      try {
        long before = guarded;
        if (i % 1_000 == 0) {
          LockSupport.parkNanos(50_000); // long enough for those who wait to nap
        }
        guarded = before + 1;
      } finally {
        lock.unlock();
      }
    }
  }

  @Test
  void refusesToWaitForItself() {
    lock.lock();
    assertTrue(lock.isHeldByCurrentThread());
    assertThrows(IllegalStateException.class, lock::lock);
    assertFalse(lock.tryLock());
    lock.unlock();
    assertFalse(lock.isHeldByCurrentThread());
    assertTrue(lock.tryLock());
    lock.unlock();
  }

  @Test
  void isHeldByItsTakerAlone() throws InterruptedException {
    lock.lock();
    AtomicBoolean seen = new AtomicBoolean(true);
    Thread other = Thread.ofPlatform().start(() -> seen.set(lock.isHeldByCurrentThread()));
    other.join();
    assertFalse(seen.get());
    lock.unlock();
  }
}
