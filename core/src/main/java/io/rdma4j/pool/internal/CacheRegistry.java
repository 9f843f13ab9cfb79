package io.rdma4j.pool.internal;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * All caches of a pool: one for each platform thread that has used it, and some stripes that
 * virtual threads share. Knows the threads that have ended, and gives their blocks back.
 *
 * <p>Safe for use by several threads.
 */
final class CacheRegistry {
  /** Two stripes per processor: a virtual thread finds a free one at the first or second try. */
  private static final int STRIPES =
      Integer.highestOneBit(2 * Runtime.getRuntime().availableProcessors() - 1) * 2;

  private static final int FIRST_SWEEP = 16;

  private final int classes;
  private final int capacity;

  /** Per pool, since a thread may use several pools. */
  @SuppressWarnings("ThreadLocalUsage")
  private final ThreadLocal<@Nullable ThreadCache> own = new ThreadLocal<>();

  private final StripeCache[] stripes = new StripeCache[STRIPES];

  /** Copied on write, under this object's monitor. */
  private volatile ThreadCache[] threadCaches = {};

  /** What ended threads had counted. Guarded by this object's monitor, like all below. */
  private final long[] retiredPops;

  private final long[] retiredPushes;
  private int sweepAt = FIRST_SWEEP;
  private boolean shut;

  CacheRegistry(int classes, int capacity) {
    this.classes = classes;
    this.capacity = capacity;
    this.retiredPops = new long[classes];
    this.retiredPushes = new long[classes];
    Arrays.setAll(stripes, i -> new StripeCache(classes, capacity));
  }

  /** Returns the calling platform thread's cache, null when it has none yet. */
  @Nullable ThreadCache own() {
    return own.get();
  }

  /** Makes the calling platform thread's cache. */
  synchronized ThreadCache addOwn(SizeClassPool[] pools) {
    if (threadCaches.length >= sweepAt) {
      sweep(pools);
      sweepAt = Math.max(FIRST_SWEEP, 2 * threadCaches.length);
    }
    ThreadCache cache = new ThreadCache(Thread.currentThread(), classes, capacity);
    if (shut) {
      cache.shut();
    }
    ThreadCache[] grown = Arrays.copyOf(threadCaches, threadCaches.length + 1);
    grown[threadCaches.length] = cache;
    threadCaches = grown;
    own.set(cache);
    return cache;
  }

  /** Returns a stripe which the calling thread now holds. */
  StripeCache holdStripe() {
    int start = (int) Thread.currentThread().threadId();
    for (int i = 0; i < STRIPES; i++) {
      StripeCache stripe = stripes[start + i & STRIPES - 1];
      if (stripe.tryLock()) {
        return stripe;
      }
    }
    StripeCache stripe = stripes[start & STRIPES - 1];
    stripe.hold();
    return stripe;
  }

  /** Returns about how many caches want blocks. */
  int count() {
    return threadCaches.length;
  }

  /** Takes a class's blocks back from whoever keeps some; false if nobody did. */
  boolean stealAll(SizeClassPool pool) {
    boolean found = false;
    for (ThreadCache cache : threadCaches) {
      found |= cache.isOrphan() ? pool.takeBack(cache) : pool.steal(cache);
    }
    for (StripeCache stripe : stripes) {
      found |= pool.steal(stripe);
    }
    return found;
  }

  /** Gives back what ended threads kept and forgets them; returns their number. */
  synchronized int sweep(SizeClassPool[] pools) {
    ThreadCache[] live = new ThreadCache[threadCaches.length];
    int count = 0;
    for (ThreadCache cache : threadCaches) {
      if (cache.isOrphan() && !shut) {
        retire(cache, pools);
      } else {
        live[count++] = cache;
      }
    }
    int ended = threadCaches.length - count;
    threadCaches = Arrays.copyOf(live, count);
    return ended;
  }

  private void retire(ThreadCache cache, SizeClassPool[] pools) {
    for (int c = 0; c < classes; c++) {
      pools[c].takeBack(cache);
      retiredPops[c] += cache.pops(c);
      retiredPushes[c] += cache.pushes(c);
    }
  }

  /** Takes all caches out of use, present and future ones. */
  synchronized void shut() {
    shut = true;
    for (ThreadCache cache : threadCaches) {
      cache.shut();
    }
    for (StripeCache stripe : stripes) {
      stripe.shut();
    }
  }

  /** What caches of one class hold and have counted. */
  record Totals(long cachedBlocks, long pops, long pushes) {}

  synchronized Totals totals(int sizeClass) {
    long cached = 0;
    long pops = retiredPops[sizeClass];
    long pushes = retiredPushes[sizeClass];
    for (ThreadCache cache : threadCaches) {
      cached += cache.count(sizeClass);
      pops += cache.pops(sizeClass);
      pushes += cache.pushes(sizeClass);
    }
    for (StripeCache stripe : stripes) {
      cached += stripe.count(sizeClass);
      pops += stripe.pops(sizeClass);
      pushes += stripe.pushes(sizeClass);
    }
    return new Totals(cached, pops, pushes);
  }
}
