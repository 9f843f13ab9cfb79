package io.rdma4j.bench.pool;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.invoke.MethodType.methodType;

import io.rdma4j.Availability;
import io.rdma4j.bench.natives.NativeLibrary;
import io.rdma4j.bench.natives.RawMemory;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/**
 * A C allocator, called the fastest way Java has: {@code Linker.Option.critical}, addresses as
 * longs. A record, since the compiler takes the fields of a constant record for constants, so that
 * both calls are direct.
 *
 * @param availability unusable when the library is not here; the handles throw then
 */
record NativeRival(Availability availability, MethodHandle malloc, MethodHandle free)
    implements Rival<long[]> {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final FunctionDescriptor MALLOC = FunctionDescriptor.of(JAVA_LONG, JAVA_LONG);
  private static final FunctionDescriptor FREE = FunctionDescriptor.ofVoid(JAVA_LONG);
  private static final Linker.Option CRITICAL = Linker.Option.critical(false);

  /** Returns the allocator of the process, glibc's unless the process was started with another. */
  static NativeRival ofProcess(Linker.Option... how) {
    return linked(
        "malloc of the process",
        LINKER.defaultLookup().findOrThrow("malloc"),
        LINKER.defaultLookup().findOrThrow("free"),
        how);
  }

  /** Returns the allocator of the process through critical calls. */
  static NativeRival ofProcess() {
    return ofProcess(CRITICAL);
  }

  /**
   * Loads an allocator.
   *
   * @param debianPackage what to install when it is missing
   */
  static NativeRival load(String library, String malloc, String free, String debianPackage) {
    try {
      NativeLibrary loaded = NativeLibrary.open(library);
      return linked(library, loaded.find(malloc), loaded.find(free), CRITICAL);
    } catch (UnsatisfiedLinkError e) {
      return missing(
          "%s (Debian: apt-get install %s; run by ./rdma4j bench, which makes room for its static TLS)"
              .formatted(e.getMessage(), debianPackage));
    }
  }

  @SuppressWarnings("restricted")
  private static NativeRival linked(
      String what, MemorySegment malloc, MemorySegment free, Linker.Option... how) {
    return new NativeRival(
        Availability.usable(what),
        LINKER.downcallHandle(malloc, MALLOC, how),
        LINKER.downcallHandle(free, FREE, how));
  }

  private static NativeRival missing(String reason) {
    MethodHandle fail =
        MethodHandles.insertArguments(
            MethodHandles.throwException(long.class, UnsatisfiedLinkError.class),
            0,
            new UnsatisfiedLinkError(reason));
    MethodHandle malloc = MethodHandles.dropArguments(fail, 0, long.class);
    return new NativeRival(
        Availability.unusable(reason), malloc, malloc.asType(methodType(void.class, long.class)));
  }

  @Override
  public long[] newSlots(int count) {
    return new long[count];
  }

  @Override
  public void allocate(long[] slots, int slot, int sizeBytes) {
    slots[slot] = allocateTouched(sizeBytes);
  }

  @Override
  public void release(long[] slots, int slot) {
    release(slots[slot]);
  }

  /** Allocates a block and gives it back. */
  void pair(int sizeBytes) {
    release(allocate(sizeBytes));
  }

  /** Allocates a block, writes its first word and gives it back. */
  void touchedPair(int sizeBytes) {
    release(allocateTouched(sizeBytes));
  }

  private long allocateTouched(int sizeBytes) {
    long address = allocate(sizeBytes);
    RawMemory.touch(address);
    return address;
  }

  private long allocate(int sizeBytes) {
    long address;
    try {
      address = (long) malloc.invokeExact((long) sizeBytes);
    } catch (Throwable e) {
      throw unexpected(e);
    }
    if (address == 0) {
      throw new OutOfMemoryError("malloc of " + sizeBytes + " bytes: " + availability.reason());
    }
    return address;
  }

  private void release(long address) {
    try {
      free.invokeExact(address);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static Error unexpected(Throwable e) {
    return e instanceof Error error
        ? error
        : new AssertionError("calling an allocator through java.lang.foreign failed", e);
  }
}
