package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Registered memory in slots of one size, in one region. Each slot starts on a cache line.
 *
 * <p>Whole pages, so that the memory is pinned once and nobody else's with it. Close it only after
 * the queues that use it are destroyed.
 */
final class SlotMemory implements AutoCloseable {
  private static final long PAGE_BYTES = 4096;
  private static final long CACHE_LINE_BYTES = 64;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory;
  private final MemoryRegion region;
  private final long address;
  private final int lkey;
  private final long slotBytes;

  SlotMemory(ProtectionDomain domain, int slots, long leastSlotBytes) {
    slotBytes = roundUp(leastSlotBytes, CACHE_LINE_BYTES);
    long lengthBytes = roundUp(slotBytes * slots, PAGE_BYTES);
    try {
      memory = arena.allocate(lengthBytes, PAGE_BYTES);
      address = memory.address();
      region = domain.registerMemory(address, lengthBytes, Access.LOCAL_WRITE);
      lkey = region.lkey();
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
    return lkey;
  }

  long slotBytes() {
    return slotBytes;
  }

  long offset(int slot) {
    return slot * slotBytes;
  }

  long address(long offset) {
    return address + offset;
  }

  @Override
  public void close() {
    region.close();
    arena.close();
  }
}
