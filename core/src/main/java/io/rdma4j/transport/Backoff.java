package io.rdma4j.transport;

import java.util.random.RandomGenerator;

/**
 * Waiting times between attempts: each is a random part of a bound that doubles up to a cap. So
 * many clients that lost a server at one moment do not come back at one moment.
 *
 * <p>One thread at a time.
 */
final class Backoff {
  private final long baseNs;
  private final long capNs;
  private final RandomGenerator random;
  private long boundNs;

  Backoff(long baseNs, long capNs, RandomGenerator random) {
    this.baseNs = baseNs;
    this.capNs = capNs;
    this.random = random;
    this.boundNs = baseNs;
  }

  /** Returns how long to wait before the next attempt. */
  long nextDelayNs() {
    long delayNs = random.nextLong(boundNs + 1);
    boundNs = boundNs >= capNs / 2 ? capNs : boundNs * 2;
    return delayNs;
  }

  /** Starts again with the shortest waits, after a success. */
  void reset() {
    boundNs = baseNs;
  }
}
