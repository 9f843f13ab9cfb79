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

  private final SizeClassPool[] pools;
  private final BlockStates states;
  private final Holders holders = new Holders();

  /** Per pool, since a thread may use several pools. */
  @SuppressWarnings("ThreadLocalUsage")
  private final ThreadLocal<@Nullable ThreadCache> own = new ThreadLocal<>();

  private final StripeCache[][] stripes;

  /** Copied on write, under this object's monitor. */
  private volatile ThreadCache[] threadCaches = {};

  /** What ended threads had counted. Guarded by this object's monitor, like all below. */
  private final long[] retiredTakes;

  private final long[] retiredReleases;
  private int sweepAt = FIRST_SWEEP;
  private boolean shut;

  CacheRegistry(SizeClassPool[] pools, BlockStates states, int capacity) {
    this.pools = pools;
    this.states = states;
    this.retiredTakes = new long[pools.length];
    this.retiredReleases = new long[pools.length];
    this.stripes = new StripeCache[pools.length][STRIPES];
    for (int c = 0; c < pools.length; c++) {
      for (int i = 0; i < STRIPES; i++) {
        stripes[c][i] = new StripeCache(pools[c], states, capacity);
      }
    }
  }

  /**
   * Returns the calling thread's magazine, null for a virtual thread, and for one of more platform
   * threads than there are identities for.
   */
  @Nullable Magazine own(int sizeClass) {
    if (Thread.currentThread().isVirtual()) {
      return null;
    }
    ThreadCache cache = own.get();
    if (cache == null) {
      cache = addOwn();
    }
    return cache == null ? null : cache.magazine(sizeClass);
  }

  private synchronized @Nullable ThreadCache addOwn() {
    if (threadCaches.length >= sweepAt) {
      sweep();
      sweepAt = Math.max(FIRST_SWEEP, 2 * threadCaches.length);
    }
    if (holders.areAllTaken()) {
      return null;
    }
    ThreadCache cache = new ThreadCache(Thread.currentThread(), holders, states, pools);
    if (shut) {
      cache.shut();
    }
    ThreadCache[] grown = Arrays.copyOf(threadCaches, threadCaches.length + 1);
    grown[threadCaches.length] = cache;
    threadCaches = grown;
    own.set(cache);
    return cache;
  }

  Holders holders() {
    return holders;
  }

  /** Returns the stripe that the calling thread tries first. */
  StripeCache stripe(int sizeClass) {
    return stripes[sizeClass][(int) Thread.currentThread().threadId() & STRIPES - 1];
  }

  /** Returns a stripe which the calling thread now holds. */
  StripeCache holdStripe(int sizeClass) {
    StripeCache[] ofClass = stripes[sizeClass];
    int start = (int) Thread.currentThread().threadId();
    for (int i = 0; i < STRIPES; i++) {
      StripeCache stripe = ofClass[start + i & STRIPES - 1];
      if (stripe.tryHold()) {
        return stripe;
      }
    }
    StripeCache stripe = ofClass[start & STRIPES - 1];
    stripe.hold();
    return stripe;
  }

  /** Returns about how many caches want blocks. */
  int count() {
    return threadCaches.length;
  }

  /**
   * Returns a sum that every take and release of a class makes greater. A search that found all
   * caches empty between two equal sums did so at one instant, not one cache after the other while
   * a block went from the unsearched to the searched.
   */
  long movement(int sizeClass) {
    long sum = 0;
    for (ThreadCache cache : threadCaches) {
      sum += cache.magazine(sizeClass).word();
    }
    for (StripeCache stripe : stripes[sizeClass]) {
      sum += stripe.word();
    }
    return sum;
  }

  /** Takes a class's blocks back from whoever keeps some; false if nobody did. */
  boolean stealAll(SizeClassPool pool) {
    int sizeClass = pool.sizeClass();
    boolean left = false;
    boolean stolen = false;
    for (ThreadCache cache : threadCaches) {
      Magazine magazine = cache.magazine(sizeClass);
      if (cache.isOrphan()) {
        left |= pool.takeBack(magazine);
      } else {
        stolen |= pool.steal(magazine);
      }
    }
    for (StripeCache stripe : stripes[sizeClass]) {
      stolen |= pool.steal(stripe);
    }
    if (stolen) {
      pool.keepLess();
    }
    return left || stolen;
  }

  /** Returns how many blocks of each slab platform threads keep for themselves, by its number. */
  int[] keptBySlab(SlabTable table) {
    int[] kept = new int[table.size()];
    for (ThreadCache cache : threadCaches) {
      for (int c = 0; c < pools.length; c++) {
        cache.magazine(c).countKept(table, kept);
      }
    }
    return kept;
  }

  /** Takes back what caches kept that have not been used since the last call. */
  void takeBackIdle() {
    for (ThreadCache cache : threadCaches) {
      for (SizeClassPool pool : pools) {
        takeBackIfIdle(cache.magazine(pool.sizeClass()), pool);
      }
    }
    for (StripeCache[] ofClass : stripes) {
      for (StripeCache stripe : ofClass) {
        takeBackIfIdle(stripe, pools[stripe.sizeClass()]);
      }
    }
  }

  private static void takeBackIfIdle(BlockCache cache, SizeClassPool pool) {
    if (cache.isIdleSinceLastLook()) {
      pool.takeBack(cache);
    }
  }

  /** Gives back what ended threads kept and forgets them; returns their number. */
  synchronized int sweep() {
    ThreadCache[] live = new ThreadCache[threadCaches.length];
    int count = 0;
    for (ThreadCache cache : threadCaches) {
      if (cache.isOrphan() && !shut) {
        retire(cache);
      } else {
        live[count++] = cache;
      }
    }
    int ended = threadCaches.length - count;
    threadCaches = Arrays.copyOf(live, count);
    return ended;
  }

  private void retire(ThreadCache cache) {
    for (int c = 0; c < pools.length; c++) {
      Magazine magazine = cache.magazine(c);
      magazine.recordSamples();
      pools[c].takeBack(magazine);
      retiredTakes[c] += magazine.takes();
      retiredReleases[c] += magazine.releases();
    }
    cache.retire();
  }

  /** Records how long sampled allocations took. */
  synchronized void recordSamples() {
    for (ThreadCache cache : threadCaches) {
      for (int c = 0; c < pools.length; c++) {
        cache.magazine(c).recordSamples();
      }
    }
  }

  /**
   * Takes all caches out of use, present and future ones. The calling thread forgets its own, which
   * it would otherwise keep alive, and the pool with it, for as long as it runs.
   */
  synchronized void shut() {
    shut = true;
    own.remove();
    for (ThreadCache cache : threadCaches) {
      cache.shut();
    }
    for (StripeCache[] ofClass : stripes) {
      for (StripeCache stripe : ofClass) {
        stripe.shut();
      }
    }
  }

  /** What caches of one class hold and have counted. */
  record Totals(long cachedBlocks, long takes, long releases) {}

  synchronized Totals totals(int sizeClass) {
    long cached = 0;
    long takes = retiredTakes[sizeClass];
    long releases = retiredReleases[sizeClass];
    for (ThreadCache cache : threadCaches) {
      Magazine magazine = cache.magazine(sizeClass);
      cached += magazine.count();
      takes += magazine.takes();
      releases += magazine.releases();
    }
    for (StripeCache stripe : stripes[sizeClass]) {
      cached += stripe.count();
      takes += stripe.takes();
      releases += stripe.releases();
    }
    return new Totals(cached, takes, releases);
  }
}
