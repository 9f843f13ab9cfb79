package io.rdma4j.testkit.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * All memory of this process by address, as a device sees it. Whoever calls has checked the address
 * against a live registration.
 */
final class NativeMemory {
  private static final MemorySegment ALL = everything();
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private NativeMemory() {}

  @SuppressWarnings("restricted")
  private static MemorySegment everything() {
    return MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
  }

  static void copy(long from, long to, long lengthBytes) {
    MemorySegment.copy(ALL, from, ALL, to, lengthBytes);
  }

  static void copy(long from, byte[] to, int at, int lengthBytes) {
    MemorySegment.copy(ALL, ValueLayout.JAVA_BYTE, from, to, at, lengthBytes);
  }

  static void copy(byte[] from, int at, long to, int lengthBytes) {
    MemorySegment.copy(from, at, ALL, ValueLayout.JAVA_BYTE, to, lengthBytes);
  }

  static void putLong(long address, long value) {
    ALL.set(ValueLayout.JAVA_LONG_UNALIGNED, address, value);
  }

  /** Adds to a word, atomically towards this process too; returns the word before. */
  static long getAndAdd(long address, long addend) {
    return (long) WORD.getAndAdd(ALL, address, addend);
  }

  /** Replaces a word, atomically towards this process too; returns the word before. */
  static long compareAndExchange(long address, long expected, long desired) {
    return (long) WORD.compareAndExchange(ALL, address, expected, desired);
  }

  static long getLong(long address) {
    return ALL.get(ValueLayout.JAVA_LONG, address);
  }
}
