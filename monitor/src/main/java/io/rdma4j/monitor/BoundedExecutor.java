package io.rdma4j.monitor;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;

/**
 * A thread for each task, so many at a time, so long each: what strangers can cost. The HTTP server
 * reads a request within its task, so a client that never ends its request is one that takes too
 * long. Any thread.
 *
 * <p>They are no virtual threads. Those would take carriers from the application's; and on them a
 * {@link java.io.BufferedWriter}, which the text formats of Prometheus are written through, begins
 * with 512 characters and is copied at each write until it has 8192.
 */
final class BoundedExecutor implements Executor {
  /** The start of a task that may take as long as it likes. */
  private static final long UNLIMITED = Long.MIN_VALUE;

  private final int maxTasks;
  private final long maxNs;
  private final Semaphore free;
  private final Map<Thread, Long> startNs = new ConcurrentHashMap<>();

  BoundedExecutor(int maxTasks, long maxNs) {
    this.maxTasks = maxTasks;
    this.maxNs = maxNs;
    this.free = new Semaphore(maxTasks);
  }

  /** Runs a task, or refuses it, upon which the server closes the connection. */
  @Override
  public void execute(Runnable task) {
    if (!free.tryAcquire()) {
      throw new RejectedExecutionException(maxTasks + " requests are being answered already");
    }
    try {
      Thread.ofPlatform().name("rdma4j-monitor-request").daemon(true).start(() -> run(task));
    } catch (OutOfMemoryError e) { // the process can have no more threads
      free.release();
      throw new RejectedExecutionException(e.getMessage(), e);
    }
  }

  private void run(Runnable task) {
    startNs.put(Thread.currentThread(), System.nanoTime());
    try {
      task.run();
    } finally {
      startNs.remove(Thread.currentThread());
      free.release();
    }
  }

  /** Lets the task of this thread take as long as it likes. */
  void allowLong() {
    startNs.replace(Thread.currentThread(), UNLIMITED);
  }

  /** Interrupts tasks that have taken too long, which ends their reading and writing. */
  void interruptSlow(long nowNs) {
    startNs.forEach(
        (thread, start) -> {
          if (start != UNLIMITED && nowNs - start > maxNs) {
            thread.interrupt();
          }
        });
  }

  int running() {
    return maxTasks - free.availablePermits();
  }

  /** Interrupts all tasks. */
  void interruptAll() {
    startNs.keySet().forEach(Thread::interrupt);
  }
}
