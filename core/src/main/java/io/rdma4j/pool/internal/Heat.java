package io.rdma4j.pool.internal;

/**
 * How much a slab is used, found out by looking at its blocks now and then: generations tell how
 * often blocks were leased, so leasing and releasing pay nothing for it.
 *
 * <p>Written by the maintenance alone; readers see values of the last look.
 */
final class Heat {
  private volatile long lastUseNs;
  private volatile long uses;
  private volatile int liveBlocks;
  private volatile boolean preferred = true;
  private long suspendedAtNs;

  /** Sum of all generations at the last look, modulo 2^32 as they themselves are. */
  private int generations;

  /** Starts with the generations that the blocks' numbers have reached under earlier slabs. */
  Heat(int generations, long nowNs) {
    this.generations = generations;
    this.lastUseNs = nowNs;
  }

  /**
   * Looks at all blocks of a slab; exact if it was leased less than 2^32 times since the last look.
   *
   * @param live the blocks on lease now
   */
  void look(Slab slab, BlockStates states, int live, long nowNs) {
    int sum = 0;
    for (int i = 0; i < slab.blocks(); i++) {
      sum += BlockState.generation(states.get(slab.firstBlock() + i));
    }
    // Each release is one step; the difference is what is live now.
    long steps = Integer.toUnsignedLong(sum - generations);
    long usesNow = uses + steps + live - liveBlocks;
    uses = usesNow;
    if (steps != 0 || live > 0) {
      lastUseNs = nowNs;
    }
    generations = sum;
    liveBlocks = live;
  }

  /** Returns when the slab was last seen in use. */
  long lastUseNs() {
    return lastUseNs;
  }

  /** Returns the leases seen so far. */
  long uses() {
    return uses;
  }

  /** Returns the blocks on lease at the last look. */
  int liveBlocks() {
    return liveBlocks;
  }

  void suspendedAt(long nowNs) {
    suspendedAtNs = nowNs;
  }

  /** Returns when the slab became pending; meaningful only while it is. */
  long suspendedAtNs() {
    return suspendedAtNs;
  }

  /** Returns true when its free blocks should be handed out before those of other slabs. */
  boolean isPreferred() {
    return preferred;
  }

  void prefer(boolean preferred) {
    this.preferred = preferred;
  }
}
