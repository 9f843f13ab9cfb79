package io.rdma4j.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The locked-memory limit of this process (RLIMIT_MEMLOCK) and the page size that it is counted in.
 *
 * <p>Safe for use by several threads.
 */
public final class MemoryLock {
  /** Stands for no limit. */
  public static final long UNLIMITED = Long.MAX_VALUE;

  private static final String LINE = "Max locked memory";

  private MemoryLock() {}

  /** Returns the soft limit of this process in bytes, read anew, or {@link #UNLIMITED}. */
  public static long limitBytes() {
    return limitBytes(Path.of("/proc/self/limits"));
  }

  /** Returns the soft limit in bytes from a file in the format of /proc/self/limits. */
  public static long limitBytes(Path limits) {
    try {
      for (String line : Files.readAllLines(limits)) {
        if (line.startsWith(LINE)) {
          String soft = line.substring(LINE.length()).strip().split("\\s+", 2)[0];
          return soft.equals("unlimited") ? UNLIMITED : Long.parseLong(soft);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(limits + " cannot be read", e);
    }
    throw new IllegalStateException(limits + " has no line \"" + LINE + "\"");
  }

  /** Returns the page size of this system in bytes (getpagesize(2)). */
  @SuppressWarnings("restricted")
  public static long pageBytes() {
    Linker linker = Linker.nativeLinker();
    try {
      return (int)
          linker
              .downcallHandle(
                  linker.defaultLookup().findOrThrow("getpagesize"),
                  FunctionDescriptor.of(ValueLayout.JAVA_INT))
              .invokeExact();
    } catch (Throwable e) {
      throw new IllegalStateException("getpagesize cannot be called", e);
    }
  }
}
