package io.rdma4j.pool;

import io.rdma4j.status.TableDescriptor;
import io.rdma4j.status.TableDescriptor.Column;
import io.rdma4j.status.TableDescriptor.Kind;
import io.rdma4j.status.TableSource;
import java.util.List;

/** The {@link HeatTable} of a pool as a table of a status registry, the hottest slab first. */
final class HeatTableSource implements TableSource {
  private static final TableDescriptor TABLE =
      new TableDescriptor(
          "pool",
          "Slabs of the pool, the hottest first.",
          List.of(
              new Column("block_id", Kind.TEXT, "Address of the slab."),
              new Column(
                  "last_use_epoch_ms",
                  Kind.WHOLE,
                  "When a block of it was last seen on lease; its creation if never."),
              new Column("age_seconds", Kind.REAL, "How long ago that is."),
              new Column("use_count", Kind.WHOLE, "Leases of its blocks so far."),
              new Column("state", Kind.TEXT, "ACTIVE, PENDING deregistration, or LEAVING."),
              new Column("block_bytes", Kind.WHOLE, "Size of its blocks."),
              new Column("live_blocks", Kind.WHOLE, "Blocks on lease now."),
              new Column("blocks", Kind.WHOLE, "All its blocks."),
              new Column("node", Kind.WHOLE, "NUMA node, unknown on a machine of one node."),
              new Column(
                  "fallback",
                  Kind.FLAG,
                  "Whether it was registered for one request that could not wait.")));

  private final RegisteredBufferPool pool;

  HeatTableSource(RegisteredBufferPool pool) {
    this.pool = pool;
  }

  @Override
  public TableDescriptor table() {
    return TABLE;
  }

  @Override
  public void collect(Rows rows) {
    for (HeatTable.Row slab : pool.heat().rows()) {
      rows.add(
          slab.id(),
          slab.lastUseEpochMillis(),
          slab.ageSeconds(),
          slab.uses(),
          slab.state().name(),
          (long) slab.blockBytes(),
          (long) slab.liveBlocks(),
          (long) slab.blocks(),
          slab.node() == PoolStatistics.Node.UNKNOWN ? null : (Long) (long) slab.node(),
          slab.fallback());
    }
  }

  @Override
  public String toString() {
    return "the heat table of a pool";
  }
}
