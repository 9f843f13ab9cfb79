package io.rdma4j.pool.internal;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.concurrent.Threads;
import io.rdma4j.pool.HeatTable;
import io.rdma4j.pool.PoolConfig;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * What a pool does now and then: gives back what ended and idle threads keep, looks at the heat of
 * slabs, grows classes that miss too often, and trims what is not used.
 *
 * <p>Runs on a thread of its own, or on whichever thread calls {@link #run}; one at a time.
 */
final class Maintenance implements AutoCloseable {
  private static final Logger LOG = System.getLogger("io.rdma4j.pool");
  private static final long SHORTEST_PERIOD_NS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long LONGEST_PERIOD_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long JOIN_NS = TimeUnit.SECONDS.toNanos(10);

  private final String name;
  private final NanoClock clock;
  private final CacheRegistry caches;
  private final Reaper reaper;
  private final LargeObjects large;
  private final HitRates hitRates;
  private final Thermometer thermometer;
  private final long periodNs;
  private @Nullable Thread thread;
  private volatile boolean closed;
  private String lastFailure = "";

  Maintenance(
      String name,
      PoolConfig config,
      SizeClassPool[] classes,
      CacheRegistry caches,
      Slabs slabs,
      LargeObjects large,
      BlockSearch search,
      NanoClock clock) {
    this.name = name;
    this.clock = clock;
    this.caches = caches;
    this.reaper = new Reaper(config, classes, caches, slabs, large);
    this.large = large;
    this.hitRates = new HitRates(config, classes, caches, search);
    this.thermometer = new Thermometer(slabs, caches);
    this.periodNs =
        Math.clamp(
            Math.min(config.cleanupIntervalNs() / 4, config.hitRateWindowNs()),
            SHORTEST_PERIOD_NS,
            LONGEST_PERIOD_NS);
  }

  void start() {
    thread = Thread.ofPlatform().daemon().name(name + "-maintenance").start(this::loop);
  }

  private void loop() {
    while (!closed) {
      LockSupport.parkNanos(this, periodNs);
      try {
        run();
      } catch (RuntimeException e) {
        logOnce(e);
      }
    }
  }

  /** A device that refuses does so every time; one line for each kind is enough. */
  private void logOnce(RuntimeException e) {
    String failure = String.valueOf(e.getMessage());
    if (!closed && !failure.equals(lastFailure)) {
      lastFailure = failure;
      LOG.log(Level.WARNING, name + ": " + failure + "; trying again every " + periodNs + " ns", e);
    }
  }

  /**
   * Does one round.
   *
   * @return the threads that had ended since the last one
   * @throws RuntimeException when a device refuses to forget memory, which is kept; the next round
   *     tries again
   */
  synchronized int run() {
    if (closed) {
      return 0;
    }
    long nowNs = clock.nanoTime();
    int ended = caches.sweep();
    caches.recordSamples();
    hitRates.run(nowNs);
    try {
      reaper.run(nowNs);
    } finally {
      large.maintain(nowNs);
    }
    return ended;
  }

  /** Looks at the heat of all slabs, between two rounds. */
  synchronized HeatTable heat() {
    return closed
        ? new HeatTable(List.of())
        : thermometer.read(clock.nanoTime(), System.currentTimeMillis());
  }

  /** Ends the thread; no round is under way when this returns. */
  @Override
  public void close() {
    closed = true;
    Thread running = thread;
    if (running != null) {
      LockSupport.unpark(running);
      Threads.join(running, JOIN_NS);
    }
    synchronized (this) {
      thread = null;
    }
  }
}
