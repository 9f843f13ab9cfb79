package io.rdma4j.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
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

  private static final long AT_PAGESZ = 6;

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

  /**
   * Returns the page size of this system in bytes, as the kernel told this process (getauxval(3)).
   */
  public static long pageBytes() {
    Path auxiliaryVector = Path.of("/proc/self/auxv");
    try {
      LongBuffer entries =
          ByteBuffer.wrap(Files.readAllBytes(auxiliaryVector))
              .order(ByteOrder.nativeOrder())
              .asLongBuffer();
      while (entries.remaining() >= 2) {
        long type = entries.get();
        long value = entries.get();
        if (type == AT_PAGESZ) {
          return value;
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(auxiliaryVector + " cannot be read", e);
    }
    throw new IllegalStateException(auxiliaryVector + " has no page size");
  }
}
