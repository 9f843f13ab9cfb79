package io.rdma4j.provider.verbs;

import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.ReceiveMemory;
import io.rdma4j.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;

/**
 * Receive memory of one endpoint alone, for a provider that was given none: one region with as many
 * blocks as there are receives. None is ever free, so no message can be handed over.
 */
final class PrivateReceiveMemory implements ReceiveMemory, AutoCloseable {
  private final SlotMemory slots;
  private final int count;
  private final int maxMessageBytes;
  private int taken;

  /** Registers the memory. */
  PrivateReceiveMemory(ProtectionDomain domain, int count, int blockBytes, int maxMessageBytes) {
    this.count = count;
    this.maxMessageBytes = maxMessageBytes;
    slots = new SlotMemory(domain, count, blockBytes);
  }

  @Override
  public int maxMessageBytes() {
    return maxMessageBytes;
  }

  @Override
  public long take(int lengthBytes) {
    return taken == count || lengthBytes > slots.slotBytes() ? NONE : ++taken;
  }

  @Override
  public long takeFree(int lengthBytes) {
    return NONE;
  }

  @Override
  public MemorySegment segment(long block) {
    return slots.memory().asSlice(slots.offset((int) block - 1), slots.slotBytes());
  }

  @Override
  public int lkey(long block, MemoryRegistrar registrar) {
    return slots.lkey();
  }

  /** Blocks go with the region. */
  @Override
  public void giveBack(long block) {}

  @Override
  public void close() {
    slots.close();
  }
}
