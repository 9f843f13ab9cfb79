package io.rdma4j.pool;

import io.rdma4j.pool.internal.BlockHandle;
import io.rdma4j.pool.internal.BlockPool;
import io.rdma4j.pool.internal.Magazine;
import java.lang.foreign.MemorySegment;

/**
 * One thread's way to blocks of one size: the shortest there is, for the hottest loops.
 *
 * <p>A view belongs to the platform thread that made it; another thread's call fails with {@link
 * WrongThreadException}. Blocks are handles, as from {@link RegisteredBuffer#detach}: any thread
 * may release them through the pool, or turn them into leases by {@link
 * RegisteredBufferPool#attach}. Double and stale releases fail as everywhere.
 *
 * <p>A view owns nothing and needs no closing; it makes no garbage. It keeps its thread's object
 * reachable.
 */
public final class PoolView {
  private final RegisteredBufferPool pool;
  private final BlockPool blocks;
  private final Magazine magazine;
  private final int sizeClass;
  private final int blockBytes;

  /**
   * The object rather than its number, which would be one load more in each operation. Here and not
   * in the magazine, since the pool must not keep a thread that has ended.
   */
  private final Thread owner = Thread.currentThread();

  PoolView(RegisteredBufferPool pool, BlockPool blocks, Magazine magazine, int blockBytes) {
    this.pool = pool;
    this.blocks = blocks;
    this.magazine = magazine;
    this.sizeClass = magazine.sizeClass();
    this.blockBytes = blockBytes;
  }

  /** Returns the size of the blocks. */
  public int blockBytes() {
    return blockBytes;
  }

  /**
   * Lends a block.
   *
   * @return its handle, never 0
   * @throws PoolExhaustedException and others as {@link RegisteredBufferPool#allocate(int)}
   */
  public long allocate() {
    long handle = tryAllocate();
    if (handle == BlockHandle.NONE) {
      throw pool.exhausted(sizeClass);
    }
    return handle;
  }

  /**
   * Lends a block unless the pool is exhausted.
   *
   * @return its handle; 0 when the pool is exhausted
   */
  public long tryAllocate() {
    checkThread();
    long handle = magazine.take();
    return handle == BlockHandle.NONE ? blocks.takeSlow(sizeClass, magazine) : handle;
  }

  /**
   * Gives a block back, whichever thread allocated it.
   *
   * @throws IllegalStateException for a handle that was released before or never came from this
   *     pool; nothing is changed, and the pool counts it
   */
  public void release(long handle) {
    checkThread();
    if (!magazine.give(handle)) {
      blocks.releaseSlow(handle, magazine);
    }
  }

  private void checkThread() {
    if (Thread.currentThread() != owner) {
      throw new WrongThreadException(
          "this view belongs to another thread than %s; each thread makes its own by pool.view(%d)"
              .formatted(Thread.currentThread(), blockBytes));
    }
  }

  /**
   * Returns the memory of a block on lease, valid until its release.
   *
   * @throws IllegalStateException for any other handle
   */
  public MemorySegment segment(long handle) {
    return pool.segment(handle);
  }
}
