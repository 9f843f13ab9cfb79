package io.rdma4j.os;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;

/**
 * Fields of C structures by address: plain loads and stores, without the checks that each access to
 * a segment of an arena makes.
 *
 * <p>For classes that own an array of structures, check an index once before they touch several
 * fields of it, and let no index pass once the memory is freed.
 */
public final class StructFields {
  /** All there is; for the classes of this package. */
  static final MemorySegment ADDRESS_SPACE = addressSpace();

  private StructFields() {}

  @SuppressWarnings("restricted")
  private static MemorySegment addressSpace() {
    return MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
  }

  /** Reads 8 bytes. */
  public static long getLong(long address) {
    return ADDRESS_SPACE.get(JAVA_LONG_UNALIGNED, address);
  }

  /** Writes 8 bytes. */
  public static void putLong(long address, long value) {
    ADDRESS_SPACE.set(JAVA_LONG_UNALIGNED, address, value);
  }

  /** Reads 4 bytes. */
  public static int getInt(long address) {
    return ADDRESS_SPACE.get(JAVA_INT_UNALIGNED, address);
  }

  /** Writes 4 bytes. */
  public static void putInt(long address, int value) {
    ADDRESS_SPACE.set(JAVA_INT_UNALIGNED, address, value);
  }

  /** Copies bytes; the two ranges may overlap. */
  public static void copy(long from, long to, long lengthBytes) {
    MemorySegment.copy(ADDRESS_SPACE, from, ADDRESS_SPACE, to, lengthBytes);
  }
}
