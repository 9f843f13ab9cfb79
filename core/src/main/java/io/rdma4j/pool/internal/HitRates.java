package io.rdma4j.pool.internal;

import io.rdma4j.pool.PoolConfig;

/**
 * Watches how often threads' caches could serve an allocation, and has a class grow whose caches
 * miss too often because there is too little to fill them with. Not safe for several threads.
 */
final class HitRates {
  /** Fewer allocations in a window say nothing about a rate. */
  private static final long FEWEST_ALLOCATIONS = 256;

  private final PoolConfig config;
  private final SizeClassPool[] classes;
  private final CacheRegistry caches;
  private final BlockSearch search;
  private final long[] hitsBefore;
  private final long[] missesBefore;
  private boolean started;
  private long windowStartNs;

  HitRates(PoolConfig config, SizeClassPool[] classes, CacheRegistry caches, BlockSearch search) {
    this.config = config;
    this.classes = classes;
    this.caches = caches;
    this.search = search;
    this.hitsBefore = new long[classes.length];
    this.missesBefore = new long[classes.length];
  }

  void run(long nowNs) {
    if (!started) {
      started = true;
      windowStartNs = nowNs;
    }
    if (nowNs - windowStartNs >= config.hitRateWindowNs()) {
      windowStartNs = nowNs;
      for (SizeClassPool pool : classes) {
        endWindow(pool);
      }
    }
  }

  private void endWindow(SizeClassPool pool) {
    int c = pool.sizeClass();
    long hits = caches.totals(c).takes();
    long misses = pool.slowAllocations();
    long hitsNow = hits - hitsBefore[c];
    long allocations = hitsNow + misses - missesBefore[c];
    hitsBefore[c] = hits;
    missesBefore[c] = misses;
    // More memory helps only where lists run low; elsewhere misses come from the pattern of use.
    boolean scarce = pool.freeBlocks() < pool.registeredBlocks() / 2;
    if (allocations >= FEWEST_ALLOCATIONS
        && hitsNow < config.hitRateThreshold() * allocations
        && scarce
        && !pool.isReserve()) {
      search.growSoon(pool, NumaPolicy.UNKNOWN);
    }
  }
}
