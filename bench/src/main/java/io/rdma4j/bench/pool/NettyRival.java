package io.rdma4j.bench.pool;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.ResourceLeakDetector;
import io.rdma4j.Availability;

/** A Netty allocator: direct buffers, leak detection off, called from Netty's own thread class. */
record NettyRival(ByteBufAllocator allocator) implements Rival<ByteBuf[]> {
  /** IS_LOW_MEM in AdaptivePoolingAllocator of Netty 4.2. */
  private static final long LOW_MEMORY_BYTES = 512L << 20;

  NettyRival {
    ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    if (ResourceLeakDetector.isEnabled()) {
      throw new IllegalStateException("Netty's leak detection stays on, which slows it down");
    }
  }

  /** With a small heap Netty keeps fewer and smaller chunks, and large buffers cost far more. */
  @Override
  public Availability availability() {
    long heapBytes = Runtime.getRuntime().maxMemory();
    return heapBytes <= LOW_MEMORY_BYTES
        ? Availability.unusable(
            "Netty spares memory in a heap of %d bytes; give it more than %d (-Xmx)"
                .formatted(heapBytes, LOW_MEMORY_BYTES))
        : Availability.usable("Netty");
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

  /** Allocates a buffer and gives it back. */
  void pair(int sizeBytes) {
    allocator.directBuffer(sizeBytes).release();
  }

  /** Allocates a buffer, writes its first word and gives it back. */
  void touchedPair(int sizeBytes) {
    allocate(sizeBytes).release();
  }

  private ByteBuf allocate(int sizeBytes) {
    ByteBuf buffer = allocator.directBuffer(sizeBytes);
    buffer.setLong(0, sizeBytes);
    return buffer;
  }
}
