package io.rdma4j.bench.pool;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;

/** A Netty allocator: direct buffers, leak detection off, called from Netty's own thread class. */
record NettyRival(ByteBufAllocator allocator) implements Rival<ByteBuf[]> {
  NettyRival {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    if (ResourceLeakDetector.isEnabled()) {
      throw new IllegalStateException("Netty's leak detection stays on, which slows it down");
    }
  }

  @Override
  public ByteBuf[] newSlots(int count) {
    return new ByteBuf[count];
  }

  @Override
  public void allocate(ByteBuf[] slots, int slot, int sizeBytes) {
    slots[slot] = allocate(sizeBytes);
  }

  @Override
  public void release(ByteBuf[] slots, int slot) {
    slots[slot].release();
  }

  /** Allocates a buffer, writes its first word and gives it back. */
  void pair(int sizeBytes) {
    allocate(sizeBytes).release();
  }

  private ByteBuf allocate(int sizeBytes) {
    ByteBuf buffer = allocator.directBuffer(sizeBytes);
    buffer.setLong(0, sizeBytes);
    return buffer;
  }
}
