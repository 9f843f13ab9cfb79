package io.rdma4j.pool.internal;

/**
 * The blocks on lease in each slab at some time: those whose states say so, less those that threads
 * keep for themselves, whose states say so ahead of their next lease.
 *
 * <p>Exact while nobody leases or releases, a glance otherwise.
 */
final class LiveBlocks {
  private final BlockStates states;
  private final int[] keptBySlab;

  private LiveBlocks(BlockStates states, int[] keptBySlab) {
    this.states = states;
    this.keptBySlab = keptBySlab;
  }

  /** Looks at what threads keep now. */
  static LiveBlocks now(CacheRegistry caches, Slabs slabs) {
    return new LiveBlocks(slabs.states(), caches.keptBySlab(slabs.table()));
  }

  int of(Slab slab) {
    int number = slab.number();
    int kept = number < keptBySlab.length ? keptBySlab[number] : 0;
    return Math.max(0, slab.leasedBlocks(states) - kept);
  }
}
