package io.rdma4j.pool.internal;

import java.util.HashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * Remembers large requests, to know which size to register ahead of the next one.
 *
 * <p>A size is worth an object more when a thread has asked for it {@link #ENOUGH} times within
 * {@link #WINDOWS} windows, and more objects of it are in use than ever before. Who asks for one at
 * a time and gives it back in between needs no second one, however often.
 *
 * <p>The last few requests of each thread are in a table of fixed size. Threads whose numbers
 * collide share a place without being taken for each other; virtual threads count as one. Safe for
 * use by several threads.
 */
final class LargeDemand {
  /** Requests up to here are not remembered. */
  static final long SMALLEST_BYTES = 64 << 10;

  /** Requests of one size by one thread that tell its pattern. */
  static final int ENOUGH = 4;

  /** Hit-rate windows after which a request is forgotten. */
  static final int WINDOWS = 4;

  private static final int PLACES = 64;
  private static final int DEPTH = 2 * ENOUGH;

  /** By place, the latest requests in a ring: who, how many bytes, when. */
  private final long[] threads = new long[PLACES * DEPTH];

  private final long[] sizes = new long[PLACES * DEPTH];
  private final long[] timesNs = new long[PLACES * DEPTH];
  private final int[] next = new int[PLACES];
  private final Map<Long, Use> uses = new HashMap<>();
  private final long memoryNs;

  /** Objects of one size. */
  private static final class Use {
    int leased;
    int most;
    BooleanSupplier isExpanding = () -> false;
  }

  LargeDemand(long hitRateWindowNs) {
    this.memoryNs = WINDOWS * hitRateWindowNs;
  }

  /**
   * Notes a request of the calling thread that got its object.
   *
   * @param spare whether the next one like it would find an object
   * @return true when one more of that size should be registered, to be followed by {@link
   *     #expanding}; not again until that is over
   */
  synchronized boolean note(long sizeBytes, boolean spare, long nowNs) {
    if (sizeBytes <= SMALLEST_BYTES) {
      return false;
    }
    Use use = uses.computeIfAbsent(sizeBytes, size -> new Use());
    boolean rising = ++use.leased > use.most;
    use.most = Math.max(use.most, use.leased);
    boolean often = record(sizeBytes, nowNs) >= ENOUGH;
    if (!rising || !often || spare || use.isExpanding.getAsBoolean()) {
      return false;
    }
    use.isExpanding = () -> true;
    return true;
  }

  /** Returns how many requests of that size the thread has made of late, this one included. */
  private int record(long sizeBytes, long nowNs) {
    Thread thread = Thread.currentThread();
    long id = thread.isVirtual() ? -1 : thread.threadId();
    int place = (int) (id & PLACES - 1);
    int first = place * DEPTH;
    int slot = first + next[place];
    next[place] = (next[place] + 1) % DEPTH;
    threads[slot] = id;
    sizes[slot] = sizeBytes;
    timesNs[slot] = nowNs;
    int count = 0;
    for (int i = first; i < first + DEPTH; i++) {
      count += threads[i] == id && sizes[i] == sizeBytes && nowNs - timesNs[i] <= memoryNs ? 1 : 0;
    }
    return count;
  }

  /**
   * Notes what came of a true answer of {@link #note}.
   *
   * @param isExpanding whether the object is still on its way; no other is asked for meanwhile
   */
  synchronized void expanding(long sizeBytes, BooleanSupplier isExpanding) {
    Use use = uses.get(sizeBytes);
    if (use != null) {
      use.isExpanding = isExpanding;
    }
  }

  /** Notes that an object of a request of that size is back. */
  synchronized void released(long sizeBytes) {
    Use use = uses.get(sizeBytes);
    if (use != null) {
      use.leased--;
    }
  }

  /** Forgets how many were in use at most: memory was given back, so demand may rise again. */
  synchronized void settle() {
    uses.values().removeIf(use -> use.leased == 0 && !use.isExpanding.getAsBoolean());
    uses.values().forEach(use -> use.most = use.leased);
  }
}
