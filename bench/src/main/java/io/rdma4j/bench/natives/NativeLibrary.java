package io.rdma4j.bench.natives;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A shared library that stays loaded until the process ends.
 *
 * <p>It is opened by dlopen(3) itself, since {@code SymbolLookup.libraryLookup} keeps the reason of
 * a failure to itself, and the reason is what tells a missing package from a full static TLS block.
 * The symbols are local to the library: the process goes on using its own malloc.
 */
public final class NativeLibrary {
  private static final int RTLD_NOW = 2;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final MethodHandle DLOPEN =
      libc("dlopen", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
  private static final MethodHandle DLSYM =
      libc("dlsym", FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS));
  private static final MethodHandle DLERROR = libc("dlerror", FunctionDescriptor.of(ADDRESS));

  private final String name;
  private final MemorySegment handle;

  private NativeLibrary(String name, MemorySegment handle) {
    this.name = name;
    this.handle = handle;
  }

  @SuppressWarnings("restricted")
  static MethodHandle libc(String function, FunctionDescriptor descriptor, Linker.Option... how) {
    MemorySegment address = LINKER.defaultLookup().findOrThrow(function);
    return LINKER.downcallHandle(address, descriptor, how);
  }

  /**
   * Loads a library.
   *
   * @param name as the dynamic linker looks for it, for example {@code libjemalloc.so.2}
   * @throws UnsatisfiedLinkError with the linker's reason
   */
  public static NativeLibrary open(String name) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment handle = (MemorySegment) DLOPEN.invokeExact(arena.allocateFrom(name), RTLD_NOW);
      if (handle.address() == 0) {
        throw new UnsatisfiedLinkError(lastError());
      }
      return new NativeLibrary(name, handle);
    } catch (Throwable e) {
      throw rethrown(e);
    }
  }

  /**
   * Returns the address of a function that the library itself has.
   *
   * @throws UnsatisfiedLinkError when it has none, or when the name leads to the C library
   */
  public MemorySegment find(String function) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment address =
          (MemorySegment) DLSYM.invokeExact(handle, arena.allocateFrom(function));
      if (address.address() == 0) {
        throw new UnsatisfiedLinkError(lastError());
      }
      // dlsym also searches what the library depends on, and that has a malloc as well.
      if (LINKER.defaultLookup().find(function).filter(address::equals).isPresent()) {
        throw new UnsatisfiedLinkError(
            "%s has no %s of its own: the name leads to the C library".formatted(name, function));
      }
      return address;
    } catch (Throwable e) {
      throw rethrown(e);
    }
  }

  @SuppressWarnings("restricted")
  private static String lastError() throws Throwable {
    MemorySegment text = (MemorySegment) DLERROR.invokeExact();
    return text.address() == 0 ? "no reason given" : text.reinterpret(4096).getString(0);
  }

  private static Error rethrown(Throwable e) {
    return e instanceof UnsatisfiedLinkError error
        ? error
        : new AssertionError("calling the dynamic linker through java.lang.foreign failed", e);
  }
}
