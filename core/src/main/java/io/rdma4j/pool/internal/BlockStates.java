package io.rdma4j.pool.internal;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.rdma4j.os.ReservedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * The {@link BlockState}s of all blocks that a pool may ever have, by block number. Nothing is ever
 * forgotten: when a slab's number is given to another slab, generations go on, and old handles stay
 * invalid.
 *
 * <p>Native memory, since a thread cache writes states through a view that can be revoked. Access
 * here is for everybody else: opaque for a glance and for whoever owns a free block,
 * compare-and-set where releases race.
 */
final class BlockStates {
  /** Layout of a word for plain access; entries are aligned, only the check is saved. */
  static final ValueLayout.OfLong WORD = JAVA_LONG_UNALIGNED;

  static final int SHIFT = 3;

  private static final VarHandle LONG = JAVA_LONG.varHandle();

  private final MemorySegment table;

  BlockStates(long mostBlocks) {
    this.table = ReservedMemory.reserve(mostBlocks << SHIFT);
  }

  MemorySegment table() {
    return table;
  }

  long get(int block) {
    return (long) LONG.getOpaque(table, (long) block << SHIFT);
  }

  long getAcquire(int block) {
    return (long) LONG.getAcquire(table, (long) block << SHIFT);
  }

  void set(int block, long state) {
    LONG.setOpaque(table, (long) block << SHIFT, state);
  }

  boolean compareAndSet(int block, long expected, long wanted) {
    return LONG.compareAndSet(table, (long) block << SHIFT, expected, wanted);
  }

  /**
   * Returns true while the lease of that handle lasts; the block must exist. A plain look, since it
   * comes with every use of a block: whoever may use the block has seen its lease.
   */
  boolean isLeased(long handle) {
    return isLeaseOf(table.get(WORD, (long) BlockHandle.block(handle) << SHIFT), handle);
  }

  static boolean isLeaseOf(long state, long handle) {
    return BlockState.isLeased(state)
        && BlockState.generation(state) == BlockHandle.generation(handle);
  }
}
