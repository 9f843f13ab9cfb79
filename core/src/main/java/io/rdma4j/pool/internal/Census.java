package io.rdma4j.pool.internal;

import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolStatistics;
import java.util.ArrayList;
import java.util.List;

/** Counts what a pool holds and has done, at the moment it is asked. */
public final class Census {
  private final PoolConfig config;
  private final SizeClassPool[] classes;
  private final CacheRegistry caches;
  private final Slabs slabs;
  private final long refusedReleases;
  private final long quarantinedBlocks;
  private final boolean closed;

  Census(
      PoolConfig config,
      SizeClassPool[] classes,
      CacheRegistry caches,
      Slabs slabs,
      long refusedReleases,
      long quarantinedBlocks,
      boolean closed) {
    this.config = config;
    this.classes = classes;
    this.caches = caches;
    this.slabs = slabs;
    this.refusedReleases = refusedReleases;
    this.quarantinedBlocks = quarantinedBlocks;
    this.closed = closed;
  }

  /** Returns the figures. */
  public PoolStatistics statistics() {
    List<PoolStatistics.SizeClass> all = new ArrayList<>(classes.length);
    long exhausted = 0;
    for (SizeClassPool pool : classes) {
      all.add(statistics(pool));
      exhausted += pool.exhausted();
    }
    return new PoolStatistics(
        config.maxBytes(),
        all,
        slabs.factory().registrations(),
        slabs.factory().deregistrations(),
        slabs.factory().deregistrationFailures(),
        slabs.leavingBytes(),
        slabs.fallbacks(),
        slabs.adoptions(),
        refusedReleases,
        exhausted,
        quarantinedBlocks,
        caches.count());
  }

  private PoolStatistics.SizeClass statistics(SizeClassPool pool) {
    CacheRegistry.Totals totals = caches.totals(pool.sizeClass());
    long allocations = totals.takes() + pool.slowAllocations();
    long releases = totals.releases() + pool.slowReleases();
    int slabCount = 0;
    for (Slab slab : slabs.table().all()) {
      if (slab.sizeClass() == pool.sizeClass() && slab.state() != Slab.State.GONE) {
        slabCount++;
      }
    }
    return new PoolStatistics.SizeClass(
        pool.blockBytes(),
        pool.isReserve(),
        slabCount,
        closed ? 0 : pool.registeredBlocks(),
        allocations - releases,
        closed ? 0 : totals.cachedBlocks(),
        closed ? 0 : pool.freeBlocks(),
        closed ? 0 : pool.pendingBlocks(),
        allocations,
        releases,
        totals.takes(),
        pool.slowAllocations(),
        pool.steals(),
        pool.growth().completed());
  }
}
