package io.rdma4j.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * An open file whose memory several processes map: an anonymous one (memfd) or one in a directory.
 *
 * <p>Its space is reserved when it is made, so that a write through a mapping can not end in SIGBUS
 * for want of space. An anonymous file can not shrink either (it is sealed).
 *
 * <p>Single thread only. Owned by whoever makes it; {@link #close} closes the descriptor and leaves
 * mappings as they are. The name of a file in a directory stays until its owner deletes it.
 */
public final class SharedFile implements AutoCloseable {
  private static final int MFD_CLOEXEC = 1;
  private static final int MFD_ALLOW_SEALING = 2;
  private static final int F_ADD_SEALS = 1033;
  private static final int F_GET_SEALS = 1034;
  private static final int F_SEAL_SEAL = 1;
  private static final int F_SEAL_SHRINK = 2;
  private static final int F_SEAL_GROW = 4;
  private static final int O_RDWR = 2;
  private static final int O_CREAT = 0100;
  private static final int O_EXCL = 0200;
  private static final int O_NONBLOCK = 04000;
  private static final int O_NOFOLLOW = 0400000;
  private static final int O_CLOEXEC = 02000000;
  private static final int OWNER_READ_WRITE = 0600;
  private static final int SEEK_END = 2;

  private final String name;
  private final int fd;
  private final long lengthBytes;
  private boolean closed;

  private SharedFile(String name, int fd, long lengthBytes) {
    this.name = name;
    this.fd = fd;
    this.lengthBytes = lengthBytes;
  }

  /**
   * Makes an anonymous file of zeros that can neither shrink nor grow.
   *
   * @param name shown in /proc/PID/fd and /proc/PID/maps
   */
  public static SharedFile anonymous(String name, long lengthBytes) throws IOException {
    int fd = SharedFileCalls.memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
      throw failure("memfd_create", name, -fd);
    }
    try {
      reserve(fd, lengthBytes, "memfd " + name, availableMemoryBytes());
      int sealed =
          SharedFileCalls.fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
      if (sealed < 0) {
        throw failure("fcntl(F_ADD_SEALS)", name, -sealed);
      }
      return new SharedFile(name, fd, lengthBytes);
    } catch (IOException | RuntimeException e) {
      closeAfter(e, fd);
      throw e;
    }
  }

  /**
   * Makes a file of zeros that only this user may open.
   *
   * @throws IOException when it exists, or when there is no space; then no file is left
   */
  public static SharedFile create(Path path, long lengthBytes) throws IOException {
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int fd = SharedFileCalls.open(path.toString(), flags, OWNER_READ_WRITE);
    if (fd < 0) {
      throw failure("open", path.toString(), -fd);
    }
    try {
      Path directory = path.toAbsolutePath().getParent();
      long freeBytes = Files.getFileStore(directory == null ? path : directory).getUsableSpace();
      reserve(fd, lengthBytes, path.toString(), freeBytes);
      return new SharedFile(path.toString(), fd, lengthBytes);
    } catch (IOException | RuntimeException e) {
      closeAfter(e, fd);
      try {
        Files.delete(path);
      } catch (IOException remains) {
        e.addSuppressed(remains);
      }
      throw e;
    }
  }

  /** Opens a file made by {@link #create}; a symbolic link is refused. */
  public static SharedFile open(Path path) throws IOException {
    return open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  }

  /**
   * Opens the anonymous file of another process, by its descriptor there.
   *
   * @throws IOException when there is no such file, it may not be opened, or it could shrink
   */
  public static SharedFile openAnonymous(long pid, int fd, String name) throws IOException {
    Path path = Path.of("/proc", Long.toString(pid), "fd", Integer.toString(fd));
    String target = Files.readSymbolicLink(path).toString();
    if (!target.startsWith("/memfd:" + name)) {
      throw new IOException(path + " is " + target + ", not a memfd named " + name);
    }
    SharedFile file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    try {
      int seals = SharedFileCalls.fcntl(file.fd, F_GET_SEALS, 0);
      if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        throw new IOException(path + " may shrink while it is mapped: seals " + seals);
      }
      return file;
    } catch (IOException | RuntimeException e) {
      closeAfter(e, file.fd);
      throw e;
    }
  }

  private static SharedFile open(Path path, int flags) throws IOException {
    int fd = SharedFileCalls.open(path.toString(), flags, 0);
    if (fd < 0) {
      throw failure("open", path.toString(), -fd);
    }
    long lengthBytes = SharedFileCalls.seek(fd, 0, SEEK_END);
    if (lengthBytes < 0) {
      IOException e = failure("lseek", path.toString(), (int) -lengthBytes);
      closeAfter(e, fd);
      throw e;
    }
    return new SharedFile(path.toString(), fd, lengthBytes);
  }

  /** Returns the descriptor, valid until {@link #close}. */
  public int fd() {
    return fd;
  }

  /** Returns the length of the file when it was made or opened. */
  public long lengthBytes() {
    return lengthBytes;
  }

  /** Maps the whole file with all its pages present; the caller owns the mapping. */
  public Mapping map() throws IOException {
    if (closed) {
      throw new IOException(name + " is closed");
    }
    try {
      return Mapping.shared(fd, lengthBytes, Mapping.Option.POPULATE, Mapping.Option.DONT_FORK);
    } catch (OsException e) {
      throw new IOException(name + ": " + e.getMessage(), e);
    }
  }

  private static void reserve(int fd, long lengthBytes, String what, long freeBytes)
      throws IOException {
    int result;
    do {
      result = SharedFileCalls.posixFallocate(fd, lengthBytes);
    } while (result == -Errno.EINTR);
    if (result < 0) {
      throw new IOException(
          what
              + ": cannot reserve "
              + lengthBytes
              + " bytes, "
              + freeBytes
              + " bytes are free: "
              + Errno.describe(-result));
    }
  }

  private static long availableMemoryBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
      if (line.startsWith("MemAvailable:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
      }
    }
    throw new IOException("/proc/meminfo has no MemAvailable");
  }

  private static IOException failure(String call, String object, int errno) {
    return new IOException(object + ": " + call + ": " + Errno.describe(errno));
  }

  private static void closeAfter(Exception first, int fd) {
    int result = LibC.close(fd);
    if (result < 0) {
      first.addSuppressed(failure("close", "descriptor " + fd, -result));
    }
  }

  /** Closes the descriptor; idempotent. */
  @Override
  public void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    int result = LibC.close(fd);
    if (result < 0) {
      throw failure("close", name, -result);
    }
  }
}
