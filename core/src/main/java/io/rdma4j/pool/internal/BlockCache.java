package io.rdma4j.pool.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A small stack of free blocks of one class, in front of the shared list.
 *
 * <p>{@link #take}, {@link #keep}, {@link #fill} and {@link #drain} belong to the thread that holds
 * the cache. The others are for any thread that does not hold it.
 *
 * <p>One word counts blocks and the takes that made them fewer, so that both change by one store.
 * How many releases there were follows from it and from the blocks that came and went by batches.
 *
 * <pre>
 *  63                                       17  16   15                0
 * +-------------------------------------------+------+-------------------+
 * | takes so far                              | BUSY | blocks now        |
 * +-------------------------------------------+------+-------------------+
 * </pre>
 */
abstract class BlockCache {
  static final int NONE = BlockLinks.NONE;

  /** Largest number of blocks that the word has room for. */
  static final int MOST_BLOCKS = 0xffff;

  /** Set in the word while an operation is under way, where that must be told. */
  static final long BUSY = 0x1_0000;

  /** Added to the word by a take: one take more, one block less. */
  static final long TAKE = 0x2_0000 - 1;

  /** Added to the word by a release: one block more. */
  static final long KEEP = 1;

  static final int TAKES_SHIFT = 17;
  private static final VarHandle NET_FILLED;

  static {
    try {
      NET_FILLED = MethodHandles.lookup().findVarHandle(BlockCache.class, "netFilled", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final int sizeClass;

  /** Blocks that came by batches less those that went by batches; written under a lock. */
  private long netFilled;

  private long wordAtLastLook;

  BlockCache(int sizeClass) {
    this.sizeClass = sizeClass;
  }

  /** Returns the class of all blocks in it. */
  public final int sizeClass() {
    return sizeClass;
  }

  static int count(long word) {
    return (int) word & MOST_BLOCKS;
  }

  /** Makes the calling thread the holder, where that is not settled. */
  void hold() {}

  /** Ends what {@link #hold} began. */
  void letGo() {}

  /** Leases the block that was kept last; its handle, {@link BlockHandle#NONE} if there is none. */
  abstract long take();

  /**
   * Keeps a free block, which belongs to the calling thread, unless the cache is full or out of
   * use.
   */
  abstract boolean keep(int block);

  /** Opens the cache again after its blocks were taken away; false when that is not the matter. */
  abstract boolean reopen();

  /**
   * Keeps the first blocks of a chain, as far as there is room.
   *
   * @return the first block that was not taken, {@link #NONE} when all were
   */
  abstract int fill(int chain, int blocks);

  /** Removes the coldest blocks but {@code kept} of them; a batch or {@link #NONE}. */
  abstract int drain(int kept);

  /** Takes all blocks away from the holder; a batch or {@link #NONE}. */
  abstract int takeAll();

  /** Returns the word, at a glance. */
  abstract long word();

  final void countFilled(int blocks) {
    NET_FILLED.setOpaque(this, netFilled + blocks);
  }

  /** Returns true when nothing was taken or kept since the last call; for one thread alone. */
  final boolean isIdleSinceLastLook() {
    long word = word();
    boolean idle = word == wordAtLastLook;
    wordAtLastLook = word;
    return idle;
  }

  /** Returns the blocks kept, at a glance. */
  final int count() {
    return count(word());
  }

  /** Returns the takes so far. */
  long takes() {
    return word() >>> TAKES_SHIFT;
  }

  /** Returns the releases so far. */
  long releases() {
    long word = word();
    return count(word) + (word >>> TAKES_SHIFT) - (long) NET_FILLED.getOpaque(this);
  }
}
