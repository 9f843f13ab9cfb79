package io.rdma4j.tools.demo;

import java.io.IOException;
import org.HdrHistogram.Histogram;

/**
 * Streams orders over one link: warm-up, round trips with one order under way, then a stream with a
 * window of orders under way.
 *
 * <p>Single thread only.
 */
final class Measurement {
  /** What was measured on the gateway's side. */
  record Timing(
      long messages, Histogram roundTripNs, double messagesPerSecond, double cpuMicrosPerMessage) {
    /** Nothing was measured. */
    static final Timing NONE = new Timing(0, new Histogram(3), Double.NaN, Double.NaN);
  }

  /** Orders or acknowledgements do not arrive, though the link itself has not failed. */
  static final class StalledException extends IOException {
    private static final long serialVersionUID = 1L;

    StalledException(String message) {
      super(message);
    }
  }

  private static final double WARM_UP_SECONDS = 1.5;
  private static final long STALL_LIMIT_NS = 10_000_000_000L;
  private static final int CLOCK_EVERY = 256;

  /** Orders go out in bursts of at least so many, as a gateway's do that serves many clients. */
  private static final int BURST = 16;

  private final OrderLink link;
  private final Orders orders;
  private final DatabaseNode node;
  private final Progress progress;
  private final String name;
  private final Histogram roundTripNs = new Histogram(3);
  private long sequence;

  Measurement(String name, OrderLink link, Orders orders, DatabaseNode node, Progress progress) {
    this.name = name;
    this.link = link;
    this.orders = orders;
    this.node = node;
    this.progress = progress;
  }

  /** Streams without measuring, so that the code all ways share is compiled before the first. */
  void warmUp(double seconds) throws IOException {
    progress.phase(name, "warm-up");
    roundTrips(seconds / 2);
    stream(seconds / 2);
  }

  /** Returns the orders sent so far. */
  long sent() {
    return sequence;
  }

  /** Runs all phases; both measured ones share {@code seconds}. */
  Timing run(double seconds) throws IOException {
    warmUp(WARM_UP_SECONDS);
    roundTripNs.reset();
    long first = sequence;

    progress.phase(name, "round trips");
    roundTrips(seconds / 2);

    progress.phase(name, "stream");
    long cpuBeforeNs = node.cpuNs() + DemoNodeCommand.processCpuNs();
    long streamFirst = sequence;
    long beganNs = System.nanoTime();
    stream(seconds / 2);
    double streamSeconds = (System.nanoTime() - beganNs) / 1e9;
    long cpuNs = node.cpuNs() + DemoNodeCommand.processCpuNs() - cpuBeforeNs;
    long streamed = sequence - streamFirst;
    return new Timing(
        sequence - first, roundTripNs, streamed / streamSeconds, cpuNs / 1e3 / streamed);
  }

  private void roundTrips(double seconds) throws IOException {
    long endNs = System.nanoTime() + (long) (seconds * 1e9);
    long nowNs;
    do {
      byte[] order = orders.next(sequence);
      long sentNs = System.nanoTime();
      while (!link.offer(order, order.length)) {
        link.progress();
        requireProgress(System.nanoTime(), sentNs);
      }
      sequence++;
      await(sequence, sentNs);
      nowNs = System.nanoTime();
      roundTripNs.recordValue(nowNs - sentNs);
      progress.tick(nowNs, sequence);
    } while (nowNs - endNs < 0);
  }

  private void stream(double seconds) throws IOException {
    long endNs = System.nanoTime() + (long) (seconds * 1e9);
    byte[] order = orders.next(sequence);
    long lastAnswered = answered();
    long lastMoveNs = System.nanoTime();
    for (int i = 0; ; i++) {
      if (sequence - answered() <= DemoConfig.WINDOW - BURST) {
        while (sequence - answered() < DemoConfig.WINDOW && link.offer(order, order.length)) {
          sequence++;
          order = orders.next(sequence);
        }
      }
      link.progress();
      if (i % CLOCK_EVERY == 0) {
        long nowNs = System.nanoTime();
        progress.tick(nowNs, sequence);
        if (nowNs - endNs >= 0) {
          break;
        }
        if (answered() != lastAnswered) {
          lastAnswered = answered();
          lastMoveNs = nowNs;
        }
        requireProgress(nowNs, lastMoveNs);
      }
    }
    await(sequence, System.nanoTime());
  }

  /** Waits until {@code count} orders are answered. */
  private void await(long count, long sinceNs) throws IOException {
    for (int i = 1; answered() < count; i++) {
      link.progress();
      if (i % (16 * CLOCK_EVERY) == 0) {
        requireProgress(System.nanoTime(), sinceNs);
      }
    }
  }

  private long answered() {
    return link.acknowledged() + link.refused();
  }

  private void requireProgress(long nowNs, long lastMoveNs) throws IOException {
    if (nowNs - lastMoveNs > STALL_LIMIT_NS) {
      throw new StalledException(
          "no acknowledgement for "
              + STALL_LIMIT_NS / 1_000_000_000L
              + " s; "
              + (sequence - answered())
              + " orders are open");
    }
  }
}
