package io.rdma4j.bench.natives;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/** Memory by its bare address, at the price a C program pays: one store, no check. */
public final class RawMemory {
  @SuppressWarnings("restricted")
  private static final MemorySegment EVERYTHING = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private RawMemory() {}

  /** Writes the first word of a block. The address is that of a living, aligned block. */
  public static void touch(long address) {
    EVERYTHING.set(JAVA_LONG, address, address);
  }
}
