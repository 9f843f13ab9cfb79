package io.rdma4j.transport;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The one thread that sleeps until another has news for it. Who does not sleep is not woken: that
 * takes a lock of the virtual machine, which one who polls for the news has no use for.
 *
 * <p>One thread sleeps, any may wake it. Makes no garbage.
 */
final class Sleeper {
  private final BooleanSupplier news;
  private volatile @Nullable Thread thread;

  /**
   * Prepares it.
   *
   * @param news whether there is no need to sleep; reads a volatile field that is written before
   *     the call of {@link #wake}
   */
  Sleeper(BooleanSupplier news) {
    this.news = news;
  }

  /** Sleeps, unless there is news, as {@link #sleep(long)} without end. */
  void sleep() {
    sleep(Long.MAX_VALUE);
  }

  /**
   * Sleeps, unless there is news, until {@link #wake}, an interrupt or the end of a time; may wake
   * without any of these.
   */
  void sleep(long mostNs) {
    // Seen by who brings news from here on; what came before is seen here.
    thread = Thread.currentThread();
    if (!news.getAsBoolean()) {
      LockSupport.parkNanos(this, mostNs);
    }
    thread = null;
  }

  /** Wakes the thread if it sleeps, or is about to. */
  void wake() {
    LockSupport.unpark(thread);
  }
}
