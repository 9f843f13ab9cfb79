package io.rdma4j.pool.internal;

import io.rdma4j.pool.HeatTable;
import io.rdma4j.pool.HeatTable.Row;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Looks at all slabs and says how warm they are. For one thread at a time. */
final class Thermometer {
  private static final Comparator<Row> HOTTEST_FIRST =
      Comparator.comparingLong(Row::lastUseEpochMillis)
          .thenComparingLong(Row::uses)
          .reversed()
          .thenComparing(Row::id);

  private final Slabs slabs;
  private final CacheRegistry caches;

  Thermometer(Slabs slabs, CacheRegistry caches) {
    this.slabs = slabs;
    this.caches = caches;
  }

  /**
   * Looks now.
   *
   * @param nowNs the pool's time
   * @param nowEpochMillis the same moment by the calendar
   */
  HeatTable read(long nowNs, long nowEpochMillis) {
    List<Row> rows = new ArrayList<>();
    LiveBlocks live = LiveBlocks.now(caches, slabs);
    for (Slab slab : slabs.table().all()) {
      if (slab.state() != Slab.State.GONE && !slab.isForgotten()) {
        slab.heat().look(slab, slabs.states(), live.of(slab), nowNs);
        HeatTable.State state =
            slab.state() == Slab.State.PENDING ? HeatTable.State.PENDING : HeatTable.State.ACTIVE;
        rows.add(row(slab, state, nowNs, nowEpochMillis));
      }
    }
    for (Slab slab : slabs.leaving()) {
      rows.add(row(slab, HeatTable.State.LEAVING, nowNs, nowEpochMillis));
    }
    rows.sort(HOTTEST_FIRST);
    return new HeatTable(rows);
  }

  private Row row(Slab slab, HeatTable.State state, long nowNs, long nowEpochMillis) {
    long ageNs = Math.max(0, nowNs - slab.heat().lastUseNs());
    return new Row(
        "0x" + Long.toHexString(slab.address()),
        slab.blockBytes(),
        slab.node(),
        nowEpochMillis - TimeUnit.NANOSECONDS.toMillis(ageNs),
        ageNs / 1e9,
        slab.heat().uses(),
        slab.heat().liveBlocks(),
        slab.blocks(),
        state,
        slab.isFallback());
  }
}
