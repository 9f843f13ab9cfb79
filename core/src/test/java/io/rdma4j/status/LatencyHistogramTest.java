package io.rdma4j.status;

import static io.rdma4j.status.LatencyHistogram.MAX_NS;
import static io.rdma4j.status.LatencyHistogram.RELATIVE_ERROR;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.Distribution.Bucket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A failing run is repeated with {@code -Dseed=...}. */
@Timeout(120)
class LatencyHistogramTest {
  private static final double[] PERCENTS = {
    0, 0.001, 1, 10, 25, 33.3, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 100
  };

  private final LatencyHistogram histogram = new LatencyHistogram();

  @RepeatedTest(20)
  void agreesWithTheSortedValuesAndWithHdrHistogram() {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    String shape = null;
    for (Map.Entry<String, LongSupplier> values : shapes(random).entrySet()) {
      shape = values.getKey() + ", seed " + seed;
      LatencyHistogram ours = new LatencyHistogram();
      Histogram theirs = new Histogram(MAX_NS, 3);
      long[] recorded = new long[1 + random.nextInt(5000)];
      for (int i = 0; i < recorded.length; i++) {
        recorded[i] = values.getValue().getAsLong();
        ours.record(recorded[i]);
        theirs.recordValue(recorded[i]);
      }
      Arrays.sort(recorded);
      Distribution distribution = ours.snapshot();
      assertTotals(recorded, distribution, shape);
      assertPercentiles(recorded, theirs, distribution, shape);
      assertBuckets(recorded, distribution, shape);
    }
  }

  /** Up to a bucket's width, as a part's shortest and longest are not kept. */
  @RepeatedTest(20)
  void aPartOfItIsADistributionOfItsOwn() {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    for (Map.Entry<String, LongSupplier> values : shapes(random).entrySet()) {
      LatencyHistogram all = new LatencyHistogram();
      LatencyHistogram part = new LatencyHistogram();
      for (int i = random.nextInt(1000); i > 0; i--) {
        all.record(values.getValue().getAsLong());
      }
      Distribution before = all.snapshot();
      for (int i = random.nextInt(1000); i > 0; i--) {
        long ns = values.getValue().getAsLong();
        all.record(ns);
        part.record(ns);
      }
      String shape = values.getKey() + ", seed " + seed;
      Distribution since = all.snapshot().since(before);
      Distribution expected = part.snapshot();
      assertEquals(expected.count(), since.count(), shape);
      assertEquals(expected.sumNs(), since.sumNs(), shape);
      assertEquals(expected.buckets(), since.buckets(), shape);
      for (double percent : PERCENTS) {
        double exact = expected.percentileNs(percent);
        assertEquals(
            exact, (double) since.percentileNs(percent), 2 * RELATIVE_ERROR * exact + 1, shape);
      }
    }
  }

  private static Map<String, LongSupplier> shapes(Random random) {
    return Map.of(
        "uniform", () -> random.nextLong(MAX_NS + 1),
        "uniform in the exponent", () -> random.nextLong((1L << (1 + random.nextInt(42))) + 1),
        "small", () -> random.nextLong(200),
        "at the edges of buckets",
            () -> Math.clamp((1L << random.nextInt(43)) + random.nextInt(3) - 1, 0, MAX_NS),
        "two modes", () -> random.nextInt(100) < 98 ? 900 + random.nextInt(300) : 20_000_000,
        "one value", () -> 12_345);
  }

  private static void assertTotals(long[] sorted, Distribution distribution, String shape) {
    assertEquals(sorted.length, distribution.count(), shape);
    assertEquals(Arrays.stream(sorted).sum(), distribution.sumNs(), shape);
    assertEquals(sorted[0], distribution.minNs(), shape);
    assertEquals(sorted[sorted.length - 1], distribution.maxNs(), shape);
  }

  private static void assertPercentiles(
      long[] sorted, Histogram theirs, Distribution distribution, String shape) {
    for (double percent : PERCENTS) {
      long ours = distribution.percentileNs(percent);
      String where = percent + " % of " + shape;
      int rank = Math.max(1, (int) Math.ceil(Math.nextDown(percent * sorted.length / 100)));
      assertWithin(RELATIVE_ERROR, sorted[rank - 1], ours, where);
      // Theirs is off by up to one in a thousand itself.
      long hdr = theirs.getValueAtPercentile(percent);
      assertWithin(RELATIVE_ERROR + 0.0011, hdr, ours, "HdrHistogram, " + where);
    }
    assertEquals(sorted[sorted.length - 1], distribution.percentileNs(100), shape);
  }

  private static void assertBuckets(long[] sorted, Distribution distribution, String shape) {
    for (Bucket bucket : distribution.buckets()) {
      long expected = Arrays.stream(sorted).filter(ns -> ns <= bucket.boundNs()).count();
      assertEquals(expected, bucket.count(), () -> "up to " + bucket.boundNs() + " of " + shape);
    }
  }

  private static void assertWithin(double relativeError, long exact, long reported, String where) {
    assertTrue(
        Math.abs(reported - exact) <= exact * relativeError,
        () -> where + ": " + reported + " instead of " + exact);
  }

  @Test
  void bucketsFollowEachOtherWithoutGap() {
    assertEquals(0, LatencyHistogram.bucketOf(0));
    assertEquals(64, LatencyHistogram.bucketOf(64));
    assertEquals(65, LatencyHistogram.bucketOf(65));
    assertEquals(1185, LatencyHistogram.bucketOf((1L << 41) + 1));
    assertEquals(1216, LatencyHistogram.bucketOf(MAX_NS));
    assertEquals(1217, LatencyHistogram.BUCKETS);
    for (int bucket = 0; bucket < LatencyHistogram.BUCKETS; bucket++) {
      assertEquals(bucket, LatencyHistogram.bucketOf(LatencyHistogram.middleNs(bucket)));
    }
    int last = 0;
    for (long ns = 1; ns <= 100_000; ns++) {
      int bucket = LatencyHistogram.bucketOf(ns);
      assertTrue(bucket == last || bucket == last + 1, "at " + ns);
      assertWithin(RELATIVE_ERROR, ns, LatencyHistogram.middleNs(bucket), "at " + ns);
      last = bucket;
    }
    for (int power = 7; power <= 42; power++) {
      long bound = 1L << power;
      int bucket = LatencyHistogram.bucketOf(bound);
      assertEquals(bucket, LatencyHistogram.bucketOf(bound - 1), "up to 2^" + power);
      if (bound < MAX_NS) {
        assertEquals(bucket + 1, LatencyHistogram.bucketOf(bound + 1), "after 2^" + power);
      }
    }
  }

  @Test
  void whatIsOutOfRangeCountsAtItsEnd() {
    histogram.record(-5);
    histogram.record(Long.MIN_VALUE);
    histogram.record(0);
    Distribution low = histogram.snapshot();
    assertEquals(List.of(3L, 0L, 0L, 0L), facts(low));
    assertEquals(0, low.percentileNs(50));

    histogram.record(Long.MAX_VALUE);
    histogram.record(MAX_NS + 1);
    histogram.record(MAX_NS);
    Distribution all = histogram.snapshot();
    assertEquals(List.of(6L, 3 * MAX_NS, 0L, MAX_NS), facts(all));
    assertEquals(MAX_NS, all.percentileNs(100));
    assertEquals(3, all.buckets().getLast().count(), "what is longer than the last bound");
  }

  @Test
  void anEmptyOneIsZero() {
    Distribution empty = histogram.snapshot();
    assertTrue(empty.isEmpty());
    assertEquals(List.of(0L, 0L, 0L, 0L), facts(empty));
    assertEquals(0, empty.percentileNs(0));
    assertEquals(0, empty.percentileNs(99));
    assertTrue(empty.buckets().stream().allMatch(bucket -> bucket.count() == 0));
    assertEquals(64, empty.buckets().getFirst().boundNs());
    assertEquals(1L << 34, empty.buckets().getLast().boundNs());
  }

  @Test
  void aPercentileIsOfTheNearestRank() {
    for (int i = 1; i <= 10; i++) {
      histogram.record(i);
    }
    Distribution distribution = histogram.snapshot();
    assertEquals(1, distribution.percentileNs(0));
    assertEquals(5, distribution.percentileNs(50));
    assertEquals(6, distribution.percentileNs(50.1));
    assertEquals(9, distribution.percentileNs(90));
    assertEquals(10, distribution.percentileNs(99));
    for (double bad : new double[] {-0.1, 100.1, Double.NaN}) {
      assertThrows(IllegalArgumentException.class, () -> distribution.percentileNs(bad));
    }
  }

  @Test
  void aSnapshotDoesNotChange() {
    histogram.record(40);
    Distribution before = histogram.snapshot();
    histogram.record(50);
    assertEquals(List.of(1L, 40L, 40L, 40L), facts(before));
    assertEquals(List.of(2L, 90L, 40L, 50L), facts(histogram.snapshot()));
  }

  @Test
  void severalWritersLoseNothing() throws Exception {
    int writers = 4;
    int records = 200_000;
    long seed = Long.getLong("seed", System.nanoTime());
    long smallest = Long.MAX_VALUE;
    long largest = 0;
    long sum = 0;
    try (ExecutorService threads = Executors.newFixedThreadPool(writers)) {
      List<Future<Distribution>> runs = new ArrayList<>();
      for (int w = 0; w < writers; w++) {
        Random random = new Random(seed + w);
        runs.add(threads.submit(() -> recordBoth(random, records)));
      }
      for (Future<Distribution> run : runs) {
        Distribution own = run.get();
        sum += own.sumNs();
        smallest = Math.min(smallest, own.minNs());
        largest = Math.max(largest, own.maxNs());
      }
    }
    assertEquals(
        List.of((long) writers * records, sum, smallest, largest),
        facts(histogram.snapshot()),
        () -> "seed " + seed);
  }

  /** Records into the shared histogram and into one of its own, which it returns. */
  private Distribution recordBoth(Random random, int records) {
    LatencyHistogram own = new LatencyHistogram();
    for (int i = 0; i < records; i++) {
      long ns = random.nextLong(1L << (1 + random.nextInt(30)));
      histogram.record(ns);
      own.record(ns);
    }
    return own.snapshot();
  }

  @Test
  void whatASnapshotCountsIsInItsSumAndExtremes() throws Exception {
    int records = 300_000;
    long base = MAX_NS - records; // the last bucket: a snapshot reads it just before the sum
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Future<?> writer =
          threads.submit(
              () -> {
                for (int i = 0; i < records; i++) {
                  // Falling and rising, so that each record moves an extreme.
                  histogram.record(base + (i % 2 == 0 ? i : -i));
                }
              });
      long seen = 0;
      do {
        Distribution now = histogram.snapshot();
        assertTrue(now.count() >= seen, "the count went back");
        seen = now.count();
        if (seen >= 2) {
          assertTrue(now.sumNs() >= seen * base - seen, () -> now + ": sum " + now.sumNs());
          assertTrue(now.maxNs() >= base + seen - 2, () -> now + ": max " + now.maxNs());
          assertTrue(now.minNs() <= base - seen + 2, () -> now + ": min " + now.minNs());
        }
      } while (!writer.isDone());
      writer.get();
    }
    assertEquals(records, histogram.snapshot().count());
  }

  private static List<Long> facts(Distribution distribution) {
    return List.of(
        distribution.count(), distribution.sumNs(), distribution.minNs(), distribution.maxNs());
  }

  @Test
  void aSampleCountsAsOftenAsItStandsFor() {
    LatencyHistogram histogram = new LatencyHistogram();
    histogram.record(30, 990);
    histogram.record(5000, 10);
    Distribution distribution = histogram.snapshot();
    assertEquals(1000, distribution.count());
    assertEquals(30 * 990 + 5000 * 10, distribution.sumNs());
    assertEquals(30, distribution.percentileNs(99));
    assertTrue(distribution.percentileNs(99.1) > 4900, distribution.toString());
  }
}
