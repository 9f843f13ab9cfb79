package io.rdma4j.transport;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Those who wait for room on a connection: threads, and callbacks. The polling thread looks in each
 * duty cycle whether there is room, and wakes some; so nobody can miss a call, and a wake-up in
 * vain costs another look.
 *
 * <p>Safe for use by several threads. Makes no garbage, except to grow.
 */
final class Waiters {
  private static final Logger LOG = System.getLogger(Waiters.class.getName());

  /** Threads and callbacks, oldest first; guarded by this. */
  private final ArrayDeque<Object> queue = new ArrayDeque<>();

  /** Size of the queue, for looks without the lock. */
  private volatile int size;

  boolean isEmpty() {
    return size == 0;
  }

  /** Joins the queue. */
  synchronized void add(Object threadOrCallback) {
    queue.add(threadOrCallback);
    size = queue.size();
  }

  /** Leaves the queue, for a thread that does not wait any more. */
  synchronized void remove(Thread thread) {
    if (size > 0 && queue.removeFirstOccurrence(thread)) {
      size = queue.size();
    }
  }

  private synchronized @Nullable Object next() {
    Object next = queue.poll();
    size = queue.size();
    return next;
  }

  /**
   * Wakes the oldest ones. Callbacks run here.
   *
   * @return how many there were
   */
  int wake(int limit) {
    int woken = 0;
    for (Object next; woken < limit && (next = next()) != null; woken++) {
      if (next instanceof Thread thread) {
        LockSupport.unpark(thread);
      } else {
        run((Runnable) next);
      }
    }
    return woken;
  }

  private static void run(Runnable callback) {
    try {
      callback.run();
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "a callback that waited for room threw", e);
    }
  }
}
