package io.rdma4j.bench.natives;

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

/**
 * System calls on memory. Failures are {@link LinuxException}s with the call's values and errno.
 *
 * <p>Constants are those of Linux on x86-64 and aarch64, which agree on all of them.
 */
public final class Linux {
  /** Huge pages, please (madvise(2)). */
  public static final int MADV_HUGEPAGE = 14;

  /** No huge pages. */
  public static final int MADV_NOHUGEPAGE = 15;

  /** All pages present and writable. */
  public static final int MADV_POPULATE_WRITE = 23;

  private static final int PROT_READ_WRITE = 0x1 | 0x2;
  private static final int MAP_PRIVATE_ANONYMOUS = 0x02 | 0x20;
  private static final int NO_DESCRIPTOR = -1;

  private static final Linker.Option ERRNO_CAPTURE = Linker.Option.captureCallState("errno");
  private static final MemoryLayout CALL_STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
  private static final MethodHandle STRERROR =
      NativeLibrary.libc("strerror", FunctionDescriptor.of(ADDRESS, JAVA_INT));
  private static final MethodHandle MMAP =
      NativeLibrary.libc(
          "mmap",
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG),
          ERRNO_CAPTURE);
  private static final MethodHandle MUNMAP =
      NativeLibrary.libc(
          "munmap", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG), ERRNO_CAPTURE);
  private static final MethodHandle MADVISE =
      NativeLibrary.libc(
          "madvise",
          FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT),
          ERRNO_CAPTURE);
  private static final MethodHandle CLOSE =
      NativeLibrary.libc("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT), ERRNO_CAPTURE);
  private static final MethodHandle SYSCALL =
      NativeLibrary.libc(
          "syscall",
          FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
          Linker.Option.firstVariadicArg(1),
          ERRNO_CAPTURE);

  private static final int CLOCK_PROCESS_CPUTIME_ID = 2;
  private static final MethodHandle CLOCK_GETTIME =
      NativeLibrary.libc(
          "clock_gettime", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS), ERRNO_CAPTURE);

  private Linux() {}

  /** A system call was refused. */
  public static final class LinuxException extends RuntimeException {
    private static final long serialVersionUID = 1;

    LinuxException(String call, int errno) {
      super("%s: errno %d (%s)".formatted(call, errno, text(errno)));
    }

    @SuppressWarnings("restricted")
    private static String text(int errno) {
      try {
        return ((MemorySegment) STRERROR.invokeExact(errno)).reinterpret(256).getString(0);
      } catch (Throwable e) {
        throw unexpected(e);
      }
    }
  }

  /** Maps private memory that is not there yet; the address. */
  public static long mmap(long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      long address =
          (long)
              MMAP.invokeExact(
                  state,
                  0L,
                  lengthBytes,
                  PROT_READ_WRITE,
                  MAP_PRIVATE_ANONYMOUS,
                  NO_DESCRIPTOR,
                  0L);
      return checked(address, state, "mmap", lengthBytes);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Unmaps whole pages. */
  public static void munmap(long address, long lengthBytes) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) MUNMAP.invokeExact(state, address, lengthBytes);
      checked(result, state, "munmap", lengthBytes);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Advises the kernel of how whole pages will be used. */
  public static void madvise(long address, long lengthBytes, int advice) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) MADVISE.invokeExact(state, address, lengthBytes, advice);
      checked(result, state, "madvise " + advice, lengthBytes);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  static void close(int descriptor) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(CALL_STATE);
      int result = (int) CLOSE.invokeExact(state, descriptor);
      checked(result, state, "close", descriptor);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns memory in which a call leaves its errno. */
  static MemorySegment newCallState(Arena arena) {
    return arena.allocate(CALL_STATE);
  }

  /** Makes any call of four arguments; {@code name} is for the message of a failure. */
  static long syscall(
      MemorySegment state, String name, int number, long a, long b, long c, long d) {
    try {
      long result = (long) SYSCALL.invokeExact(state, (long) number, a, b, c, d);
      return checked(result, state, name, b);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /**
   * Returns the CPU time of this process so far, all threads together (clock_gettime(3)). The JDK's
   * own figure moves in steps of 10 ms.
   */
  public static long processCpuNs() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = newCallState(arena);
      MemorySegment time = arena.allocate(JAVA_LONG, 2);
      int result = (int) CLOCK_GETTIME.invokeExact(state, CLOCK_PROCESS_CPUTIME_ID, time);
      checked(result, state, "clock_gettime", CLOCK_PROCESS_CPUTIME_ID);
      return time.get(JAVA_LONG, 0) * 1_000_000_000L + time.get(JAVA_LONG, JAVA_LONG.byteSize());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static long checked(long result, MemorySegment state, String call, long argument) {
    if (result == -1) {
      throw new LinuxException(call + " of " + argument, (int) ERRNO.get(state, 0L));
    }
    return result;
  }

  private static RuntimeException unexpected(Throwable e) {
    if (e instanceof LinuxException refused) {
      return refused;
    }
    throw new AssertionError("a call through java.lang.foreign failed", e);
  }
}
