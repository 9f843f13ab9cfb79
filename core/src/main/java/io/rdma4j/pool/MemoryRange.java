package io.rdma4j.pool;

/**
 * Addresses from {@code start} up to, not including, {@code end}. Addresses of user space are
 * positive, so plain comparison orders them.
 */
record MemoryRange(long start, long end) {
  static MemoryRange of(long address, long lengthBytes) {
    return new MemoryRange(address, Math.addExact(address, lengthBytes));
  }

  long lengthBytes() {
    return end - start;
  }

  boolean contains(MemoryRange other) {
    return start <= other.start && other.end <= end;
  }

  boolean overlaps(MemoryRange other) {
    return start < other.end && other.start < end;
  }

  /** Returns true when the union of both has no hole. */
  boolean touches(MemoryRange other) {
    return start <= other.end && other.start <= end;
  }

  /** Returns the smallest range that contains both. */
  MemoryRange union(MemoryRange other) {
    return new MemoryRange(Math.min(start, other.start), Math.max(end, other.end));
  }

  @Override
  public String toString() {
    return "[0x%x, +%d)".formatted(start, lengthBytes());
  }
}
