package io.rdma4j.pool.internal;

import io.rdma4j.jfr.FallbackEvent;
import io.rdma4j.pool.ExhaustionPolicy;
import io.rdma4j.pool.PoolConfig;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The slow path to a block: the caller's cache opened again, shared lists, pending slabs, other
 * threads' caches; and when no block is free anywhere, the pool's growth or the exhaustion policy.
 *
 * <p>Whoever waits for a slab goes on looking: a block that comes free meanwhile is as good.
 *
 * <p>Safe for use by several threads.
 */
final class BlockSearch {
  private final ExhaustionPolicy policy;
  private final long releaseTimeoutNs;
  private final double lowWatermark;
  private final SizeClassPool[] classes;
  private final CacheRegistry caches;
  private final Slabs slabs;
  private final NumaPolicy numa;
  private final AtomicBoolean closed;

  BlockSearch(
      PoolConfig config,
      SizeClassPool[] classes,
      CacheRegistry caches,
      Slabs slabs,
      NumaPolicy numa,
      AtomicBoolean closed) {
    this.policy = config.exhaustion();
    this.releaseTimeoutNs = policy == ExhaustionPolicy.WAIT ? config.exhaustionTimeoutNs() : 0;
    this.lowWatermark = config.lowWatermark();
    this.classes = classes;
    this.caches = caches;
    this.slabs = slabs;
    this.numa = numa;
    this.closed = closed;
  }

  /**
   * Leases a block for a thread whose cache has none.
   *
   * @return its handle, {@link BlockHandle#NONE} when exhausted
   */
  long find(SizeClassPool pool, @Nullable Magazine magazine) {
    int node = numa.callerNode();
    long handle = findFree(pool, magazine, node);
    if (handle != BlockHandle.NONE) {
      growIfScarce(pool, node);
      return handle;
    }
    return policy == ExhaustionPolicy.FALL_BACK
        ? fallBack(pool, magazine, node)
        : await(pool, magazine, node);
  }

  /**
   * Leases a block kept apart for receives, for a thread whose cache has none of them.
   *
   * @return its handle, {@link BlockHandle#NONE} when all are in use
   */
  long findReserved(SizeClassPool reserve, @Nullable Magazine magazine) {
    return findFree(reserve, magazine, numa.callerNode());
  }

  /**
   * Leases a block for a thread that must not wait; the class grows in the background when it has
   * none.
   *
   * @return its handle, {@link BlockHandle#NONE} when none is free
   */
  long findNow(SizeClassPool pool, @Nullable Magazine magazine) {
    int node = numa.callerNode();
    long handle = findFree(pool, magazine, node);
    if (handle == BlockHandle.NONE && !pool.growth().isUnderWay()) {
      growSoon(pool, node);
    }
    return handle;
  }

  /** Returns {@link BlockHandle#NONE} only if no block of the class was free at some instant. */
  // Yields only when blocks moved during the search, so that those who move them get on.
  @SuppressWarnings("ThreadPriorityCheck")
  private long findFree(SizeClassPool pool, @Nullable Magazine magazine, int node) {
    while (true) {
      if (closed.get()) {
        throw new IllegalStateException("the pool is closed");
      }
      long handle = magazine != null && magazine.reopen() ? magazine.take() : BlockHandle.NONE;
      if (handle == BlockHandle.NONE) {
        BlockCache cache = magazine != null ? magazine : caches.stripe(pool.sizeClass());
        handle = pool.refill(cache, node, caches.count());
      }
      if (handle != BlockHandle.NONE) {
        return handle;
      }
      long mark = pool.mark();
      long movement = caches.movement(pool.sizeClass());
      if (pool.revive() || caches.stealAll(pool)) {
        continue;
      }
      if (pool.isEmptySince(mark) && caches.movement(pool.sizeClass()) == movement) {
        return BlockHandle.NONE;
      }
      Thread.yield();
    }
  }

  /** Has a slab added in the background before the class is empty. */
  private void growIfScarce(SizeClassPool pool, int node) {
    if (!pool.growth().isUnderWay() && pool.freeBlocks() < lowWatermark * pool.registeredBlocks()) {
      growSoon(pool, node);
    }
  }

  /** Has a slab added in the background; {@link Growth} tells when that fails. */
  void growSoon(SizeClassPool pool, int node) {
    if (slabs.hasRoom()) {
      var _ = requestSlab(pool, node, pool.growth().completed());
    }
  }

  private @Nullable CompletableFuture<Boolean> requestSlab(
      SizeClassPool pool, int node, long seen) {
    return pool.growth().request(seen, () -> slabs.grow(pool, node, classes));
  }

  private long fallBack(SizeClassPool pool, @Nullable Magazine magazine, int node) {
    growSoon(pool, node);
    long handle = slabs.fallBack(pool, node);
    if (handle == BlockHandle.NONE) {
      return await(pool, magazine, node);
    }
    FallbackEvent.record(pool.blockBytes());
    return handle;
  }

  /** Waits for a slab, or for a block to come free, whichever is first. */
  private long await(SizeClassPool pool, @Nullable Magazine magazine, int node) {
    Waiting waiting = new Waiting(releaseTimeoutNs);
    pool.growth().waiters().getAndIncrement();
    try {
      CompletableFuture<Boolean> slab = null;
      int refusals = 0;
      while (true) {
        long grown = pool.growth().completed();
        long handle = findFree(pool, magazine, node);
        if (handle != BlockHandle.NONE) {
          return handle;
        }
        // The outcome of an attempt once joined is not missed, be it while looking elsewhere.
        slab = slab != null ? slab : requestSlab(pool, node, grown);
        if (slab == null || !waiting.awaitAttempt(slab)) {
          continue;
        }
        boolean spent = !slab.resultNow();
        slab = null;
        // An attempt that was under way already may have looked at the budget before this search.
        if (spent && refusals++ > 0 && !waiting.awaitRelease()) {
          pool.countExhausted();
          return BlockHandle.NONE;
        }
      }
    } finally {
      pool.growth().waiters().getAndDecrement();
      waiting.end();
    }
  }
}
