package io.rdma4j.tools.top;

import io.rdma4j.pool.HeatTable;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.status.Distribution;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * A pool at one moment: plain figures, so that they may come from another process. Immutable.
 *
 * @param seconds when, since an arbitrary origin
 * @param maxBytes the byte budget
 * @param budgetedBytes what is taken of it
 * @param fragmentation 1 - used / registered bytes
 * @param exhausted allocations refused so far
 * @param threadCaches caches of live threads
 * @param allocation how long allocations took since the pool was made
 * @param registration how long registrations with a device took, likewise
 * @param classes one for each block size
 * @param heat one for each slab, the hottest first
 */
record PoolSnapshot(
    double seconds,
    long maxBytes,
    long budgetedBytes,
    double fragmentation,
    long exhausted,
    int threadCaches,
    Times allocation,
    Times registration,
    List<SizeClass> classes,
    List<HeatTable.Row> heat) {

  /** Copies the lists. */
  PoolSnapshot {
    classes = List.copyOf(classes);
    heat = List.copyOf(heat);
  }

  /** Durations in nanoseconds; all 0 when there were none. */
  record Times(long count, long p50Ns, long p99Ns, long p999Ns, long maxNs) {
    static Times of(Distribution times) {
      return new Times(
          times.count(),
          times.percentileNs(50),
          times.percentileNs(99),
          times.percentileNs(99.9),
          times.maxNs());
    }
  }

  /** One block size; counts since the pool was made. */
  record SizeClass(
      int blockBytes,
      boolean reserve,
      long usedBytes,
      long cachedBytes,
      long freeBytes,
      long pendingBytes,
      long threadCacheHits,
      long sharedHits,
      long fallbacks,
      long releases,
      long growths,
      long trims,
      long revivals,
      int slabs,
      int waiters) {

    static SizeClass of(PoolStatistics.SizeClass now) {
      long bytes = now.blockBytes();
      return new SizeClass(
          now.blockBytes(),
          now.reserve(),
          now.usedBlocks() * bytes,
          now.cachedBlocks() * bytes,
          now.freeBlocks() * bytes,
          now.pendingBlocks() * bytes,
          now.threadCacheHits(),
          now.sharedHits(),
          now.fallbacks(),
          now.releases(),
          now.growths(),
          now.trims(),
          now.revivals(),
          now.slabs(),
          now.waiters());
    }

    long allocations() {
      return threadCacheHits + sharedHits + fallbacks;
    }

    long registeredBytes() {
      return usedBytes + cachedBytes + freeBytes + pendingBytes;
    }
  }

  static PoolSnapshot of(PoolStatistics now, HeatTable heat, double seconds) {
    return new PoolSnapshot(
        seconds,
        now.maxBytes(),
        now.budgetedBytes(),
        now.fragmentation(),
        now.exhausted(),
        now.threadCaches(),
        Times.of(now.allocationTimes()),
        Times.of(now.registrationTimes()),
        now.classes().stream().map(SizeClass::of).toList(),
        heat.rows());
  }

  long sum(ToLongFunction<SizeClass> figure) {
    return classes.stream().mapToLong(figure).sum();
  }

  /** Returns the growth of a counter per second since an earlier snapshot, 0 when none passed. */
  double perSecondSince(PoolSnapshot before, ToLongFunction<SizeClass> counter) {
    double passed = seconds - before.seconds;
    return passed <= 0 ? 0 : Math.max(0, sum(counter) - before.sum(counter)) / passed;
  }

  /** Returns the share of a counter in the allocations since then; NaN when there were none. */
  double shareSince(PoolSnapshot before, ToLongFunction<SizeClass> counter) {
    double allocations = sum(SizeClass::allocations) - before.sum(SizeClass::allocations);
    return allocations <= 0 ? Double.NaN : (sum(counter) - before.sum(counter)) / allocations;
  }
}
