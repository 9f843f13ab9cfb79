package io.rdma4j.concurrent;

import java.time.Duration;

/** Waiting for threads to end. */
public final class Threads {
  private Threads() {}

  /**
   * Waits for a thread, through interrupts, which are kept for the caller.
   *
   * @return false when it has not ended in time, or is the calling thread
   */
  public static boolean join(Thread thread, long timeoutNs) {
    if (thread == Thread.currentThread()) {
      return false;
    }
    long endNs = System.nanoTime() + timeoutNs;
    boolean interrupted = false;
    try {
      while (thread.isAlive() && endNs - System.nanoTime() > 0) {
        try {
          thread.join(Duration.ofNanos(Math.max(1, endNs - System.nanoTime())));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      return !thread.isAlive();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
