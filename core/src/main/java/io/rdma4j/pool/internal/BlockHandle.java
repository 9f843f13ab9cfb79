package io.rdma4j.pool.internal;

/**
 * A block on lease as one long, not 0, which stays unique when the block is released and handed out
 * again.
 *
 * <pre>
 *  63                              32  31   30                         0
 * +-----------------------------------+---+------------------------------+
 * | generation                        | 0 | block number, from 1         |
 * +-----------------------------------+---+------------------------------+
 * </pre>
 *
 * The generation is that of {@link BlockState}. Pools start theirs far apart, so a handle of
 * another pool is refused like an old one.
 */
public final class BlockHandle {
  /** Stands for no block. */
  public static final long NONE = 0;

  static final int GENERATION_SHIFT = 32;

  private BlockHandle() {}

  static long of(int block, int generation) {
    return (long) generation << GENERATION_SHIFT | block;
  }

  /** Returns the block number, not negative for any handle that {@link #of} made. */
  public static int block(long handle) {
    return (int) handle;
  }

  /** Returns the handle that the block will have the next time it is leased. */
  static long next(long handle) {
    return handle + (1L << GENERATION_SHIFT);
  }

  /** Returns a block's generation to start from, far from that of other pools. */
  static int firstGeneration(int poolNumber) {
    return poolNumber * 0x9e37_79b9;
  }
}
