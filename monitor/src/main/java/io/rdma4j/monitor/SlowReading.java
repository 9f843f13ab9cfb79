package io.rdma4j.monitor;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Something that may take long to read, and is read anew when it is wanted and old. That happens on
 * a thread of its own, which ends when nobody wants it for a while: whoever does waits a moment at
 * most, and then has what was read before.
 *
 * <p>Thread-safe; no lock is held while the source is read, and one thread at a time reads it.
 */
final class SlowReading<T> {
  private static final long PATIENCE_NS = 100_000_000L;
  private static final long IDLE_S = 5;

  private final String threadName;
  private final Supplier<T> source;
  private final long freshNs;
  private final ThreadPoolExecutor reader;
  private volatile T latest;
  private @Nullable FutureTask<T> newest;
  private long dueNs;

  /**
   * Prepares it; nothing is read yet.
   *
   * @param freshNs how long a reading is good
   * @param before what there is before the first reading has ended
   */
  SlowReading(String threadName, Supplier<T> source, long freshNs, T before) {
    this.threadName = threadName;
    this.source = source;
    this.freshNs = freshNs;
    this.latest = before;
    reader =
        new ThreadPoolExecutor(
            1,
            1,
            IDLE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().name(threadName).daemon(true).factory());
    reader.allowCoreThreadTimeOut(true);
  }

  /** Has it read anew so many nanoseconds from now, unless that is to happen earlier. */
  synchronized void outdate(long delayNs) {
    long atNs = System.nanoTime() + delayNs;
    if (dueNs - atNs > 0) {
      dueNs = atNs;
    }
  }

  /**
   * Returns the latest reading, which may be old when the source is slow.
   *
   * @throws IllegalStateException when that failed, or no thread can be had for it
   */
  T get() {
    try {
      return newest().get(PATIENCE_NS, TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return latest;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return latest;
    } catch (ExecutionException e) {
      throw new IllegalStateException(threadName + ": " + e.getCause(), e.getCause());
    }
  }

  /** Returns the reading that goes on, or the last one while that is good. */
  private synchronized FutureTask<T> newest() {
    long nowNs = System.nanoTime();
    FutureTask<T> known = newest;
    if (known != null && (!known.isDone() || nowNs - dueNs < 0)) {
      return known;
    }
    FutureTask<T> started = new FutureTask<>(() -> latest = source.get());
    try {
      reader.execute(started);
    } catch (OutOfMemoryError e) {
      throw new IllegalStateException(
          "thread " + threadName + " can not be started: " + e.getMessage(), e);
    }
    newest = started;
    dueNs = nowNs + freshNs;
    return started;
  }
}
