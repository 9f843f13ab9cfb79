package io.rdma4j.transport;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.status.Distribution;
import io.rdma4j.status.LatencyHistogram;
import io.rdma4j.transport.RequestFailedException.Cause;

/**
 * How long the requests of a node took, and how those without a reply ended.
 *
 * <p>One request in {@value #SAMPLE_EVERY} is timed and counts as many times: two readings of the
 * clock cost as much as a short message. Any thread.
 */
final class RequestTimes {
  static final int SAMPLE_EVERY = 16;

  private final NanoClock clock;
  private final LatencyHistogram times = new LatencyHistogram();
  private final EnumCounts<Cause> failures = new EnumCounts<>(Cause.class);

  RequestTimes(NanoClock clock) {
    this.clock = clock;
  }

  /** Returns whether the request that uses its slot for the {@code use}-th time is timed. */
  static boolean isTimed(long use) {
    return (use & (SAMPLE_EVERY - 1)) == 0;
  }

  long startNs() {
    return clock.nanoTime();
  }

  void replied(long startNs) {
    times.record(clock.nanoTime() - startNs, SAMPLE_EVERY);
  }

  void failed(Cause cause) {
    failures.increment(cause);
  }

  Distribution distribution() {
    return times.snapshot();
  }

  long failures(Cause cause) {
    return failures.get(cause);
  }
}
