package io.rdma4j.os;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The page size of this system, as the kernel told this process (getauxval(3)). Reading it needs no
 * native access, so it is known even where that is denied.
 */
public final class PageSize {
  private static final Path AUXILIARY_VECTOR = Path.of("/proc/self/auxv");
  private static final long AT_PAGESZ = 6;

  private PageSize() {}

  /** Returns the size in bytes. */
  public static long bytes() {
    try {
      LongBuffer entries =
          ByteBuffer.wrap(Files.readAllBytes(AUXILIARY_VECTOR))
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
      throw new UncheckedIOException(AUXILIARY_VECTOR + " cannot be read", e);
    }
    throw new IllegalStateException(AUXILIARY_VECTOR + " has no page size");
  }
}
