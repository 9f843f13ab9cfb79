package io.rdma4j.verbs.ffi;

import io.rdma4j.VerbsException;
import java.util.Map;

/** Names, texts and hints of the errno values that verbs and rdma_cm calls give. */
final class Errno {
  static final int EPERM = 1;
  static final int ENOENT = 2;
  static final int EINTR = 4;
  static final int EAGAIN = 11;
  static final int ENOMEM = 12;
  static final int EACCES = 13;
  static final int EFAULT = 14;
  static final int EBUSY = 16;
  static final int ENODEV = 19;
  static final int EINVAL = 22;
  static final int ENOSYS = 38;
  static final int EOPNOTSUPP = 95;
  static final int EADDRINUSE = 98;
  static final int EADDRNOTAVAIL = 99;
  static final int ENETUNREACH = 101;
  static final int ENOTCONN = 107;
  static final int ETIMEDOUT = 110;
  static final int ECONNREFUSED = 111;
  static final int EHOSTUNREACH = 113;

  private static final Map<Integer, String> TEXTS =
      Map.ofEntries(
          Map.entry(EPERM, "EPERM 1, operation not permitted"),
          Map.entry(ENOENT, "ENOENT 2, no such file or directory"),
          Map.entry(EINTR, "EINTR 4, interrupted system call"),
          Map.entry(5, "EIO 5, input/output error"),
          Map.entry(6, "ENXIO 6, no such device or address"),
          Map.entry(9, "EBADF 9, bad file descriptor"),
          Map.entry(EAGAIN, "EAGAIN 11, resource temporarily unavailable"),
          Map.entry(ENOMEM, "ENOMEM 12, cannot allocate memory"),
          Map.entry(EACCES, "EACCES 13, permission denied"),
          Map.entry(EFAULT, "EFAULT 14, bad address"),
          Map.entry(EBUSY, "EBUSY 16, device or resource busy"),
          Map.entry(ENODEV, "ENODEV 19, no such device"),
          Map.entry(EINVAL, "EINVAL 22, invalid argument"),
          Map.entry(23, "ENFILE 23, too many open files in system"),
          Map.entry(24, "EMFILE 24, too many open files"),
          Map.entry(28, "ENOSPC 28, no space left on device"),
          Map.entry(ENOSYS, "ENOSYS 38, function not implemented"),
          Map.entry(61, "ENODATA 61, no data available"),
          Map.entry(71, "EPROTO 71, protocol error"),
          Map.entry(EOPNOTSUPP, "EOPNOTSUPP 95, operation not supported"),
          Map.entry(97, "EAFNOSUPPORT 97, address family not supported by protocol"),
          Map.entry(EADDRINUSE, "EADDRINUSE 98, address already in use"),
          Map.entry(EADDRNOTAVAIL, "EADDRNOTAVAIL 99, cannot assign requested address"),
          Map.entry(ENETUNREACH, "ENETUNREACH 101, network is unreachable"),
          Map.entry(103, "ECONNABORTED 103, software caused connection abort"),
          Map.entry(104, "ECONNRESET 104, connection reset by peer"),
          Map.entry(105, "ENOBUFS 105, no buffer space available"),
          Map.entry(106, "EISCONN 106, transport endpoint is already connected"),
          Map.entry(ENOTCONN, "ENOTCONN 107, transport endpoint is not connected"),
          Map.entry(ETIMEDOUT, "ETIMEDOUT 110, connection timed out"),
          Map.entry(ECONNREFUSED, "ECONNREFUSED 111, connection refused"),
          Map.entry(EHOSTUNREACH, "EHOSTUNREACH 113, no route to host"),
          Map.entry(114, "EALREADY 114, operation already in progress"),
          Map.entry(115, "EINPROGRESS 115, operation now in progress"));

  private static final Map<Integer, String> HINTS =
      Map.ofEntries(
          Map.entry(EPERM, "run as a user that may open /dev/infiniband/*"),
          Map.entry(ENOENT, "check that /dev/infiniband is there (in a container: --device)"),
          Map.entry(EACCES, "run as a user that may open /dev/infiniband/*"),
          Map.entry(ENODEV, "no RDMA device for this; see rdma link show"),
          Map.entry(EINVAL, "a value is outside what the device takes; see ibv_devinfo -v"),
          Map.entry(24, "raise the limit of open files (ulimit -n)"),
          Map.entry(23, "raise the limit of open files (fs.file-max)"),
          Map.entry(EADDRINUSE, "another identifier listens there; choose another port"),
          Map.entry(
              EADDRNOTAVAIL, "no RDMA device has this address; see rdma link show, ip addr show"),
          Map.entry(ENETUNREACH, "there is no IP route to the peer; see ip route get"),
          Map.entry(EHOSTUNREACH, "there is no IP route to the peer; see ip route get"));

  private Errno() {}

  /** Returns name, number and text, for example {@code EINVAL 22, invalid argument}. */
  static String describe(int errno) {
    return TEXTS.getOrDefault(errno, "errno " + errno);
  }

  /**
   * Returns the exception for a call that failed.
   *
   * @param call the C function
   * @param errno positive errno
   * @param subject object and values
   */
  static VerbsException failure(String call, int errno, String subject) {
    String hint = HINTS.get(errno);
    return failure(call, errno, subject, hint == null ? "" : hint);
  }

  /** Returns the exception for a call that failed, with a hint of the caller's. */
  static VerbsException failure(String call, int errno, String subject, String hint) {
    return new VerbsException(
        call,
        errno,
        call + ": " + subject + ": " + describe(errno) + (hint.isEmpty() ? "" : "; " + hint));
  }
}
