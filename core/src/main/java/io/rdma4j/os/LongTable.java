package io.rdma4j.os;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A table of longs, all zero at first, as large as it may ever become: memory is spent only where
 * it is written. It lives as long as this object is reachable.
 *
 * <p>Access is for the hottest paths. The number of entries is a power of two, and of an index only
 * the bits below it count, so any index is harmless. The address is made in a way that lets the
 * compiler see that it lies in the address space, so that no check of a segment is left: what
 * remains is the masking, a shift and an addition.
 *
 * <p>Safe for use by several threads, each method in the memory mode that its name says.
 */
public final class LongTable {
  /** Addresses of processes have 48 bits at most, so in this unit they fit into an int. */
  private static final int UNIT_SHIFT = 16;

  private static final int ENTRY_SHIFT = 3;

  /** Entries are aligned; the layout only saves the check. */
  private static final ValueLayout.OfLong ENTRY = JAVA_LONG_UNALIGNED;

  private static final VarHandle LONG = JAVA_LONG.varHandle();
  private static final MemorySegment ADDRESS_SPACE = StructFields.ADDRESS_SPACE;

  private final MemorySegment reserved;
  private final int baseUnits;
  private final int mask;

  /**
   * Reserves the address space.
   *
   * @param leastEntries at least 1; rounded up to a power of two
   * @throws OsException when the kernel refuses
   */
  public LongTable(int leastEntries) {
    long unit = 1L << UNIT_SHIFT;
    this.mask = Integer.MAX_VALUE >>> (Integer.numberOfLeadingZeros(leastEntries - 1) - 1);
    long length = Mapping.wholePages((mask + 1L) << ENTRY_SHIFT) + unit;
    this.reserved = reserve(length);
    this.baseUnits = (int) ((reserved.address() + unit - 1) >>> UNIT_SHIFT);
  }

  @SuppressWarnings("restricted")
  private static MemorySegment reserve(long lengthBytes) {
    long address = LibC.mmapReserved(lengthBytes);
    if (address < 0) {
      throw new OsException(
          "mmap",
          "length " + lengthBytes + ", MAP_NORESERVE",
          (int) -address,
          "check the limit on address space (ulimit -v) and vm.overcommit_memory");
    }
    return MemorySegment.ofAddress(address)
        .reinterpret(lengthBytes, Arena.ofAuto(), gone -> LibC.munmap(gone.address(), lengthBytes));
  }

  /** For any index that {@link #mask} has been applied to. */
  private static long address(int base, int index) {
    return (Integer.toUnsignedLong(base) << UNIT_SHIFT)
        + (Integer.toUnsignedLong(index) << ENTRY_SHIFT);
  }

  private long address(int index) {
    return address(baseUnits, index & mask);
  }

  /**
   * Returns what {@link #get(int, int)} and {@link #set(int, int, long)} want: for users so hot
   * that they keep it, and the mask, in fields of their own, beside a reference to this object.
   */
  public int base() {
    return baseUnits;
  }

  /** Returns the bits of an index that count; all below the number of entries. */
  public int mask() {
    return mask;
  }

  /** Reads an entry of the table with that base, plainly; the index has been masked. */
  public static long get(int base, int index) {
    return ADDRESS_SPACE.get(ENTRY, address(base, index));
  }

  /** Writes an entry of the table with that base, plainly; the index has been masked. */
  public static void set(int base, int index, long value) {
    ADDRESS_SPACE.set(ENTRY, address(base, index), value);
  }

  /** Reads an entry, plainly. */
  public long get(int index) {
    return get(baseUnits, index & mask);
  }

  /** Reads an entry in opaque mode. */
  public long getOpaque(int index) {
    return (long) LONG.getOpaque(ADDRESS_SPACE, address(index));
  }

  /** Writes an entry in opaque mode. */
  public void setOpaque(int index, long value) {
    LONG.setOpaque(ADDRESS_SPACE, address(index), value);
  }

  /** Reads an entry in acquire mode. */
  public long getAcquire(int index) {
    return (long) LONG.getAcquire(ADDRESS_SPACE, address(index));
  }

  /** Writes {@code wanted} if the entry is {@code expected}, in volatile mode. */
  public boolean compareAndSet(int index, long expected, long wanted) {
    return LONG.compareAndSet(ADDRESS_SPACE, address(index), expected, wanted);
  }
}
