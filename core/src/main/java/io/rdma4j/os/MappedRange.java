package io.rdma4j.os;

import java.util.Optional;

/**
 * A new range of anonymous memory, which belongs to whoever has made it until {@link #unmap}.
 *
 * @param lengthBytes whole pages of the kind granted
 * @param granted the kind of pages it can have
 * @param fallback why that is not the kind asked for; empty when it is
 */
record MappedRange(long address, long lengthBytes, HugePages granted, String fallback) {
  /** Size and alignment of a huge page on x86-64 and on aarch64 with pages of 4 KiB. */
  static final long HUGE_PAGE_BYTES = 2L << 20;

  private static final String POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/";

  /**
   * Maps memory of the kind asked for, or of the next smaller kind that can be had. With EXPLICIT
   * the length is one of whole huge pages whatever is granted, so it does not depend on luck.
   *
   * @param lengthBytes at least 1; rounded up
   * @param explicitFlags more flags for mmap(2) of explicit huge pages
   * @throws OsException when the kernel refuses ordinary pages as well; nothing stays mapped
   */
  static MappedRange anonymous(long lengthBytes, HugePages asked, int explicitFlags) {
    long pageBytes = asked == HugePages.EXPLICIT ? HUGE_PAGE_BYTES : Mapping.pageSizeBytes();
    long length = roundUp(lengthBytes, pageBytes);
    return switch (asked) {
      case NONE -> new MappedRange(map(length), length, HugePages.NONE, "");
      case TRANSPARENT ->
          length < HUGE_PAGE_BYTES
              ? new MappedRange(map(length), length, HugePages.NONE, "shorter than a huge page")
              : new MappedRange(mapAligned(length), length, HugePages.TRANSPARENT, "");
      case EXPLICIT -> explicit(length, explicitFlags);
    };
  }

  private static MappedRange explicit(long length, int moreFlags) {
    long address = LibC.mmapAnonymous(length, LibC.MAP_HUGETLB | LibC.MAP_HUGE_2MB | moreFlags);
    if (!isError(address)) {
      return new MappedRange(address, length, HugePages.EXPLICIT, "");
    }
    String fallback = whyNoneReserved(length, (int) -address);
    return new MappedRange(mapAligned(length), length, HugePages.TRANSPARENT, fallback);
  }

  private static String whyNoneReserved(long length, int errno) {
    String cause = "mmap(MAP_HUGETLB): " + Errno.describe(errno);
    SystemRoot system = SystemRoot.host();
    Optional<String> total = system.read(POOL + "nr_hugepages");
    if (total.isEmpty()) {
      return cause + "; this kernel has no pages of 2 MiB to reserve";
    }
    return "%s; %d pages of 2 MiB wanted, of %s in all %s are free and %s promised;"
            .formatted(
                cause,
                length / HUGE_PAGE_BYTES,
                total.get(),
                system.read(POOL + "free_hugepages").orElse("?"),
                system.read(POOL + "resv_hugepages").orElse("?"))
        + " raise vm.nr_hugepages";
  }

  static long roundUp(long lengthBytes, long pageBytes) {
    if (lengthBytes < 1 || lengthBytes > Long.MAX_VALUE - 2 * HUGE_PAGE_BYTES) {
      throw new IllegalArgumentException("length must be 1 byte or more, was " + lengthBytes);
    }
    return (lengthBytes + pageBytes - 1) / pageBytes * pageBytes;
  }

  private static long map(long lengthBytes) {
    long address = LibC.mmapAnonymous(lengthBytes, 0);
    if (isError(address)) {
      throw new OsException(
          "mmap",
          "length " + lengthBytes,
          (int) -address,
          "check free memory, the cgroup's memory limit and vm.max_map_count");
    }
    return address;
  }

  /** Maps more than asked for and gives the unaligned ends back. */
  private static long mapAligned(long lengthBytes) {
    long spareBytes = HUGE_PAGE_BYTES - Mapping.pageSizeBytes();
    long start = map(lengthBytes + spareBytes);
    long aligned = (start + HUGE_PAGE_BYTES - 1) & -HUGE_PAGE_BYTES;
    unmapIfAny(start, aligned - start);
    unmapIfAny(aligned + lengthBytes, start + spareBytes - aligned);
    return aligned;
  }

  private static void unmapIfAny(long address, long lengthBytes) {
    if (lengthBytes > 0) {
      unmap(address, lengthBytes);
    }
  }

  static void unmap(long address, long lengthBytes) {
    int result = LibC.munmap(address, lengthBytes);
    if (result < 0) {
      throw new OsException(
          "munmap", "address 0x%x, length %d".formatted(address, lengthBytes), -result, "");
    }
  }

  /** mmap fails with -1 to -4095 in the result; addresses of user space are positive. */
  static boolean isError(long address) {
    return address < 0;
  }
}
