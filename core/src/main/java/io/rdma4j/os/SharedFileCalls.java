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

/**
 * The C library calls of {@link SharedFile} beyond those of {@link LibC}. Each returns the result
 * of the C function, or the negated errno when that has failed.
 */
final class SharedFileCalls {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
  private static final VarHandle ERRNO_VALUE =
      Linker.Option.captureStateLayout()
          .varHandle(MemoryLayout.PathElement.groupElement("errno"))
          .withInvokeExactBehavior();

  private static final MethodHandle MEMFD_CREATE =
      handle("memfd_create", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT), ERRNO);
  private static final MethodHandle OPEN =
      handle(
          "open",
          FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
          ERRNO,
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle FCNTL =
      handle(
          "fcntl",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
          ERRNO,
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle POSIX_FALLOCATE =
      handle("posix_fallocate", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG));
  private static final MethodHandle LSEEK =
      handle("lseek", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT), ERRNO);

  private SharedFileCalls() {}

  @SuppressWarnings("restricted")
  private static MethodHandle handle(
      String function, FunctionDescriptor descriptor, Linker.Option... options) {
    return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(function), descriptor, options);
  }

  static int memfdCreate(String name, int flags) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
      int fd = (int) MEMFD_CREATE.invokeExact(state, arena.allocateFrom(name), flags);
      return fd < 0 ? -errno(state) : fd;
    } catch (Throwable t) {
      throw unexpected("memfd_create", t);
    }
  }

  static int open(String path, int flags, int mode) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
      int fd = (int) OPEN.invokeExact(state, arena.allocateFrom(path), flags, mode);
      return fd < 0 ? -errno(state) : fd;
    } catch (Throwable t) {
      throw unexpected("open", t);
    }
  }

  static int fcntl(int fd, int command, int argument) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
      int result = (int) FCNTL.invokeExact(state, fd, command, argument);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable t) {
      throw unexpected("fcntl", t);
    }
  }

  static int posixFallocate(int fd, long lengthBytes) {
    try {
      return -(int) POSIX_FALLOCATE.invokeExact(fd, 0L, lengthBytes);
    } catch (Throwable t) {
      throw unexpected("posix_fallocate", t);
    }
  }

  static long seek(int fd, long offset, int whence) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
      long result = (long) LSEEK.invokeExact(state, fd, offset, whence);
      return result < 0 ? -errno(state) : result;
    } catch (Throwable t) {
      throw unexpected("lseek", t);
    }
  }

  private static int errno(MemorySegment state) {
    return (int) ERRNO_VALUE.get(state, 0L);
  }

  private static IllegalStateException unexpected(String function, Throwable cause) {
    return new IllegalStateException(function + " could not be called", cause);
  }
}
