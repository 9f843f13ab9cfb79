package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;

/**
 * Page-aligned memory of this process, owned by whoever created it until {@link #close}.
 *
 * <p>The memory is zeroed. A mapping is only address space until its pages are populated: when it
 * is made, if asked for, or piece by piece and by several threads with {@link #populate(long,
 * long)}. Between the two, {@link #preferNode} chooses where the pages come from.
 *
 * <p>{@link #segment} may be used by any thread; once the mapping is closed every access through
 * it, or through a slice of it, fails with {@link IllegalStateException} instead of touching memory
 * that is gone. Closing is idempotent and costs a handshake with all threads, so it has no place on
 * a data path.
 */
public final class Mapping implements AutoCloseable {
  /** What else to ask of the kernel for a mapping. */
  public enum Option {
    /** All pages present before the mapping is returned, so that pinning them finds them there. */
    POPULATE,
    /** Child processes do not inherit the mapping (MADV_DONTFORK). */
    DONT_FORK
  }

  /** Size and alignment of a huge page on x86-64 and on aarch64 with pages of 4 KiB. */
  public static final long HUGE_PAGE_BYTES = MappedRange.HUGE_PAGE_BYTES;

  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

  /** One report at a time: it sets its mapping apart by a flag that no neighbour may have too. */
  private static final Object REPORT_LOCK = new Object();

  private static final class PageSize {
    static final long BYTES = LibC.pageSizeBytes();
  }

  private final Arena arena = Arena.ofShared();
  private final MemorySegment segment;
  private final HugePages asked;
  private final HugePages granted;
  private final Set<Option> options;
  private volatile String fallback;
  private volatile int preferredNode = NumaTopology.UNKNOWN;
  private boolean closed;

  private Mapping(MappedRange range, HugePages asked, Set<Option> options) {
    this.segment = view(range.address(), range.lengthBytes(), arena);
    this.asked = asked;
    this.granted = range.granted();
    this.fallback = range.fallback();
    this.options = options;
  }

  @SuppressWarnings("restricted")
  private static MemorySegment view(long address, long lengthBytes, Arena arena) {
    return MemorySegment.ofAddress(address).reinterpret(lengthBytes, arena, null);
  }

  /** Returns the page size of this system. */
  public static long pageSizeBytes() {
    return PageSize.BYTES;
  }

  /** Maps anonymous memory of ordinary pages: {@link HugePages#NONE}. */
  public static Mapping anonymous(long lengthBytes, Option... options) {
    return anonymous(lengthBytes, HugePages.NONE, options);
  }

  /**
   * Maps anonymous memory.
   *
   * <p>Memory in {@link HugePages#EXPLICIT} pages has to be populated before it is used: where the
   * control group or the cpuset of the process has none left, the first access to a page raises
   * SIGBUS, while populating puts ordinary memory in its place.
   *
   * @param lengthBytes at least 1; rounded up to whole pages, with EXPLICIT to whole huge pages
   * @throws OsException when the kernel refuses; nothing stays mapped
   */
  public static Mapping anonymous(long lengthBytes, HugePages hugePages, Option... options) {
    return anonymous(lengthBytes, hugePages, 0, options);
  }

  /** Maps anonymous memory, with more flags for mmap(2) of explicit huge pages. */
  static Mapping anonymous(
      long lengthBytes, HugePages hugePages, int explicitFlags, Option... options) {
    MappedRange range = MappedRange.anonymous(lengthBytes, hugePages, explicitFlags);
    Mapping mapping = new Mapping(range, hugePages, setOf(options));
    try {
      mapping.adviseHugePages(mapping.segment);
      mapping.prepare();
      return mapping;
    } catch (RuntimeException | Error e) {
      mapping.close();
      throw e;
    }
  }

  /**
   * Maps a memory file from its start, shared with everybody who maps it.
   *
   * @throws OsException when the kernel refuses; nothing stays mapped
   */
  static Mapping shared(int descriptor, long lengthBytes, Option... options) {
    long address = LibC.mmapShared(lengthBytes, descriptor);
    if (MappedRange.isError(address)) {
      throw new OsException(
          "mmap", "length " + lengthBytes + ", fd " + descriptor, (int) -address, "");
    }
    MappedRange range = new MappedRange(address, lengthBytes, HugePages.NONE, "");
    Mapping mapping = new Mapping(range, HugePages.NONE, setOf(options));
    try {
      mapping.prepare();
      return mapping;
    } catch (RuntimeException | Error e) {
      mapping.close();
      throw e;
    }
  }

  private static Set<Option> setOf(Option... options) {
    Set<Option> set = EnumSet.noneOf(Option.class);
    set.addAll(Set.of(options));
    return set;
  }

  static long wholePages(long lengthBytes) {
    return MappedRange.roundUp(lengthBytes, pageSizeBytes());
  }

  private void prepare() {
    if (options.contains(Option.DONT_FORK)) {
      advise(segment, "MADV_DONTFORK", LibC.MADV_DONTFORK);
    }
    if (options.contains(Option.POPULATE)) {
      populate(0, lengthBytes());
    }
  }

  /** Explicit huge pages need no advice. EINVAL means a kernel without transparent ones. */
  private void adviseHugePages(MemorySegment range) {
    switch (granted) {
      case NONE -> adviseIfKnown(range, "MADV_NOHUGEPAGE", LibC.MADV_NOHUGEPAGE);
      case TRANSPARENT -> adviseIfKnown(range, "MADV_HUGEPAGE", LibC.MADV_HUGEPAGE);
      case EXPLICIT -> {}
    }
  }

  /**
   * Makes pages that are populated from now on come from a node, as long as it has free ones, and
   * from the others then (MPOL_PREFERRED). Pages that are present stay where they are.
   *
   * <p>Not at the same time as {@link #populate(long, long)}.
   *
   * @param node {@link NumaTopology#UNKNOWN} changes nothing
   * @return whether it will be so; a refusal is normal in a container or without NUMA
   * @throws OsException when the call fails for another reason than where the process runs
   */
  public Placement preferNode(int node) {
    if (node < NumaTopology.UNKNOWN || node >= NumaTopology.MAX_NODES) {
      throw new IllegalArgumentException(
          "node must be -1 (unknown) to %d, was %d".formatted(NumaTopology.MAX_NODES - 1, node));
    }
    if (node == NumaTopology.UNKNOWN) {
      return new Placement(node, 0);
    }
    int result = LibC.mbindPreferred(segment, node);
    if (result < 0 && !Placement.isNormal(-result)) {
      throw new OsException("mbind", this + ", node " + node, -result, "");
    }
    Placement placement = new Placement(node, -result);
    if (placement.isBound()) {
      preferredNode = node;
    }
    return placement;
  }

  /**
   * Makes the pages of a part of the mapping present; what is in them stays.
   *
   * <p>Threads may populate different parts at the same time. Parts are widened to whole pages, so
   * they must not share one: let them start at multiples of {@link #HUGE_PAGE_BYTES}.
   *
   * @throws OsException when there is no memory; a part of the pages may be present
   * @throws IllegalStateException when the mapping is closed
   */
  public void populate(long offsetBytes, long lengthBytes) {
    Objects.checkFromIndexSize(offsetBytes, lengthBytes, lengthBytes());
    if (lengthBytes == 0) {
      return;
    }
    long pageBytes = granted == HugePages.EXPLICIT ? HUGE_PAGE_BYTES : pageSizeBytes();
    long start = offsetBytes / pageBytes * pageBytes;
    long end = MappedRange.roundUp(offsetBytes + lengthBytes, pageBytes);
    if (granted == HugePages.EXPLICIT) {
      for (long offset = start; offset < end; offset += HUGE_PAGE_BYTES) {
        populateExplicit(segment.asSlice(offset, HUGE_PAGE_BYTES));
      }
    } else {
      populateOrdinary(segment.asSlice(start, end - start));
    }
  }

  private static void populateOrdinary(MemorySegment range) {
    if (!adviseIfKnown(range, "MADV_POPULATE_WRITE", LibC.MADV_POPULATE_WRITE)) {
      touchPages(range);
    }
  }

  /**
   * Populates one huge page. It was reserved, but the control group's hugetlb limit and the cpuset
   * are looked at only now. A page that can not be had holds nothing yet, so ordinary memory may
   * take its place.
   */
  private void populateExplicit(MemorySegment page) {
    int result = retried(page, LibC.MADV_POPULATE_WRITE);
    switch (-result) {
      case 0 -> {}
      case Errno.EINVAL -> touchPages(page);
      case Errno.EFAULT, Errno.ENOMEM -> {
        fallback =
            "populating a reserved huge page: %s; check the hugetlb limit of the control group and"
                    .formatted(Errno.describe(-result))
                + " the huge pages on the nodes of the cpuset";
        replace(page);
      }
      default -> throw failure(page, "MADV_POPULATE_WRITE", -result);
    }
  }

  private void replace(MemorySegment page) {
    long address = LibC.mmapInPlaceOf(page);
    if (MappedRange.isError(address)) {
      throw new OsException("mmap(MAP_FIXED)", describe(page), (int) -address, "");
    }
    adviseIfKnown(page, "MADV_HUGEPAGE", LibC.MADV_HUGEPAGE);
    if (options.contains(Option.DONT_FORK)) {
      advise(page, "MADV_DONTFORK", LibC.MADV_DONTFORK);
    }
    if (preferredNode != NumaTopology.UNKNOWN) {
      int result = LibC.mbindPreferred(page, preferredNode);
      if (result < 0) {
        throw new OsException("mbind", describe(page) + ", node " + preferredNode, -result, "");
      }
    }
    populateOrdinary(page);
  }

  /** Kernels before 5.14 make pages present one by one, as they are written. */
  static void touchPages(MemorySegment range) {
    for (long offset = 0; offset < range.byteSize(); offset += pageSizeBytes()) {
      // A store that changes nothing, whatever another thread writes there.
      INT.getAndAdd(range, offset, 0);
    }
  }

  private static void advise(MemorySegment range, String name, int advice) {
    int result = retried(range, advice);
    if (result < 0) {
      throw failure(range, name, -result);
    }
  }

  /** Returns false when the kernel does not know the advice. */
  private static boolean adviseIfKnown(MemorySegment range, String name, int advice) {
    int result = retried(range, advice);
    if (result < 0 && result != -Errno.EINVAL) {
      throw failure(range, name, -result);
    }
    return result >= 0;
  }

  private static int retried(MemorySegment range, int advice) {
    int result;
    do {
      result = LibC.madvise(range, advice);
    } while (result == -Errno.EINTR || result == -Errno.EAGAIN);
    return result;
  }

  private static OsException failure(MemorySegment range, String advice, int errno) {
    return new OsException(
        "madvise",
        describe(range) + ", " + advice,
        errno,
        "check free memory and the cgroup's memory limit");
  }

  private static String describe(MemorySegment range) {
    return "address 0x%x, length %d".formatted(range.address(), range.byteSize());
  }

  /**
   * Returns what pages the mapping has now. The kernel walks the whole address space of the process
   * for it (milliseconds), so it is for reports.
   */
  public synchronized Backing backing() {
    ensureOpen();
    synchronized (REPORT_LOCK) {
      // The kernel makes one area of neighbours that are alike, and counts areas.
      advise(segment, "MADV_DONTDUMP", LibC.MADV_DONTDUMP);
      try {
        return Backing.of(
            asked,
            granted,
            PageCounts.within(
                SystemRoot.host().readLines("/proc/self/smaps"), address(), lengthBytes()),
            fallback);
      } finally {
        advise(segment, "MADV_DODUMP", LibC.MADV_DODUMP);
      }
    }
  }

  /**
   * Returns where the pages lie now. It costs some system calls, so it is for reports and tests.
   */
  public synchronized PageNodes pageNodes() {
    ensureOpen();
    return PageNodes.query(address(), lengthBytes());
  }

  private void ensureOpen() {
    if (closed) {
      throw new IllegalStateException(this + " is closed");
    }
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
    MappedRange.unmap(address, lengthBytes);
  }

  @Override
  public String toString() {
    return "mapping [0x%x, +%d)".formatted(address(), lengthBytes());
  }
}
