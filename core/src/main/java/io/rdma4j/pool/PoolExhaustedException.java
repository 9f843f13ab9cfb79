package io.rdma4j.pool;

import io.rdma4j.Rdma4jException;

/**
 * No block of the class is free anywhere and the pool's byte budget leaves no room for another
 * slab. Releasing a buffer of the class, from any thread, makes the next allocation succeed.
 */
public final class PoolExhaustedException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  private final int blockBytes;
  private final long maxBytes;
  private final long registeredBytes;
  private final long usedBlocks;
  private final int waiters;

  PoolExhaustedException(
      int blockBytes, long maxBytes, long registeredBytes, long usedBlocks, int waiters) {
    super(
        ("no free block of %d bytes: %d of them in use, %d bytes registered of a budget of %d, %d"
                + " threads waiting for growth; release buffers, or raise %s")
            .formatted(
                blockBytes, usedBlocks, registeredBytes, maxBytes, waiters, PoolConfig.MAX_BYTES));
    this.blockBytes = blockBytes;
    this.maxBytes = maxBytes;
    this.registeredBytes = registeredBytes;
    this.usedBlocks = usedBlocks;
    this.waiters = waiters;
  }

  /** Returns the block size of the class that ran out. */
  public int blockBytes() {
    return blockBytes;
  }

  /** Returns the pool's byte budget. */
  public long maxBytes() {
    return maxBytes;
  }

  /** Returns the bytes registered for all classes together. */
  public long registeredBytes() {
    return registeredBytes;
  }

  /** Returns the blocks of the class that are on lease. */
  public long usedBlocks() {
    return usedBlocks;
  }

  /** Returns the threads that were waiting for the class to grow. */
  public int waiters() {
    return waiters;
  }
}
