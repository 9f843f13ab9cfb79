package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.Set;

/**
 * Page-aligned memory of this process, owned by whoever created it until {@link #close}.
 *
 * <p>The memory is zeroed. {@link #segment} may be used by any thread; once the mapping is closed
 * every access through it, or through a slice of it, fails with {@link IllegalStateException}
 * instead of touching memory that is gone. Closing is idempotent and costs a handshake with all
 * threads, so it has no place on a data path.
 */
public final class Mapping implements AutoCloseable {
  /** What to ask of the kernel for a mapping. */
  public enum Option {
    /** Huge pages where the kernel has them (MADV_HUGEPAGE), with the alignment they need. */
    HUGE_PAGES,
    /** All pages present before the mapping is returned, so that pinning them finds them there. */
    POPULATE,
    /** Child processes do not inherit the mapping (MADV_DONTFORK). */
    DONT_FORK
  }

  /** Size and alignment of a transparent huge page on x86-64 and on aarch64 with 4 KiB pages. */
  public static final long HUGE_PAGE_BYTES = 2L << 20;

  private static final class PageSize {
    static final long BYTES = LibC.pageSizeBytes();
  }

  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;
  private boolean closed;

  private Mapping(long address, long lengthBytes) {
    this.segment = view(address, lengthBytes, arena);
  }

  @SuppressWarnings("restricted")
  private static MemorySegment view(long address, long lengthBytes, Arena arena) {
    return MemorySegment.ofAddress(address).reinterpret(lengthBytes, arena, null);
  }

  /** Returns the page size of this system. */
  public static long pageSizeBytes() {
    return PageSize.BYTES;
  }

  /**
   * Maps anonymous memory.
   *
   * @param lengthBytes at least 1; rounded up to whole pages
   * @throws OsException when the kernel refuses; nothing stays mapped
   */
  public static Mapping anonymous(long lengthBytes, Option... options) {
    Set<Option> wanted = setOf(options);
    long length = wholePages(lengthBytes);
    boolean huge = wanted.contains(Option.HUGE_PAGES) && length >= HUGE_PAGE_BYTES;
    long address = huge ? mapAligned(length, HUGE_PAGE_BYTES) : map(length);
    return prepared(address, length, huge, wanted);
  }

  /**
   * Maps a memory file from its start, shared with everybody who maps it.
   *
   * @throws OsException when the kernel refuses; nothing stays mapped
   */
  static Mapping shared(int descriptor, long lengthBytes, Option... options) {
    Set<Option> wanted = setOf(options);
    long address = LibC.mmapShared(lengthBytes, descriptor);
    if (isError(address)) {
      throw new OsException(
          "mmap", "length " + lengthBytes + ", fd " + descriptor, (int) -address, "");
    }
    return prepared(address, lengthBytes, wanted.contains(Option.HUGE_PAGES), wanted);
  }

  private static Set<Option> setOf(Option... options) {
    Set<Option> set = EnumSet.noneOf(Option.class);
    set.addAll(Set.of(options));
    return set;
  }

  static long wholePages(long lengthBytes) {
    long page = pageSizeBytes();
    if (lengthBytes < 1 || lengthBytes > Long.MAX_VALUE - 2 * HUGE_PAGE_BYTES) {
      throw new IllegalArgumentException("length must be 1 byte or more, was " + lengthBytes);
    }
    return (lengthBytes + page - 1) / page * page;
  }

  private static long map(long lengthBytes) {
    long address = LibC.mmapAnonymous(lengthBytes);
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
  private static long mapAligned(long lengthBytes, long alignmentBytes) {
    long spareBytes = alignmentBytes - pageSizeBytes();
    long start = map(lengthBytes + spareBytes);
    long aligned = (start + alignmentBytes - 1) & -alignmentBytes;
    unmapIfAny(start, aligned - start);
    unmapIfAny(aligned + lengthBytes, start + spareBytes - aligned);
    return aligned;
  }

  private static void unmapIfAny(long address, long lengthBytes) {
    if (lengthBytes > 0) {
      unmap(address, lengthBytes);
    }
  }

  private static void unmap(long address, long lengthBytes) {
    int result = LibC.munmap(address, lengthBytes);
    if (result < 0) {
      throw new OsException(
          "munmap", "address 0x%x, length %d".formatted(address, lengthBytes), -result, "");
    }
  }

  private static Mapping prepared(
      long address, long lengthBytes, boolean huge, Set<Option> wanted) {
    Mapping mapping = new Mapping(address, lengthBytes);
    try {
      mapping.prepare(huge, wanted);
      return mapping;
    } catch (RuntimeException | Error e) {
      mapping.close();
      throw e;
    }
  }

  private void prepare(boolean huge, Set<Option> wanted) {
    if (huge) {
      // Advice only: EINVAL means a kernel without huge pages, which is as good a place to run.
      advise("MADV_HUGEPAGE", LibC.MADV_HUGEPAGE, true);
    }
    if (wanted.contains(Option.DONT_FORK)) {
      advise("MADV_DONTFORK", LibC.MADV_DONTFORK, false);
    }
    if (wanted.contains(Option.POPULATE)
        && !advise("MADV_POPULATE_WRITE", LibC.MADV_POPULATE_WRITE, true)) {
      touchPages();
    }
  }

  /** Returns false when the kernel does not know the advice and the caller can do without. */
  private boolean advise(String name, int advice, boolean optional) {
    int result;
    do {
      result = LibC.madvise(address(), lengthBytes(), advice);
    } while (result == -Errno.EINTR || result == -Errno.EAGAIN);
    if (result >= 0) {
      return true;
    }
    if (optional && result == -Errno.EINVAL) {
      return false;
    }
    throw new OsException(
        "madvise",
        "address 0x%x, length %d, %s".formatted(address(), lengthBytes(), name),
        -result,
        "check free memory and the cgroup's memory limit");
  }

  /** Kernels before 5.14 make pages present one by one, as they are written. */
  private void touchPages() {
    for (long offset = 0; offset < lengthBytes(); offset += pageSizeBytes()) {
      segment.set(ValueLayout.JAVA_BYTE, offset, (byte) 0);
    }
  }

  /** mmap fails with -1 to -4095 in the result; addresses of user space are positive. */
  private static boolean isError(long address) {
    return address < 0;
  }

  /** Returns the memory; it fails every access once the mapping is closed. */
  public MemorySegment segment() {
    return segment;
  }

  /** Returns the start address, a multiple of the page size. */
  public long address() {
    return segment.address();
  }

  /** Returns the length, a multiple of the page size. */
  public long lengthBytes() {
    return segment.byteSize();
  }

  /**
   * Unmaps the memory; idempotent.
   *
   * @throws IllegalStateException when a native call is using a segment of it; it stays mapped
   */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    long address = address();
    long lengthBytes = lengthBytes();
    arena.close();
    closed = true;
    unmap(address, lengthBytes);
  }

  @Override
  public String toString() {
    return "mapping [0x%x, +%d)".formatted(address(), lengthBytes());
  }
}
