package io.rdma4j.pool.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A small store of free blocks in front of the shared lists: one stack per class.
 *
 * <p>{@link #pop} and {@link #push} are the fast paths and belong to the thread that holds the
 * cache; so do {@link #fill} and {@link #drainHalf}. The others are for any thread that does not
 * hold it.
 *
 * <p>Each stack has one word, so that a pop counts itself by the store that makes it happen. How
 * many pushes there were follows from it and from the blocks that came and went by batches.
 *
 * <pre>
 *  63                                             16 15                0
 * +-------------------------------------------------+-------------------+
 * | pops so far                                     | blocks now        |
 * +-------------------------------------------------+-------------------+
 * </pre>
 */
abstract class BlockCache {
  static final int NONE = BlockLinks.NONE;

  /** Largest capacity that the word has room for. */
  static final int MOST_BLOCKS = 0xffff;

  /** Added to the word by a pop: one pop more, one block less. */
  static final long POP = 0x1_0000 - 1;

  /** Added to the word by a push: one block more. */
  static final long PUSH = 1;

  private static final int POPS_SHIFT = 16;
  private static final VarHandle LONG = MethodHandles.arrayElementVarHandle(long[].class);

  /**
   * Blocks that came by batches less those that went by batches; written under the cache's lock.
   */
  private final long[] netFilled;

  BlockCache(int classes) {
    this.netFilled = new long[classes];
  }

  static int count(long word) {
    return (int) word & MOST_BLOCKS;
  }

  /** Makes the calling thread the holder, where that is not settled. */
  abstract void hold();

  /** Ends what {@link #hold} began. */
  abstract void letGo();

  /** Takes the block that was pushed last, {@link #NONE} when there is none or all were taken. */
  abstract int pop(int sizeClass);

  /**
   * Keeps a block unless there are {@code limit} already, or all were taken.
   *
   * @param limit at most the cache's capacity
   */
  abstract boolean push(int sizeClass, int block, int limit);

  /** Opens the cache again after its blocks were taken; false when that is not why it failed. */
  abstract boolean reopen();

  /**
   * Keeps the first blocks of a chain, as far as there is room.
   *
   * @return the first block that was not taken, {@link #NONE} when all were
   */
  abstract int fill(int sizeClass, int chain, int blocks, BlockLinks links);

  /** Removes the colder half, at least one block if there is one; a batch or {@link #NONE}. */
  abstract int drainHalf(int sizeClass, BlockLinks links);

  /** Takes all blocks of a class away from the holder; a batch or {@link #NONE}. */
  abstract int takeAll(int sizeClass, BlockLinks links);

  /** Returns the word of a class, at a glance. */
  abstract long word(int sizeClass);

  /** Takes the cache out of use: it keeps nothing from here on. */
  abstract void shut();

  final void countFilled(int sizeClass, int blocks) {
    LONG.setOpaque(netFilled, sizeClass, netFilled[sizeClass] + blocks);
  }

  /** Returns the blocks kept, at a glance. */
  final int count(int sizeClass) {
    return count(word(sizeClass));
  }

  /** Returns the pops so far. */
  final long pops(int sizeClass) {
    return word(sizeClass) >>> POPS_SHIFT;
  }

  /** Returns the pushes so far. */
  final long pushes(int sizeClass) {
    long word = word(sizeClass);
    return count(word) + (word >>> POPS_SHIFT) - (long) LONG.getOpaque(netFilled, sizeClass);
  }
}
