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
  private final NumaPolicy numa;
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
    this.numa = slabs.numa();
    this.refusedReleases = refusedReleases;
    this.quarantinedBlocks = quarantinedBlocks;
    this.closed = closed;
  }

  /** Returns the figures. */
  public PoolStatistics statistics() {
    List<PoolStatistics.SizeClass> all = new ArrayList<>(classes.length);
    for (SizeClassPool pool : classes) {
      all.add(statistics(pool));
    }
    caches.recordSamples();
    return new PoolStatistics(
        config.maxBytes(),
        slabs.factory().budgetedBytes(),
        all,
        slabs.factory().registrationFailures(),
        slabs.factory().deregistrationFailures(),
        slabs.adoptions(),
        refusedReleases,
        quarantinedBlocks,
        caches.count(),
        slabs.allocationTimes().snapshot(),
        slabs.factory().registrationTimes(),
        slabs.factory().deregistrationTimes());
  }

  private PoolStatistics.SizeClass statistics(SizeClassPool pool) {
    // In this order: fallbacks are among the slow allocations, and must not come out as more.
    long fallbacks = pool.fallbacks();
    long slowAllocations = pool.slowAllocations();
    CacheRegistry.Totals totals = caches.totals(pool.sizeClass());
    long releases = Math.max(0, totals.releases() + pool.slowReleases());
    long used = Math.max(0, totals.takes() + slowAllocations - releases);
    long registered = closed ? 0 : pool.registeredBlocks();
    long cached = closed ? 0 : totals.cachedBlocks();
    long free = closed ? 0 : pool.freeBlocks();
    long pending = closed ? 0 : pool.pendingBlocks();
    return new PoolStatistics.SizeClass(
        pool.blockBytes(),
        pool.isReserve(),
        slabsOf(pool),
        registered,
        used,
        cached,
        free,
        pending,
        numa.lists() == 1
            ? List.of(onlyNode(pool, registered, used, cached, free, pending))
            : nodes(pool),
        releases,
        totals.takes(),
        slowAllocations - fallbacks,
        fallbacks,
        pool.steals(),
        pool.growth().completed(),
        pool.trims(),
        pool.revivals(),
        pool.crossNode(),
        pool.exhausted(),
        pool.growth().waiters().get());
  }

  private int slabsOf(SizeClassPool pool) {
    int count = 0;
    for (Slab slab : slabs.table().all()) {
      boolean counts = slab.sizeClass() == pool.sizeClass() && isIn(slab);
      count += counts ? 1 : 0;
    }
    return count;
  }

  private static boolean isIn(Slab slab) {
    return slab.state() != Slab.State.GONE && !slab.isForgotten();
  }

  private PoolStatistics.Node onlyNode(
      SizeClassPool pool, long registered, long used, long cached, long free, long pending) {
    return new PoolStatistics.Node(
        numa.nodeOfList(0), registered, used, cached, free, pending, leavingBytes(pool, 0));
  }

  /** Looks at every block, since caches and counters know of no nodes. */
  private List<PoolStatistics.Node> nodes(SizeClassPool pool) {
    List<PoolStatistics.Node> nodes = new ArrayList<>(numa.lists());
    LiveBlocks live = LiveBlocks.now(caches, slabs);
    for (int list = 0; list < numa.lists(); list++) {
      long registered = 0;
      long used = 0;
      long pending = 0;
      for (Slab slab : slabs.table().all()) {
        if (slab.sizeClass() != pool.sizeClass() || numa.listOf(slab.node()) != list) {
          continue;
        }
        // Slabs of a closed pool have leases, too.
        used += live.of(slab);
        if (isIn(slab)) {
          registered += slab.blocks();
          pending += slab.state() == Slab.State.PENDING ? slab.blocks() : 0;
        }
      }
      long free = closed ? 0 : pool.freeBlocks(list);
      nodes.add(
          new PoolStatistics.Node(
              numa.nodeOfList(list),
              registered,
              used,
              Math.max(0, registered - used - free - pending),
              free,
              pending,
              leavingBytes(pool, list)));
    }
    return nodes;
  }

  private long leavingBytes(SizeClassPool pool, int list) {
    long bytes = 0;
    for (Slab slab : slabs.leaving()) {
      if (slab.sizeClass() == pool.sizeClass() && numa.listOf(slab.node()) == list) {
        bytes += slab.lengthBytes();
      }
    }
    return bytes;
  }
}
