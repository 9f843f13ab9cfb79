package io.rdma4j.pool.internal;

/**
 * What is known of one block, in one long.
 *
 * <pre>
 *  63                 38 37      32  31  30                          0
 * +---------------------+----------+---+------------------------------+
 * | holder              | class    | 0 | generation, odd while leased |
 * +---------------------+----------+---+------------------------------+
 * </pre>
 *
 * The holder is the identity, from {@link Holders}, of the thread cache that keeps the block, or
 * that leased it; 0 for all others. A generation grows by one at each lease and each release, and
 * wraps after 2^30 leases of the block.
 */
final class BlockState {
  /** Most classes that the bits have room for. */
  static final int MOST_CLASSES = 1 << 6;

  static final int GENERATION_MASK = 0x7fff_ffff;

  private static final int CLASS_SHIFT = 32;
  private static final int HOLDER_SHIFT = 38;
  private static final long OVERFLOW = 1L << 31;

  private BlockState() {}

  static long of(int holder, int sizeClass, int generation) {
    return of(holder, sizeClass) | generation;
  }

  /** Returns a state but for its generation. */
  static long of(int holder, int sizeClass) {
    return (long) holder << HOLDER_SHIFT | (long) sizeClass << CLASS_SHIFT;
  }

  static int holder(long state) {
    return (int) (state >>> HOLDER_SHIFT);
  }

  static int sizeClass(long state) {
    return (int) (state >>> CLASS_SHIFT) & MOST_CLASSES - 1;
  }

  static int generation(long state) {
    return (int) state & GENERATION_MASK;
  }

  static boolean isLeased(long state) {
    return (state & 1) != 0;
  }

  /** Returns a free block's state after a lease. */
  static long leased(long free) {
    // An even generation has room for one more.
    return free + 1;
  }

  /** Returns a leased block's state after its release, holder unchanged. */
  static long released(long leased) {
    return leased + 1 & ~OVERFLOW;
  }

  /** Returns a leased block's state after a release by anybody. */
  static long givenBack(long leased) {
    return withHolder(released(leased), Holders.NOBODY);
  }

  /** Returns the state with another holder. */
  static long withHolder(long state, int holder) {
    return of(holder, sizeClass(state), generation(state));
  }
}
