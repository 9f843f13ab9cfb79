package io.rdma4j.status;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIII_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads record at once. */
public final class LatencyHistogramStress {
  private LatencyHistogramStress() {}

  /** As it is: count, sum, smallest and largest. */
  @JCStressTest
  @Outcome(id = "4, 24, 3, 9", expect = Expect.ACCEPTABLE, desc = "all there")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a record or an extreme lost")
  @State
  public static class Recording {
    private final LatencyHistogram histogram = new LatencyHistogram();

    @Actor
    public void one() {
      histogram.record(6);
      histogram.record(9);
    }

    @Actor
    public void other() {
      histogram.record(6);
      histogram.record(3);
    }

    @Arbiter
    public void count(IIII_Result result) {
      Distribution seen = histogram.snapshot();
      result.r1 = (int) seen.count();
      result.r2 = (int) seen.sumNs();
      result.r3 = (int) seen.minNs();
      result.r4 = (int) seen.maxNs();
    }
  }

  /** A record that is counted is in the sum as well, for whoever looks at any moment. */
  @JCStressTest
  @Outcome(id = "0, [01]", expect = Expect.ACCEPTABLE, desc = "not counted yet")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "counted, in the sum")
  @Outcome(expect = Expect.FORBIDDEN, desc = "counted, but not in the sum")
  @State
  public static class Looking {
    private final LatencyHistogram histogram = new LatencyHistogram();

    @Actor
    public void writer() {
      histogram.record(1);
    }

    @Actor
    public void reader(II_Result result) {
      Distribution seen = histogram.snapshot();
      result.r1 = (int) seen.count();
      result.r2 = (int) seen.sumNs();
    }
  }

  /** Plain additions. */
  @JCStressTest
  @Outcome(id = "2, 12", expect = Expect.ACCEPTABLE, desc = "all there")
  @Outcome(expect = Expect.ACCEPTABLE_INTERESTING, desc = "a record lost")
  @State
  public static class PlainAdditions {
    private final long[] counts = new long[LatencyHistogram.BUCKETS];
    private long sumNs;

    private void record(long ns) {
      sumNs += ns;
      counts[LatencyHistogram.bucketOf(ns)]++;
    }

    @Actor
    public void one() {
      record(6);
    }

    @Actor
    public void other() {
      record(6);
    }

    @Arbiter
    public void count(II_Result result) {
      result.r1 = (int) counts[LatencyHistogram.bucketOf(6)];
      result.r2 = (int) sumNs;
    }
  }
}
