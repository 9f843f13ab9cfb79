package io.rdma4j.pool.internal;

import io.rdma4j.pool.PoolConfig;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * Gives back registered memory that is not used, late enough not to want it again.
 *
 * <p>A slab without a block on lease for the cleanup interval becomes pending: its blocks leave the
 * lists, it stays registered, and the class takes it back at once when it runs out. Pending for
 * another interval, it is deregistered and unmapped. A class that had to grow soon after a slab was
 * removed waits twice as long the next time, up to {@link #MOST_PATIENCE} intervals.
 *
 * <p>On the way it sorts the lists: blocks of slabs that have many on lease are handed out first,
 * so that the others become empty. Not safe for several threads.
 */
final class Reaper {
  private static final int MOST_PATIENCE = 8;

  private final PoolConfig config;
  private final SizeClassPool[] classes;
  private final CacheRegistry caches;
  private final Slabs slabs;
  private final LargeObjects large;
  private final Patience[] patience;
  private long lastIdleLookNs;
  private boolean started;

  Reaper(
      PoolConfig config,
      SizeClassPool[] classes,
      CacheRegistry caches,
      Slabs slabs,
      LargeObjects large) {
    this.config = config;
    this.classes = classes;
    this.caches = caches;
    this.slabs = slabs;
    this.large = large;
    this.patience = new Patience[classes.length];
    Arrays.setAll(patience, c -> new Patience());
  }

  /**
   * Does one round.
   *
   * @throws RuntimeException when a device refuses to forget memory, after everything else was done
   */
  void run(long nowNs) {
    takeBackIdle(nowNs);
    LiveBlocks live = LiveBlocks.now(caches, slabs);
    for (Slab slab : slabs.table().all()) {
      slab.heat().look(slab, slabs.states(), live.of(slab), nowNs);
    }
    slabs.countAdoptions(live);
    for (SizeClassPool pool : classes) {
      sort(pool, suspendable(pool, nowNs), nowNs);
    }
    for (SizeClassPool pool : classes) {
      removePending(pool, nowNs);
    }
    slabs.retryLeaving();
  }

  private void takeBackIdle(long nowNs) {
    if (!started) {
      started = true;
      lastIdleLookNs = nowNs;
    }
    if (nowNs - lastIdleLookNs >= config.cleanupIntervalNs() / 2) {
      lastIdleLookNs = nowNs;
      caches.takeBackIdle();
    }
  }

  /** Returns the slabs of a class that may go, the coldest first. */
  private List<Slab> suspendable(SizeClassPool pool, long nowNs) {
    if (pool.isReserve()) {
      return List.of();
    }
    long spareBytes = large.settledBytes() - reservedBytes();
    List<Slab> idle = new ArrayList<>();
    for (Slab slab : slabs.table().all()) {
      if (slab.sizeClass() == pool.sizeClass()
          && slab.state() == Slab.State.ACTIVE
          && slab.heat().liveBlocks() == 0
          && nowNs - slab.heat().lastUseNs() >= config.cleanupIntervalNs()) {
        idle.add(slab);
      }
    }
    idle.sort(Comparator.comparingLong(slab -> slab.heat().lastUseNs() - nowNs));
    List<Slab> chosen = new ArrayList<>();
    for (Slab slab : idle) {
      if (spareBytes - slab.lengthBytes() >= config.minBytes()) {
        spareBytes -= slab.lengthBytes();
        chosen.add(slab);
      }
    }
    return chosen;
  }

  /** Returns the bytes of the receive reserve, which is not part of the minimum. */
  private long reservedBytes() {
    return Arrays.stream(classes)
        .filter(SizeClassPool::isReserve)
        .mapToLong(pool -> pool.registeredBlocks() * pool.blockBytes())
        .sum();
  }

  private void sort(SizeClassPool pool, List<Slab> leaving, long nowNs) {
    if (preferFuller(pool) || !leaving.isEmpty()) {
      new ListSorter(pool, slabs, leaving).sort(nowNs);
    }
  }

  /**
   * Marks the fullest slabs of a class that together have room for what is in use and a quarter
   * more.
   *
   * @return true when a mark has changed
   */
  private boolean preferFuller(SizeClassPool pool) {
    Slab[] ofClass =
        Arrays.stream(slabs.table().all())
            .filter(slab -> slab.sizeClass() == pool.sizeClass())
            .sorted(Comparator.comparingInt((Slab slab) -> -slab.heat().liveBlocks()))
            .toArray(Slab[]::new);
    long live = Arrays.stream(ofClass).mapToLong(slab -> slab.heat().liveBlocks()).sum();
    long wanted = live + live / 4 + 1;
    boolean changed = false;
    for (Slab slab : ofClass) {
      boolean preferred = wanted > 0;
      changed |= slab.heat().isPreferred() != preferred;
      slab.heat().prefer(preferred);
      wanted -= slab.blocks();
    }
    pool.sorting(wanted <= 0);
    return changed;
  }

  private void removePending(SizeClassPool pool, long nowNs) {
    Patience patience = this.patience[pool.sizeClass()];
    patience.note(pool.growth().completed() + pool.revivals(), nowNs, config.cleanupIntervalNs());
    for (Slab slab : pool.pending()) {
      if (nowNs - slab.heat().suspendedAtNs() < patience.intervals * config.cleanupIntervalNs()) {
        return;
      }
      if (slabs.retire(pool, slab)) {
        patience.removed(nowNs);
      }
    }
  }

  /** How many intervals memory of one kind stays pending. */
  static final class Patience {
    private int intervals = 1;
    private long growthsSeen;
    private boolean hasRemoved;
    private long lastRemovalNs;
    private long lastGrowthNs;

    void note(long growths, long nowNs, long intervalNs) {
      boolean grown = growths != growthsSeen;
      growthsSeen = growths;
      if (grown) {
        lastGrowthNs = nowNs;
      }
      if (grown && hasRemoved && nowNs - lastRemovalNs < 2L * intervals * intervalNs) {
        intervals = Math.min(MOST_PATIENCE, 2 * intervals);
        hasRemoved = false;
      } else if (nowNs - lastGrowthNs > 2L * MOST_PATIENCE * intervalNs) {
        intervals = 1;
      }
    }

    int intervals() {
      return intervals;
    }

    void removed(long nowNs) {
      hasRemoved = true;
      lastRemovalNs = nowNs;
    }
  }
}
