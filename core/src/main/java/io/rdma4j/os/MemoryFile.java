package io.rdma4j.os;

/**
 * A file that lives in memory (memfd): other processes map it through {@code /proc/<pid>/fd/<fd>},
 * and it is gone when the last of them is.
 *
 * <p>Its space is reserved when it is created, so that a full memory shows as an error there and
 * not as SIGBUS at some later access. Owned by its creator; mappings live on when the file is
 * closed. Safe for use by several threads.
 */
public final class MemoryFile implements AutoCloseable {
  private final String name;
  private final int descriptor;
  private final long lengthBytes;
  private boolean closed;

  private MemoryFile(String name, int descriptor, long lengthBytes) {
    this.name = name;
    this.descriptor = descriptor;
    this.lengthBytes = lengthBytes;
  }

  /**
   * Creates a zeroed file of whole pages.
   *
   * @param name shows in {@code /proc/<pid>/maps}; need not be unique
   * @param lengthBytes at least 1; rounded up to whole pages
   * @throws OsException when the kernel refuses; nothing stays open
   */
  public static MemoryFile create(String name, long lengthBytes) {
    long length = Mapping.wholePages(lengthBytes);
    int descriptor = LibC.memfdCreate(name);
    if (descriptor < 0) {
      throw new OsException("memfd_create", name, -descriptor, "");
    }
    MemoryFile file = new MemoryFile(name, descriptor, length);
    try {
      file.reserve();
      return file;
    } catch (RuntimeException | Error e) {
      file.close();
      throw e;
    }
  }

  private void reserve() {
    String values = "%s, fd %d, length %d".formatted(name, descriptor, lengthBytes);
    int result = LibC.ftruncate(descriptor, lengthBytes);
    if (result < 0) {
      throw new OsException("ftruncate", values, -result, "");
    }
    do {
      result = LibC.fallocate(descriptor, lengthBytes);
    } while (result == -Errno.EINTR);
    if (result < 0) {
      throw new OsException(
          "fallocate", values, -result, "check free memory and the cgroup's memory limit");
    }
  }

  /** Maps the whole file; the caller owns the mapping. */
  public synchronized Mapping map(Mapping.Option... options) {
    if (closed) {
      throw new IllegalStateException("memory file " + name + " is closed");
    }
    return Mapping.shared(descriptor, lengthBytes, options);
  }

  /** Returns the file descriptor, valid until close. */
  public int descriptor() {
    return descriptor;
  }

  /** Returns the length, a multiple of the page size. */
  public long lengthBytes() {
    return lengthBytes;
  }

  /** Closes the descriptor; idempotent. Mappings stay valid. */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    int result = LibC.close(descriptor);
    if (result < 0) {
      throw new OsException("close", name + ", fd " + descriptor, -result, "");
    }
  }
}
