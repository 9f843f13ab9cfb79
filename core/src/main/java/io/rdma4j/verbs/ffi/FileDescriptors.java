package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdma4j.VerbsException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;

/** What is done with the file descriptors that libibverbs and librdmacm hand out. */
final class FileDescriptors {
  private static final NativeFunction PPOLL;
  private static final NativeFunction FCNTL;

  static {
    SymbolLookup libc = Linker.nativeLinker().defaultLookup();
    PPOLL =
        new NativeFunction(
            "ppoll",
            libc.findOrThrow("ppoll"),
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    FCNTL =
        new NativeFunction(
            "fcntl",
            libc.findOrThrow("fcntl"),
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT),
            Linker.Option.firstVariadicArg(2));
  }

  private FileDescriptors() {}

  /** Makes reads answer EAGAIN instead of blocking. */
  static void setNonBlocking(Frame frame, int fd) {
    int flags = FCNTL.value(frame, fd, Layouts.F_GETFL, 0);
    if (flags == -1 || FCNTL.value(frame, fd, Layouts.F_SETFL, flags | Layouts.O_NONBLOCK) == -1) {
      int errno = frame.errno();
      throw new VerbsException(
          "fcntl",
          errno,
          "fcntl: descriptor " + fd + " cannot be made non-blocking: " + Errno.describe(errno));
    }
  }

  /** Reusable arguments for waiting on one descriptor; one waiting thread at a time. */
  static final class Wait {
    private final Frame frame;
    private final MemorySegment pollfd;
    private final MemorySegment timeout;

    Wait(Frame frame, int fd) {
      this.frame = frame;
      pollfd = frame.allocate(Layouts.POLLFD_BYTES);
      pollfd.set(JAVA_INT, Layouts.POLLFD_FD, fd);
      pollfd.set(JAVA_SHORT, Layouts.POLLFD_EVENTS, (short) Layouts.POLLIN);
      timeout = frame.allocate(Layouts.TIMESPEC_BYTES);
    }

    /** Waits until the descriptor can be read. Returns false when the time is over. */
    boolean untilReadable(long timeoutNs) {
      long deadlineNs = System.nanoTime() + timeoutNs;
      long leftNs = timeoutNs;
      while (true) {
        timeout.set(JAVA_LONG, 0, leftNs / 1_000_000_000);
        timeout.set(JAVA_LONG, 8, leftNs % 1_000_000_000);
        int ready = PPOLL.value(frame, pollfd, 1L, timeout, MemorySegment.NULL);
        if (ready >= 0) {
          return ready > 0;
        }
        if (frame.errno() != Errno.EINTR) {
          throw new VerbsException(
              "ppoll", frame.errno(), "ppoll: " + Errno.describe(frame.errno()));
        }
        leftNs = Math.max(0, deadlineNs - System.nanoTime());
      }
    }
  }
}
