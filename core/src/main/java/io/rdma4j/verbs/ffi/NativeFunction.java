package io.rdma4j.verbs.ffi;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A C function off the data path, with its name for messages. There is one method for each shape of
 * parameters; the descriptor given at linking must be of the shape called.
 *
 * <p>{@code status} methods return 0 or a positive errno, whichever way the function reports it (as
 * its value, or as -1 with errno set). {@code pointer} methods return null on failure and leave
 * errno in the frame.
 */
final class NativeFunction {
  private final String name;
  private final MemorySegment address;
  private final FunctionDescriptor descriptor;
  private final Linker.Option[] options;

  /** Linked at the first call: linking costs milliseconds, and most programs need few functions. */
  private volatile @Nullable MethodHandle linked;

  NativeFunction(
      String name,
      MemorySegment address,
      FunctionDescriptor descriptor,
      Linker.Option... furtherOptions) {
    this.name = name;
    this.address = address;
    this.descriptor = descriptor;
    options = Arrays.copyOf(furtherOptions, furtherOptions.length + 1);
    options[furtherOptions.length] = Linker.Option.captureCallState("errno");
  }

  private MethodHandle handle() {
    MethodHandle handle = linked;
    return handle == null ? link() : handle;
  }

  @SuppressWarnings("restricted")
  private MethodHandle link() {
    MethodHandle handle = Linker.nativeLinker().downcallHandle(address, descriptor, options);
    linked = handle;
    return handle;
  }

  String name() {
    return name;
  }

  int status(Frame f) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured()));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, int b) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, MemorySegment b) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, MemorySegment b, MemorySegment c) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b, c));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, MemorySegment b, int c) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b, c));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, int b, MemorySegment c) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b, c));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, int b, int c, MemorySegment d) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b, c, d));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, MemorySegment b, int c, MemorySegment d) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b, c, d));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  int status(Frame f, MemorySegment a, MemorySegment b, MemorySegment c, int d) {
    try {
      return toErrno(f, (int) handle().invokeExact(f.captured(), a, b, c, d));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Calls a function whose int result is a value, -1 on failure. */
  int value(Frame f, int a, int b, int c) {
    try {
      return (int) handle().invokeExact(f.captured(), a, b, c);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Calls a function whose int result is a value, -1 on failure. */
  int value(Frame f, MemorySegment a, long b, MemorySegment c, MemorySegment d) {
    try {
      return (int) handle().invokeExact(f.captured(), a, b, c, d);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Calls a function without a result. */
  void run(Frame f, MemorySegment a) {
    try {
      handle().invokeExact(f.captured(), a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Calls a function without a result. */
  void run(Frame f, MemorySegment a, int b) {
    try {
      handle().invokeExact(f.captured(), a, b);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Calls a function that returns 64 bits. */
  long longValue(Frame f, MemorySegment a) {
    try {
      return (long) handle().invokeExact(f.captured(), a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  MemorySegment pointer(Frame f) {
    try {
      return (MemorySegment) handle().invokeExact(f.captured());
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  MemorySegment pointer(Frame f, MemorySegment a) {
    try {
      return (MemorySegment) handle().invokeExact(f.captured(), a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  MemorySegment pointer(Frame f, MemorySegment a, MemorySegment b) {
    try {
      return (MemorySegment) handle().invokeExact(f.captured(), a, b);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  MemorySegment pointer(Frame f, MemorySegment a, int b, MemorySegment c, MemorySegment d, int e) {
    try {
      return (MemorySegment) handle().invokeExact(f.captured(), a, b, c, d, e);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  MemorySegment pointer(Frame f, MemorySegment a, MemorySegment b, long c, int d) {
    try {
      return (MemorySegment) handle().invokeExact(f.captured(), a, b, c, d);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  MemorySegment pointer(Frame f, MemorySegment a, MemorySegment b, long c, long d, int e) {
    try {
      return (MemorySegment) handle().invokeExact(f.captured(), a, b, c, d, e);
    } catch (Throwable t) {
      throw unexpected(t);
    }
  }

  private static int toErrno(Frame f, int result) {
    return result == -1 ? f.errno() : Math.abs(result);
  }

  /** A handle throws only for a call of the wrong shape, or an error of the virtual machine. */
  private IllegalStateException unexpected(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return new IllegalStateException(name + " cannot be called", thrown);
  }
}
