package io.rdma4j.bench.monitor;

import io.rdma4j.bench.Progress;
import io.rdma4j.bench.Series;
import io.rdma4j.bench.natives.Linux;
import java.io.IOException;
import java.nio.file.Path;

/**
 * What requests took and cost in pairs of slices.
 *
 * @param path the connection in words
 * @param nsWith nanoseconds for a request in the slices with a monitor
 * @param nsWithout the same in those without
 * @param cpuNsWith CPU of the whole process for a request
 * @param cpuNsWithout the same without
 */
record Slices(
    String path, double[] nsWith, double[] nsWithout, double[] cpuNsWith, double[] cpuNsWithout) {
  /** A slice, and the time between two looks of the monitor in it. */
  static final long SLICE_NS = 200_000_000;

  /** What a second has of the work that one slice has. */
  static final double SHARE = SLICE_NS / 1e9;

  private static final int WARM_UP_PAIRS = 5;

  /**
   * A node that has run for hours has compiled what a monitor runs once a second. Here a monitor in
   * a great hurry does it some hundreds of times before anything counts.
   */
  private static final long HURRY_NS = 5_000_000;

  private static final long WARM_UP_NS = 30_000_000_000L;

  /** The start of a monitor, and the end of another, are over by then. */
  private static final long SETTLE_NS = 10_000_000;

  private static final int MIN_WARM_UP = 200;
  private static final int MAX_ATTEMPTS = 5;

  private record Slice(double ns, double cpuNs) {}

  static Slices measure(Traffic traffic, Path root, int pairs, Progress progress)
      throws IOException {
    Slices slices =
        new Slices(
            traffic.toString(),
            new double[pairs],
            new double[pairs],
            new double[pairs],
            new double[pairs]);
    progress.show("warming up");
    try (Watchers hurried = new Watchers(traffic.node(), root, HURRY_NS)) {
      traffic.run(WARM_UP_NS);
      if (hurried.messages() < MIN_WARM_UP || hurried.scrapes() < MIN_WARM_UP) {
        throw new IOException(
            "only %d messages and %d scrapes in %d s: the machine is too busy to measure on"
                .formatted(hurried.messages(), hurried.scrapes(), WARM_UP_NS / 1_000_000_000));
      }
    }
    for (int pair = -WARM_UP_PAIRS; pair < pairs; pair++) {
      progress.show("pair " + (pair + 1) + " of " + pairs);
      boolean withFirst = pair % 2 == 0;
      Slice first = withFirst ? with(traffic, root) : without(traffic, root);
      Slice second = withFirst ? without(traffic, root) : with(traffic, root);
      if (pair >= 0) {
        slices.set(pair, withFirst ? first : second, withFirst ? second : first);
      }
    }
    progress.clear();
    return slices;
  }

  private void set(int pair, Slice with, Slice without) {
    nsWith[pair] = with.ns;
    nsWithout[pair] = without.ns;
    cpuNsWith[pair] = with.cpuNs;
    cpuNsWithout[pair] = without.cpuNs;
  }

  /** A slice that lacks some of its work, on a machine that was busy, is none. */
  private static Slice with(Traffic traffic, Path root) throws IOException {
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try (Watchers watchers = new Watchers(traffic.node(), root, SLICE_NS)) {
        traffic.run(SETTLE_NS);
        long scrapes = watchers.scrapes();
        long messages = watchers.messages();
        Slice slice = slice(traffic);
        if (watchers.scrapes() > scrapes && watchers.messages() > messages) {
          return slice;
        }
      }
    }
    throw new IOException(
        MAX_ATTEMPTS
            + " slices in a row had no look of the monitor or no scrape in them: the machine is"
            + " too busy to measure on");
  }

  /** A monitor is started and ended here as well, so that what that leaves behind is in both. */
  private static Slice without(Traffic traffic, Path root) throws IOException {
    new Watchers(traffic.node(), root, SLICE_NS).close();
    traffic.run(SETTLE_NS);
    return slice(traffic);
  }

  private static Slice slice(Traffic traffic) throws IOException {
    long cpuNs = Linux.processCpuNs();
    long startNs = System.nanoTime();
    long requests = traffic.run(SLICE_NS);
    double elapsedNs = System.nanoTime() - startNs;
    return new Slice(elapsedNs / requests, (double) (Linux.processCpuNs() - cpuNs) / requests);
  }

  int pairs() {
    return nsWith.length;
  }

  /** Returns requests a second with a monitor. */
  double rateWith() {
    return 1e9 / Series.median(nsWith);
  }

  /** Returns requests a second without. */
  double rateWithout() {
    return 1e9 / Series.median(nsWithout);
  }
}
