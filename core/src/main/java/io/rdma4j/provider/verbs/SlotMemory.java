package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The registered memory of one endpoint: send slots, then receive slots, in one region. Each slot
 * holds a header and a payload of the largest size, and starts on a cache line.
 *
 * <pre>
 *  0                         sendSlots * slotBytes
 *  | send slot 0 | 1 | …     | receive slot 0 | 1 | …
 * </pre>
 *
 * <p>Whole pages, so that the memory is pinned once and nobody else's with it. Close it only after
 * the queue pair that uses it is destroyed.
 */
final class SlotMemory implements AutoCloseable {
  private static final long PAGE_BYTES = 4096;
  private static final long CACHE_LINE_BYTES = 64;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory;
  private final MemoryRegion region;
  private final long slotBytes;
  private final int sendSlots;

  SlotMemory(ProtectionDomain domain, int sendSlots, int receiveSlots, int maxMessageBytes) {
    this.sendSlots = sendSlots;
    slotBytes = roundUp(MessageHeader.BYTES + (long) maxMessageBytes, CACHE_LINE_BYTES);
    long lengthBytes = roundUp(slotBytes * (sendSlots + (long) receiveSlots), PAGE_BYTES);
    try {
      memory = arena.allocate(lengthBytes, PAGE_BYTES);
      region = domain.registerMemory(memory.address(), lengthBytes, Access.LOCAL_WRITE);
    } catch (RuntimeException | OutOfMemoryError e) {
      arena.close();
      throw e;
    }
  }

  private static long roundUp(long value, long unit) {
    return (value + unit - 1) / unit * unit;
  }

  MemorySegment memory() {
    return memory;
  }

  int lkey() {
    return region.lkey();
  }

  /** Returns the bytes of a slot that the device may fill. */
  int slotBytes() {
    return (int) slotBytes;
  }

  long sendOffset(int slot) {
    return slot * slotBytes;
  }

  long receiveOffset(int slot) {
    return (sendSlots + slot) * slotBytes;
  }

  long address(long offset) {
    return memory.address() + offset;
  }

  @Override
  public void close() {
    region.close();
    arena.close();
  }
}
