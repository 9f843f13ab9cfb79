package io.rdma4j.pool.internal;

import io.rdma4j.status.Distribution;
import io.rdma4j.status.LatencyHistogram;

/**
 * How long allocations take: one in so many of those that a cache serves, and all others, which are
 * rare and slow. A sample counts as often as the allocations it stands for, so that the
 * distribution is that of all of them.
 *
 * <p>The word of a {@link StripeCache}, which a take has at hand anyway, says when the next sample
 * is due: when all bits of the mask are set in it. For one in 2^k the mask is the lowest k bits of
 * the takes; for none it is all bits, which no word has. A {@link Magazine} compares its word with
 * that of the next sample.
 *
 * <p>Safe for use by several threads.
 */
final class AllocationTimes {
  private static final long NEVER = -1;

  private final int sampleEvery;
  private final LatencyHistogram histogram = new LatencyHistogram();

  /**
   * Creates an empty distribution.
   *
   * @param sampleEvery a power of two, or 0 for no times at all
   */
  AllocationTimes(int sampleEvery) {
    this.sampleEvery = sampleEvery;
  }

  /** Returns how many takes of a cache there are for one that is timed, 0 for no times at all. */
  int sampleEvery() {
    return sampleEvery;
  }

  long sampleMask() {
    return sampleEvery == 0 ? NEVER : (sampleEvery - 1L) << BlockCache.TAKES_SHIFT;
  }

  static boolean isAtSample(long word, long sampleMask) {
    return (word & sampleMask) == sampleMask;
  }

  boolean areTaken() {
    return sampleEvery != 0;
  }

  /**
   * Counts an allocation that was due by {@link #isAtSample}.
   *
   * @param samples how many samples it stands for, itself included
   */
  void recordSample(long durationNs, long samples) {
    histogram.record(durationNs, samples * sampleEvery);
  }

  /** Counts an allocation that stands for itself. */
  void record(long durationNs) {
    histogram.record(durationNs);
  }

  Distribution snapshot() {
    return histogram.snapshot();
  }
}
