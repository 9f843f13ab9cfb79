package io.rdma4j.os;

/** Linux error numbers: names and what they mean, for messages. */
public final class Errno {
  /** Operation not permitted. */
  public static final int EPERM = 1;

  /** No such file or directory; of a page: it is not present. */
  public static final int ENOENT = 2;

  /** Interrupted system call. */
  public static final int EINTR = 4;

  /** Resource temporarily unavailable. */
  public static final int EAGAIN = 11;

  /** Cannot allocate memory; also: a locked-memory limit was hit. */
  public static final int ENOMEM = 12;

  /** Permission denied. */
  public static final int EACCES = 13;

  /** Bad address; also: an access there would raise SIGBUS. */
  public static final int EFAULT = 14;

  /** Invalid argument. */
  public static final int EINVAL = 22;

  /** Function not implemented. */
  public static final int ENOSYS = 38;

  /** Operation not supported. */
  public static final int EOPNOTSUPP = 95;

  private Errno() {}

  /** Returns name and meaning, for example {@code ENOMEM (cannot allocate memory)}. */
  public static String describe(int errno) {
    return switch (errno) {
      case EPERM -> "EPERM (operation not permitted)";
      case ENOENT -> "ENOENT (no such file or directory)";
      case EINTR -> "EINTR (interrupted system call)";
      case 5 -> "EIO (input/output error)";
      case 6 -> "ENXIO (no such device or address)";
      case 9 -> "EBADF (bad file descriptor)";
      case EAGAIN -> "EAGAIN (resource temporarily unavailable)";
      case ENOMEM -> "ENOMEM (cannot allocate memory)";
      case EACCES -> "EACCES (permission denied)";
      case EFAULT -> "EFAULT (bad address)";
      case 16 -> "EBUSY (device or resource busy)";
      case 17 -> "EEXIST (file exists)";
      case 19 -> "ENODEV (no such device)";
      case EINVAL -> "EINVAL (invalid argument)";
      case 23 -> "ENFILE (too many open files in system)";
      case 24 -> "EMFILE (too many open files in process)";
      case 27 -> "EFBIG (file too large)";
      case 28 -> "ENOSPC (no space left)";
      case ENOSYS -> "ENOSYS (function not implemented)";
      case EOPNOTSUPP -> "EOPNOTSUPP (operation not supported)";
      case 110 -> "ETIMEDOUT (connection timed out)";
      default -> "errno " + errno;
    };
  }
}
