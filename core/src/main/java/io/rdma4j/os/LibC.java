package io.rdma4j.os;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * The C library calls of this package. Each returns the call's result, or {@code -errno} when the
 * call failed; none throws for a failed call.
 *
 * <p>Constants are those of Linux on x86-64 and aarch64, which agree on all of them but the numbers
 * of system calls. Memory is passed as a segment where its owner may close it meanwhile: the call
 * then keeps it alive.
 */
final class LibC {
  static final int PROT_READ_WRITE = 0x1 | 0x2;
  static final int MAP_SHARED = 0x01;
  static final int MAP_PRIVATE = 0x02;
  static final int MAP_FIXED = 0x10;
  static final int MAP_ANONYMOUS = 0x20;
  static final int MAP_NORESERVE = 0x4000;
  static final int MAP_HUGETLB = 0x40000;

  /** Huge pages of 2^21 bytes; the exponent is in the flags from bit 26 on. */
  static final int MAP_HUGE_2MB = 21 << 26;

  static final int MADV_DONTFORK = 10;
  static final int MADV_HUGEPAGE = 14;
  static final int MADV_NOHUGEPAGE = 15;
  static final int MADV_DONTDUMP = 16;
  static final int MADV_DODUMP = 17;
  static final int MADV_POPULATE_WRITE = 23;
  static final int MFD_CLOEXEC = 0x1;
  private static final int SC_PAGESIZE = 30;
  private static final int RLIMIT_MEMLOCK = 8;
  private static final int NO_DESCRIPTOR = -1;
  private static final long MPOL_PREFERRED = 1;
  private static final int NODE_MASK_BITS = NumaTopology.MAX_NODES;
  private static final long THIS_PROCESS = 0;

  /** Numbers of the calls that glibc has no function for; -1 on other processors. */
  private static final long SYS_MBIND = systemCall(237, 235);

  private static final long SYS_MOVE_PAGES = systemCall(279, 239);
  private static final long SYS_MEMBARRIER = systemCall(324, 283);

  private static final Linker LINKER = Linker.nativeLinker();
  private static final Linker.Option ERRNO_CAPTURE = Linker.Option.captureCallState("errno");
  private static final MemoryLayout CALL_STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle MMAP =
      handle(
          "mmap",
          FunctionDescriptor.of(
              JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
  private static final MethodHandle MUNMAP =
      handle("munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle MADVISE =
      handle("madvise", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
  private static final MethodHandle MEMFD_CREATE =
      handle("memfd_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
  private static final MethodHandle FTRUNCATE =
      handle("ftruncate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG));
  private static final MethodHandle FALLOCATE =
      handle(
          "fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle CLOSE =
      handle("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle SYSCONF =
      handle("sysconf", FunctionDescriptor.of(JAVA_LONG, JAVA_INT));
  private static final MethodHandle GETRLIMIT =
      handle("getrlimit", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle MBIND =
      handle(
          "syscall",
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG),
          Linker.Option.firstVariadicArg(1));
  private static final MethodHandle MOVE_PAGES =
      handle(
          "syscall",
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG),
          Linker.Option.firstVariadicArg(1));
  private static final MethodHandle MEMBARRIER =
      handle(
          "syscall",
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT),
          Linker.Option.firstVariadicArg(1));

  private LibC() {}

  private static long systemCall(long onX86, long onAarch64) {
    return switch (System.getProperty("os.arch")) {
      case "amd64", "x86_64" -> onX86;
      case "aarch64" -> onAarch64;
      default -> -1;
    };
  }

  @SuppressWarnings("restricted")
  private static MethodHandle handle(
      String name, FunctionDescriptor descriptor, Linker.Option... options) {
    MemorySegment symbol =
        LINKER
            .defaultLookup()
            .find(name)
            .orElseThrow(
                () ->
                    new UnsupportedOperationException(
                        "the C library has no " + name + "; glibc 2.27 or later is needed"));
    Linker.Option[] all = Arrays.copyOf(options, options.length + 1);
    all[options.length] = ERRNO_CAPTURE;
    return LINKER.downcallHandle(symbol, descriptor, all);
  }

  /**
   * Maps new anonymous private memory; the address, or {@code -errno}.
   *
   * @param moreFlags zero, or those for pages of another size
   */
  static long mmapAnonymous(long lengthBytes, int moreFlags) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | moreFlags;
    return mmap(MemorySegment.NULL, lengthBytes, flags, NO_DESCRIPTOR);
  }

  /** Puts new anonymous private memory in the place of other memory; {@code -errno} on failure. */
  static long mmapInPlaceOf(MemorySegment range) {
    return mmap(range, range.byteSize(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, NO_DESCRIPTOR);
  }

  /** Reserves address space that is backed only where it is written; as {@link #mmapAnonymous}. */
  static long mmapReserved(long lengthBytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return mmap(MemorySegment.NULL, lengthBytes, flags, NO_DESCRIPTOR);
  }

  /** Maps a file from its start, shared; the address, or {@code -errno}. */
  static long mmapShared(long lengthBytes, int descriptor) {
    return mmap(MemorySegment.NULL, lengthBytes, MAP_SHARED, descriptor);
  }

  private static long mmap(MemorySegment at, long lengthBytes, int flags, int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      long address =
          (long) MMAP.invokeExact(state, at, lengthBytes, PROT_READ_WRITE, flags, descriptor, 0L);
      return address == -1 ? -errno(state) : address;
    } catch (Throwable e) {
      throw unexpected("mmap", e);
    }
  }

  static int munmap(long address, long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) MUNMAP.invokeExact(state, address, lengthBytes);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable e) {
      throw unexpected("munmap", e);
    }
  }

  static int madvise(MemorySegment range, int advice) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) MADVISE.invokeExact(state, range, range.byteSize(), advice);
      return result < 0 ? -errno(state) : result;
    } catch (IllegalStateException closed) {
      throw closed;
    } catch (Throwable e) {
      throw unexpected("madvise", e);
    }
  }

  /** Makes pages of {@code range} come from {@code node} while it has some, later from others. */
  static int mbindPreferred(MemorySegment range, int node) {
    if (SYS_MBIND < 0) {
      return -Errno.ENOSYS;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      MemorySegment mask = arena.allocate(JAVA_LONG, NODE_MASK_BITS / Long.SIZE);
      mask.setAtIndex(JAVA_LONG, node / Long.SIZE, 1L << node);
      // The kernel looks at one bit less than it is told of.
      long result =
          (long)
              MBIND.invokeExact(
                  state,
                  SYS_MBIND,
                  range,
                  range.byteSize(),
                  MPOL_PREFERRED,
                  mask,
                  NODE_MASK_BITS + 1L,
                  0L);
      return result < 0 ? -errno(state) : 0;
    } catch (IllegalStateException closed) {
      throw closed;
    } catch (Throwable e) {
      throw unexpected("mbind", e);
    }
  }

  /** Carries out a command of membarrier(2); {@code -errno} on failure. */
  static int membarrier(int command) {
    if (SYS_MEMBARRIER < 0) {
      return -Errno.ENOSYS;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      long result = (long) MEMBARRIER.invokeExact(state, SYS_MEMBARRIER, command, 0, 0);
      return result < 0 ? -errno(state) : 0;
    } catch (Throwable e) {
      throw unexpected("membarrier", e);
    }
  }

  /**
   * Asks where pages lie, and moves none.
   *
   * @param pages addresses, one {@code long} each
   * @param status receives for each page, as an {@code int}, its node or {@code -errno}
   */
  static int queryPages(MemorySegment pages, int count, MemorySegment status) {
    if (SYS_MOVE_PAGES < 0) {
      return -Errno.ENOSYS;
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      long result =
          (long)
              MOVE_PAGES.invokeExact(
                  state,
                  SYS_MOVE_PAGES,
                  THIS_PROCESS,
                  (long) count,
                  pages,
                  MemorySegment.NULL,
                  status,
                  0L);
      return result < 0 ? -errno(state) : 0;
    } catch (Throwable e) {
      throw unexpected("move_pages", e);
    }
  }

  static int memfdCreate(String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) MEMFD_CREATE.invokeExact(state, arena.allocateFrom(name), MFD_CLOEXEC);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable e) {
      throw unexpected("memfd_create", e);
    }
  }

  static int ftruncate(int descriptor, long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) FTRUNCATE.invokeExact(state, descriptor, lengthBytes);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable e) {
      throw unexpected("ftruncate", e);
    }
  }

  static int fallocate(int descriptor, long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) FALLOCATE.invokeExact(state, descriptor, 0, 0L, lengthBytes);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable e) {
      throw unexpected("fallocate", e);
    }
  }

  static int close(int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) CLOSE.invokeExact(state, descriptor);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable e) {
      throw unexpected("close", e);
    }
  }

  static long pageSizeBytes() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      long result = (long) SYSCONF.invokeExact(state, SC_PAGESIZE);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable e) {
      throw unexpected("sysconf", e);
    }
  }

  /** Writes the soft, then the hard limit on locked bytes into {@code limits}; -1 is unlimited. */
  static int lockedMemoryLimit(long[] limits) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      MemorySegment rlimit = arena.allocate(JAVA_LONG, 2);
      int result = (int) GETRLIMIT.invokeExact(state, RLIMIT_MEMLOCK, rlimit);
      if (result < 0) {
        return -errno(state);
      }
      limits[0] = rlimit.getAtIndex(JAVA_LONG, 0);
      limits[1] = rlimit.getAtIndex(JAVA_LONG, 1);
      return result;
    } catch (Throwable e) {
      throw unexpected("getrlimit", e);
    }
  }

  private static int errno(MemorySegment state) {
    return (int) ERRNO.get(state, 0L);
  }

  private static AssertionError unexpected(String call, Throwable e) {
    return new AssertionError("calling " + call + " through java.lang.foreign failed", e);
  }
}
