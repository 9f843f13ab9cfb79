package io.rdma4j.pool.internal;

/**
 * What is known of one block, in one long.
 *
 * <pre>
 *  63                            32 31                            0
 * +--------------------------------+-------------------------------+
 * | generation                     | tag XOR block number          |
 * +--------------------------------+-------------------------------+
 *
 *  tag of a leased block, that of a free one is 0
 *  31                      6 5       1   0
 * +-------------------------+---------+---+
 * | holder                  | class   | 1 |
 * +-------------------------+---------+---+
 * </pre>
 *
 * The state of a free block is the {@link BlockHandle} that it will be leased by next; that of a
 * leased one is the handle that it is leased by, XOR the tag. So the fast paths, which have both at
 * hand, make and check a state with one instruction.
 *
 * <p>The holder is the identity, from {@link Holders}, of the thread cache that leased the block; 0
 * for all other leases. A generation grows by one at each release, and wraps after 2^32 leases of
 * the block.
 */
final class BlockState {
  private static final int LEASED = 1;
  private static final int CLASS_SHIFT = 1;
  private static final int HOLDER_SHIFT = 6;

  private BlockState() {}

  /** Returns the tag of a leased block. */
  static long leasedTag(int holder, int sizeClass) {
    return Integer.toUnsignedLong(holder << HOLDER_SHIFT | sizeClass << CLASS_SHIFT | LEASED);
  }

  private static int tag(long state, int block) {
    return (int) state ^ block;
  }

  static int holder(long state, int block) {
    return tag(state, block) >>> HOLDER_SHIFT;
  }

  static boolean isLeased(long state, int block) {
    return (tag(state, block) & LEASED) != 0;
  }

  static int generation(long state) {
    return (int) (state >>> BlockHandle.GENERATION_SHIFT);
  }

  /** Returns true for the state of a block that is leased by that handle, whoever holds it. */
  static boolean isLeaseOf(long state, long handle) {
    long tag = state ^ handle;
    return tag >>> BlockHandle.GENERATION_SHIFT == 0 && (tag & LEASED) != 0;
  }
}
