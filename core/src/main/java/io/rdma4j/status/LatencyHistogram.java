package io.rdma4j.status;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts durations in buckets whose width grows with the duration, from 1 ns to 73 minutes.
 *
 * <p>A bucket stands for its middle, which is within {@link #RELATIVE_ERROR} of every duration in
 * it; up to 64 ns a bucket is one value. Each doubling of the duration has 32 buckets:
 *
 * <pre>
 *  bucket             durations, ns              width
 *     0                        0                    1
 *     1 ..   64                1 ..         64      1
 *    65 ..   96               65 ..        128      2
 *    97 ..  128              129 ..        256      4
 *   ...
 *  1185 .. 1216      2^41 +    1 ..       2^42   2^36
 * </pre>
 *
 * <p>So a power of two is the last value of its bucket, and counts up to it are exact.
 *
 * <p>Any thread may record and any may take a snapshot. Recording allocates nothing and waits for
 * nobody: an atomic addition to the bucket and one to the sum; smallest and largest value are
 * written when they change. That is some 10 ns alone and more when writers meet, for they share
 * these words: right for sampled and for slow operations (a registration, a connect), wrong for
 * every message. An instance takes 10 KiB.
 */
public final class LatencyHistogram {
  /** The longest duration kept as it is. */
  public static final long MAX_NS = 1L << 42;

  /** Bound of |reported - recorded| / recorded. */
  public static final double RELATIVE_ERROR = 1.0 / 64;

  private static final int STEP_BITS = 5;
  private static final int STEPS = 1 << STEP_BITS;
  static final int BUCKETS = bucketOf(MAX_NS) + 1;

  private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);
  private final AtomicLong sumNs = new AtomicLong();
  private final AtomicLong minNs = new AtomicLong(Long.MAX_VALUE);
  private final AtomicLong maxNs = new AtomicLong();

  /** Creates an empty histogram. */
  public LatencyHistogram() {}

  /**
   * Counts a duration. A negative one counts as 0 and one above {@link #MAX_NS} as that, in the sum
   * as well: a broken clock must not fail the operation that is measured.
   */
  public void record(long durationNs) {
    record(durationNs, 1);
  }

  /**
   * Counts a duration several times: a sample that stands for as many operations, so that it has
   * its weight beside operations that are all measured. Otherwise as {@link #record(long)}.
   *
   * @param times at least 1
   */
  public void record(long durationNs, long times) {
    long ns = Math.clamp(durationNs, 0, MAX_NS);
    if (ns < minNs.get()) {
      minNs.accumulateAndGet(ns, Math::min);
    }
    if (ns > maxNs.get()) {
      maxNs.accumulateAndGet(ns, Math::max);
    }
    sumNs.getAndAdd(ns * times);
    // Last, so that whoever sees the count sees the rest.
    counts.getAndAdd(bucketOf(ns), times);
  }

  /**
   * Returns what was recorded. Each record that is counted is in sum, smallest and largest; these
   * may also hold records of this moment that the count misses.
   */
  public Distribution snapshot() {
    long[] copy = new long[BUCKETS];
    for (int i = 0; i < BUCKETS; i++) {
      copy[i] = counts.get(i);
    }
    return new Distribution(copy, sumNs.get(), minNs.get(), maxNs.get());
  }

  static int bucketOf(long ns) {
    if (ns == 0) {
      return 0;
    }
    long below = ns - 1;
    int shift = Math.max(0, Long.SIZE - Long.numberOfLeadingZeros(below) - (STEP_BITS + 1));
    return 1 + shift * STEPS + (int) (below >>> shift);
  }

  /** The value a bucket stands for. */
  static long middleNs(int bucket) {
    if (bucket <= 2 * STEPS) {
      return bucket;
    }
    int shift = (bucket - 1) / STEPS - 1;
    long below = (bucket - 1L - (long) shift * STEPS) << shift;
    return below + (1L << (shift - 1));
  }
}
