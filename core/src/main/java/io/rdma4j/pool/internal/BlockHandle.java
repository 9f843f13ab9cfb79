package io.rdma4j.pool.internal;

/**
 * A block on lease as one positive long, which stays unique when the block is released and handed
 * out again.
 *
 * <pre>
 *  63   62                          32 31   30                          0
 * +---+-------------------------------+---+------------------------------+
 * | 0 | generation, odd while leased  | 0 | block number                 |
 * +---+-------------------------------+---+------------------------------+
 * </pre>
 *
 * A block's generation grows by one at each lease and each release, and wraps after 2^30 leases.
 * Pools start theirs far apart, so a handle of another pool is refused like an old one.
 */
public final class BlockHandle {
  /** Stands for no block: an even generation, so never on lease. */
  public static final long NONE = 0;

  private static final int GENERATION_MASK = 0x7fff_ffff;

  private BlockHandle() {}

  /** Packs a handle. */
  public static long of(int block, int generation) {
    return (long) generation << 32 | block;
  }

  /** Returns the block number, not negative for any handle that {@link #of} made. */
  public static int block(long handle) {
    return (int) handle;
  }

  /** Returns the generation, compared with the block's own to tell live from stale. */
  public static int generation(long handle) {
    return (int) (handle >>> 32);
  }

  /** Returns the generation after {@code generation}. */
  static int next(int generation) {
    return generation + 1 & GENERATION_MASK;
  }

  /** Returns true for the generation of a block on lease. */
  static boolean isLeased(int generation) {
    return (generation & 1) != 0;
  }

  /** Returns a free block's generation to start from, far from that of other pools. */
  static int firstGeneration(int poolNumber) {
    return poolNumber * 0x9e37_79b9 & GENERATION_MASK & ~1;
  }
}
