package io.rdma4j.pool.internal;

import io.rdma4j.os.LongTable;

/**
 * The {@link BlockState}s of all blocks that a pool may ever have, by block number. Nothing is ever
 * forgotten: when a slab's number is given to another slab, generations go on, and old handles stay
 * invalid.
 *
 * <p>Plain access is for the thread whose lease or whose cache the block is; opaque access for a
 * glance and for whoever owns a free block; compare-and-set where releases race. A number that no
 * block has reads as some other block, whose state never fits the handle.
 */
final class BlockStates {
  private final LongTable table;

  BlockStates(long mostBlocks) {
    this.table = new LongTable(Math.toIntExact(mostBlocks));
  }

  LongTable table() {
    return table;
  }

  long get(int block) {
    return table.getOpaque(block);
  }

  long getAcquire(int block) {
    return table.getAcquire(block);
  }

  void set(int block, long state) {
    table.setOpaque(block, state);
  }

  boolean compareAndSet(int block, long expected, long wanted) {
    return table.compareAndSet(block, expected, wanted);
  }

  /** Leases a free block that belongs to the calling thread, to be released by anybody. */
  long lease(int block, int sizeClass) {
    long handle = get(block);
    set(block, handle ^ BlockState.leasedTag(Holders.NOBODY, sizeClass));
    return handle;
  }

  /**
   * Returns true while the lease of that handle lasts; the block must exist. A plain look, since it
   * comes with every use of a block: whoever may use the block has seen its lease.
   */
  boolean isLeased(long handle) {
    return BlockState.isLeaseOf(table.get(BlockHandle.block(handle)), handle);
  }
}
