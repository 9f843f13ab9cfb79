package io.rdma4j.status;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Durations as they were distributed at one moment; made by {@link LatencyHistogram#snapshot}.
 *
 * <p>Immutable. All values are nanoseconds. Of an empty distribution they are 0, so ask {@link
 * #isEmpty} first where 0 would mislead.
 */
public final class Distribution implements Metric.Value {
  /**
   * Durations up to a bound.
   *
   * @param boundNs the longest duration counted
   * @param count how many lasted no longer
   */
  public record Bucket(long boundNs, long count) {}

  /** Bounds of {@link #buckets}, as powers of two: 64 ns to 17 s. */
  private static final int FIRST_BOUND = 6;

  private static final int LAST_BOUND = 34;

  private static final double NS_PER_SECOND = 1e9;

  private final long[] counts;
  private final long count;
  private final long sumNs;
  private final long minNs;
  private final long maxNs;

  /** Takes over {@code counts}, by bucket of {@link LatencyHistogram}. */
  Distribution(long[] counts, long sumNs, long minNs, long maxNs) {
    long total = 0;
    for (long inBucket : counts) {
      total += inBucket;
    }
    this.counts = counts;
    this.count = total;
    this.sumNs = total == 0 ? 0 : sumNs;
    this.minNs = total == 0 ? 0 : minNs;
    this.maxNs = total == 0 ? 0 : maxNs;
  }

  /** Returns whether nothing was recorded. */
  public boolean isEmpty() {
    return count == 0;
  }

  /** Returns how many durations were recorded: the sum of all buckets. */
  public long count() {
    return count;
  }

  /** Returns their sum, exactly. */
  public long sumNs() {
    return sumNs;
  }

  /** Returns the shortest, exactly. */
  public long minNs() {
    return minNs;
  }

  /** Returns the longest, exactly. */
  public long maxNs() {
    return maxNs;
  }

  /**
   * Returns the duration that {@code percent} of all do not exceed (nearest rank: at 50 of three
   * the second), within {@link LatencyHistogram#RELATIVE_ERROR}.
   *
   * @throws IllegalArgumentException unless {@code 0 <= percent <= 100}
   */
  public long percentileNs(double percent) {
    if (!(percent >= 0 && percent <= 100)) {
      throw new IllegalArgumentException("percent is from 0 to 100, not " + percent);
    }
    if (isEmpty() || percent == 100) {
      return maxNs;
    }
    long rank = rank(percent);
    long seen = 0;
    for (int bucket = 0; bucket < counts.length; bucket++) {
      seen += counts[bucket];
      if (seen >= rank) {
        return withinAll(bucket);
      }
    }
    throw new AssertionError("rank " + rank + " of " + count);
  }

  /** One unit in the last place less, so that 99.9 % of 1000 is the 999th and not the 1000th. */
  private long rank(double percent) {
    return Math.clamp((long) Math.ceil(Math.nextDown(percent * count / 100)), 1, count);
  }

  /**
   * Returns what was recorded after an earlier moment. The shortest and the longest are known as
   * well as a percentile is.
   *
   * @param earlier of the same histogram
   */
  public Distribution since(Distribution earlier) {
    long[] later = new long[counts.length];
    int first = counts.length;
    int last = 0;
    for (int bucket = 0; bucket < counts.length; bucket++) {
      later[bucket] = counts[bucket] - earlier.counts[bucket];
      if (later[bucket] > 0) {
        first = Math.min(first, bucket);
        last = bucket;
      }
    }
    return first == counts.length
        ? new Distribution(later, 0, 0, 0)
        : new Distribution(later, sumNs - earlier.sumNs, withinAll(first), withinAll(last));
  }

  private long withinAll(int bucket) {
    return Math.clamp(LatencyHistogram.middleNs(bucket), minNs, maxNs);
  }

  /**
   * Returns cumulative counts, exactly, for bounds that are always the same: each power of two from
   * 64 ns to 17 s. What lasted longer is in {@link #count} alone.
   */
  public List<Bucket> buckets() {
    List<Bucket> buckets = new ArrayList<>(LAST_BOUND - FIRST_BOUND + 1);
    long cumulative = 0;
    int next = 0;
    for (int power = FIRST_BOUND; power <= LAST_BOUND; power++) {
      long boundNs = 1L << power;
      for (int last = LatencyHistogram.bucketOf(boundNs); next <= last; next++) {
        cumulative += counts[next];
      }
      buckets.add(new Bucket(boundNs, cumulative));
    }
    return List.copyOf(buckets);
  }

  /** What the text forms show of it: in seconds, by name; of an empty one the count alone. */
  Map<String, Number> summary() {
    Map<String, Number> summary = new LinkedHashMap<>();
    summary.put("count", count);
    if (!isEmpty()) {
      summary.put("sum", sumNs / NS_PER_SECOND);
      summary.put("mean", sumNs / NS_PER_SECOND / count);
      summary.put("min", minNs / NS_PER_SECOND);
      summary.put("p50", percentileNs(50) / NS_PER_SECOND);
      summary.put("p90", percentileNs(90) / NS_PER_SECOND);
      summary.put("p99", percentileNs(99) / NS_PER_SECOND);
      summary.put("p999", percentileNs(99.9) / NS_PER_SECOND);
      summary.put("p9999", percentileNs(99.99) / NS_PER_SECOND);
      summary.put("max", maxNs / NS_PER_SECOND);
    }
    return summary;
  }

  @Override
  public String toString() {
    return summary().toString();
  }
}
