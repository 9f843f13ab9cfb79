package io.rdma4j.concurrent;

import io.rdma4j.Rdma4jException;
import java.time.Duration;

/** The start and the end of threads. */
public final class Threads {
  private Threads() {}

  /**
   * Starts a daemon thread of the platform. What may wait in native code needs one: there a virtual
   * thread keeps its carrier, of which there are few, and the application's wait for it.
   *
   * @throws Rdma4jException when the process can have no more threads
   */
  public static void startDaemon(String name, Runnable task) {
    try {
      Thread.ofPlatform().name(name).daemon(true).start(task);
    } catch (OutOfMemoryError e) {
      throw new Rdma4jException(
          "thread "
              + name
              + " can not be started: "
              + e.getMessage()
              + "; look at ulimit -u, and at pids.max of the process' cgroup",
          e);
    }
  }

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
