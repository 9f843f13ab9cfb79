package io.rdma4j.pool;

import io.rdma4j.Rdma4jException;

/**
 * No block of the class is free anywhere and the pool's byte budget leaves no room for another
 * slab, or for a large object. Releasing a buffer of the class, from any thread, makes the next
 * allocation succeed.
 */
public final class PoolExhaustedException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  private final int blockBytes;
  private final long askedBytes;
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
    this.askedBytes = blockBytes;
    this.maxBytes = maxBytes;
    this.registeredBytes = registeredBytes;
    this.usedBlocks = usedBlocks;
    this.waiters = waiters;
  }

  /** A request above the largest block, which found no room for an object of its own. */
  PoolExhaustedException(
      long askedBytes, long maxBytes, long registeredBytes, LargeStatistics large, int waiters) {
    super(
        ("no room for a large object of %d bytes: %d bytes registered of a budget of %d, of which"
             + " %d large objects in use have %d, %d threads waiting for room; release buffers, or"
             + " raise %s")
            .formatted(
                askedBytes,
                registeredBytes,
                maxBytes,
                large.usedObjects(),
                large.usedBytes(),
                waiters,
                PoolConfig.MAX_BYTES));
    this.blockBytes = 0;
    this.askedBytes = askedBytes;
    this.maxBytes = maxBytes;
    this.registeredBytes = registeredBytes;
    this.usedBlocks = large.usedObjects();
    this.waiters = waiters;
  }

  /** Returns the bytes that found no room: the block size, or the length of a large object. */
  public long askedBytes() {
    return askedBytes;
  }

  /** Returns the block size of the class that ran out, 0 for a large object. */
  public int blockBytes() {
    return blockBytes;
  }

  /** Returns the pool's byte budget. */
  public long maxBytes() {
    return maxBytes;
  }

  /** Returns the bytes registered, all classes together; with large objects where one was asked. */
  public long registeredBytes() {
    return registeredBytes;
  }

  /** Returns the blocks of the class that are on lease, or the large objects in use. */
  public long usedBlocks() {
    return usedBlocks;
  }

  /** Returns the threads that were waiting for the class to grow, or for room. */
  public int waiters() {
    return waiters;
  }
}
