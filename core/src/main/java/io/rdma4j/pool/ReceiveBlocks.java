package io.rdma4j.pool;

import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.ReceiveMemory;
import java.lang.foreign.MemorySegment;

/** A pool's blocks as memory for receives: those kept apart first, then any. */
final class ReceiveBlocks implements ReceiveMemory {
  private final RegisteredBufferPool pool;
  private final int maxMessageBytes;

  ReceiveBlocks(RegisteredBufferPool pool, int maxMessageBytes) {
    this.pool = pool;
    this.maxMessageBytes = maxMessageBytes;
  }

  @Override
  public int maxMessageBytes() {
    return maxMessageBytes;
  }

  @Override
  public long take(int lengthBytes) {
    RegisteredBuffer lease = pool.newLease();
    return pool.tryAllocateReceive(lengthBytes, lease) ? lease.detach() : NONE;
  }

  @Override
  public long takeFree(int lengthBytes) {
    return pool.takeFreeReceive(lengthBytes);
  }

  @Override
  public MemorySegment segment(long block) {
    return pool.segment(block);
  }

  @Override
  public int lkey(long block, MemoryRegistrar registrar) {
    return pool.slabOf(block).lkey(pool.indexOf(registrar));
  }

  @Override
  public void giveBack(long block) {
    pool.release(block);
  }
}
