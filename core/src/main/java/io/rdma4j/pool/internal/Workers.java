package io.rdma4j.pool.internal;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A few daemon threads that map and register memory, so that nobody who wants a block has to. They
 * are started when there is work and end when there has been none for a while.
 *
 * <p>Platform threads: a registration is a system call that may take long, and would hold the
 * carrier of a virtual thread.
 */
final class Workers implements AutoCloseable {
  private static final long KEEP_ALIVE_S = 10;

  private final String prefix;
  private final ThreadPoolExecutor threads;

  Workers(String poolName, int most) {
    this.prefix = poolName + "-worker-";
    this.threads =
        new ThreadPoolExecutor(
            most,
            most,
            KEEP_ALIVE_S,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Thread.ofPlatform().daemon().name(prefix, 0).factory());
    threads.allowCoreThreadTimeOut(true);
  }

  /**
   * Runs a task soon.
   *
   * @throws java.util.concurrent.RejectedExecutionException once closed
   */
  void execute(Runnable task) {
    threads.execute(task);
  }

  /** Refuses new tasks; those begun or queued are carried out. */
  @Override
  public void close() {
    threads.shutdown();
  }

  /**
   * Waits after a close until the last task has ended, through interrupts.
   *
   * @return false when the time is over first, or the calling thread is a worker itself
   */
  boolean awaitEnd(long timeoutNs) {
    if (Thread.currentThread().getName().startsWith(prefix)) {
      return false;
    }
    long endNs = System.nanoTime() + timeoutNs;
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return threads.awaitTermination(
              Math.max(0, endNs - System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
