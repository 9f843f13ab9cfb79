package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Zeroed address space that costs memory only where it is written: for tables as large as they may
 * ever become, most of which stay empty. It lives as long as a segment of it is reachable.
 */
public final class ReservedMemory {
  private ReservedMemory() {}

  /**
   * Reserves page-aligned address space.
   *
   * @param lengthBytes at least 1; rounded up to whole pages
   * @throws OsException when the kernel refuses
   */
  @SuppressWarnings("restricted")
  public static MemorySegment reserve(long lengthBytes) {
    long length = Mapping.wholePages(lengthBytes);
    long address = LibC.mmapReserved(length);
    if (address < 0) {
      throw new OsException(
          "mmap",
          "length " + length + ", MAP_NORESERVE",
          (int) -address,
          "check the limit on address space (ulimit -v) and vm.overcommit_memory");
    }
    return MemorySegment.ofAddress(address)
        .reinterpret(length, Arena.ofAuto(), gone -> LibC.munmap(gone.address(), length));
  }
}
