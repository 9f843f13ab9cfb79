package io.rdma4j.testkit;

import io.rdma4j.concurrent.NanoClock;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A clock that stands still until the test moves it.
 *
 * <p>Safe for use by several threads.
 */
public final class ManualClock implements NanoClock {
  private final AtomicLong nowNs;

  /** Creates a clock that stands shortly before the values overflow, as the real one may. */
  public ManualClock() {
    this(Long.MAX_VALUE - Duration.ofSeconds(1).toNanos());
  }

  /** Creates a clock that stands at {@code nowNs}. */
  public ManualClock(long nowNs) {
    this.nowNs = new AtomicLong(nowNs);
  }

  @Override
  public long nanoTime() {
    return nowNs.get();
  }

  /** Moves the clock on. */
  public void advance(Duration step) {
    if (step.isNegative()) {
      throw new IllegalArgumentException("time does not go back: " + step);
    }
    nowNs.addAndGet(step.toNanos());
  }
}
