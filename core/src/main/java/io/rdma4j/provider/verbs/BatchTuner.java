package io.rdma4j.provider.verbs;

import io.rdma4j.concurrent.NanoClock;

/**
 * How many requests go out with one doorbell: a fixed number, or the one that pays on this device.
 *
 * <p>A batch of {@code n} takes {@code a + n * r}: a fixed price for the doorbell (a system call on
 * software devices, a write to the device on others), and for each request its preparation, the
 * application's work in between included, and its part of the post. So a message costs {@code a/n +
 * r}. Two batch sizes are timed, which gives {@code a} and {@code r}; the limit is the smallest
 * power of two for which the fixed part is at most {@link #FIXED_SHARE} of the rest. A larger batch
 * could not win more than that, and in a smaller one the first message of a burst waits less.
 *
 * <p>Only full batches are timed, {@link #SAMPLES} of each size, and the cheapest counts, since
 * interruptions only add. Then {@link #PAUSE} doorbells go by without a look at the clock. So they
 * do when {@link #PATIENCE} batches were cut short meanwhile: the program sends lone messages, for
 * which the size does not matter and the clock would.
 *
 * <p>Holder of the send lock only.
 */
final class BatchTuner {
  /** Requests of one doorbell while nothing better is known. */
  static final int DEFAULT_LIMIT = 16;

  static final double FIXED_SHARE = 0.05;
  static final int SAMPLES = 16;
  static final int PATIENCE = 256;
  static final int PAUSE = 4096;

  private enum Phase {
    PAUSED,
    SMALL,
    LARGE
  }

  private final NanoClock clock;
  private final int mostRequests;
  private final boolean tunes;
  private Phase phase = Phase.PAUSED;
  private int chosen;
  private int limit;
  private int doorbells = PAUSE - 1;
  private int samples;
  private int cutShort;
  private long startNs;
  private double cheapestNs;
  private double smallNs;

  private BatchTuner(NanoClock clock, int mostRequests, int limit, boolean tunes) {
    this.clock = clock;
    this.mostRequests = mostRequests;
    this.tunes = tunes;
    this.chosen = Math.clamp(limit, 1, mostRequests);
    this.limit = chosen;
  }

  /** Returns a tuner that keeps to a limit, or to {@code mostRequests} where that is less. */
  static BatchTuner fixed(int limit, int mostRequests) {
    return new BatchTuner(NanoClock.SYSTEM, mostRequests, limit, false);
  }

  /** Returns a tuner that measures; it starts with {@link #DEFAULT_LIMIT}. */
  static BatchTuner measuring(NanoClock clock, int mostRequests) {
    int most = Integer.highestOneBit(mostRequests);
    return new BatchTuner(clock, most, DEFAULT_LIMIT, most > 1);
  }

  /** Returns the number of requests at which the doorbell is rung. */
  int limit() {
    return limit;
  }

  /** Returns the largest limit there can be. */
  int mostRequests() {
    return mostRequests;
  }

  /** Notes that the first request of a batch is about to be prepared. */
  void begin() {
    if (phase != Phase.PAUSED) {
      startNs = clock.nanoTime();
    }
  }

  /** Notes that a batch was posted. */
  void posted(int requests) {
    if (!tunes) {
      return;
    }
    if (phase != Phase.PAUSED) {
      sample(requests);
    } else if (++doorbells >= PAUSE) {
      // The next size up is the larger one, unless there is none.
      enter(Phase.SMALL, Math.min(chosen, mostRequests / 2));
    }
  }

  private void enter(Phase next, int nextLimit) {
    phase = next;
    limit = nextLimit;
    samples = 0;
    cutShort = 0;
    doorbells = 0;
    cheapestNs = Double.MAX_VALUE;
  }

  private void sample(int requests) {
    if (requests != limit) {
      // By a flush: it says nothing about this size.
      if (++cutShort == PATIENCE) {
        enter(Phase.PAUSED, chosen);
      }
      return;
    }
    cheapestNs = Math.min(cheapestNs, (double) (clock.nanoTime() - startNs) / requests);
    if (++samples < SAMPLES) {
      return;
    }
    if (phase == Phase.SMALL) {
      smallNs = cheapestNs;
      enter(Phase.LARGE, 2 * limit);
    } else {
      chosen = choose(limit, smallNs, cheapestNs);
      enter(Phase.PAUSED, chosen);
    }
  }

  /** Solves for the fixed price; the smaller size is half of the larger one. */
  private int choose(int large, double halfNs, double largeNs) {
    double fixedNs = Math.max(0, (halfNs - largeNs) * large);
    double restNs = Math.max(Double.MIN_NORMAL, largeNs - fixedNs / large);
    int pays = 1;
    while (pays < mostRequests && fixedNs / pays > FIXED_SHARE * restNs) {
      pays *= 2;
    }
    return pays;
  }
}
