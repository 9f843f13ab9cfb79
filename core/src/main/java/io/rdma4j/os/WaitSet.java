package io.rdma4j.os;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/**
 * A set of descriptors that one thread sleeps on until one of them can be read, or another thread
 * wakes it (epoll(7), with an eventfd(2) of its own).
 *
 * <p>One thread awaits and closes; {@link #add} and {@link #wakeUp} are for any thread until then.
 * Descriptors are not owned, and one that is closed leaves the set by itself. Awaiting and waking
 * allocate nothing.
 */
public final class WaitSet implements AutoCloseable {
  private static final int EPOLL_CLOEXEC = 0x80000;
  private static final int EFD_CLOEXEC_NONBLOCK = 0x80000 | 0x800;
  private static final int EPOLL_CTL_ADD = 1;
  private static final int EPOLLIN = 1;

  /** struct epoll_event: 12 bytes where it is packed (x86-64), 16 elsewhere; events come first. */
  private static final long EPOLL_EVENT_BYTES = 16;

  private static final Linker LINKER = Linker.nativeLinker();
  private static final VarHandle ERRNO =
      Linker.Option.captureStateLayout()
          .varHandle(MemoryLayout.PathElement.groupElement("errno"))
          .withInvokeExactBehavior();
  private static final MethodHandle EPOLL_CREATE =
      handle("epoll_create1", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
  private static final MethodHandle EPOLL_CTL =
      handle("epoll_ctl", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS));
  private static final MethodHandle EPOLL_WAIT =
      handle("epoll_wait", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT));
  private static final MethodHandle EVENTFD =
      handle("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
  private static final MethodHandle READ =
      handle("read", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
  private static final MethodHandle WRITE =
      handle("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));

  private final Arena arena = Arena.ofShared();
  private final MemorySegment state = arena.allocate(Linker.Option.captureStateLayout());
  private final MemorySegment event = arena.allocate(EPOLL_EVENT_BYTES, 8);
  private final MemorySegment count = arena.allocate(JAVA_LONG);
  private final MemorySegment writeState = arena.allocate(Linker.Option.captureStateLayout());
  private final MemorySegment one = arena.allocateFrom(JAVA_LONG, 1L);
  private final int epoll;
  private final int wakeUps;

  @SuppressWarnings("restricted")
  private static MethodHandle handle(String function, FunctionDescriptor descriptor) {
    return LINKER.downcallHandle(
        LINKER.defaultLookup().findOrThrow(function),
        descriptor,
        Linker.Option.captureCallState("errno"));
  }

  /**
   * Makes an empty set.
   *
   * @throws OsException when the process has no descriptors left
   */
  public WaitSet() {
    int epollMade = -1;
    int wakeUpsMade = -1;
    try {
      epollMade = made("epoll_create1", (int) EPOLL_CREATE.invokeExact(state, EPOLL_CLOEXEC));
      wakeUpsMade = made("eventfd", (int) EVENTFD.invokeExact(state, 0, EFD_CLOEXEC_NONBLOCK));
      add(epollMade, wakeUpsMade);
    } catch (Throwable e) {
      closeDescriptor(wakeUpsMade);
      closeDescriptor(epollMade);
      arena.close();
      throw rethrown("epoll_create1", e);
    }
    epoll = epollMade;
    wakeUps = wakeUpsMade;
  }

  private int made(String call, int descriptor) {
    if (descriptor < 0) {
      throw failure(call, state);
    }
    return descriptor;
  }

  private static OsException failure(String call, MemorySegment state) {
    int errno = (int) ERRNO.get(state, 0L);
    return new OsException(call, "", errno, "");
  }

  /**
   * Adds a descriptor.
   *
   * @throws OsException when it is none that can be waited for
   */
  public void add(int descriptor) {
    add(epoll, descriptor);
  }

  private static void add(int epoll, int descriptor) {
    try (Arena frame = Arena.ofConfined()) {
      MemorySegment captured = frame.allocate(Linker.Option.captureStateLayout());
      MemorySegment wanted = frame.allocate(EPOLL_EVENT_BYTES, 8);
      wanted.set(JAVA_INT, 0, EPOLLIN);
      if ((int) EPOLL_CTL.invokeExact(captured, epoll, EPOLL_CTL_ADD, descriptor, wanted) < 0) {
        throw failure("epoll_ctl", captured);
      }
    } catch (Throwable e) {
      throw rethrown("epoll_ctl", e);
    }
  }

  /** Returns the set's own descriptor, which can be read when a sleep would end at once. */
  public int descriptor() {
    return epoll;
  }

  /**
   * Sleeps.
   *
   * @param timeoutMs at least 1
   * @return true when a descriptor can be read or somebody called {@link #wakeUp}; false when the
   *     time is over, or a signal came
   */
  public boolean await(int timeoutMs) {
    try {
      int ready = (int) EPOLL_WAIT.invokeExact(state, epoll, event, 1, timeoutMs);
      if (ready < 0 && (int) ERRNO.get(state, 0L) != Errno.EINTR) {
        throw failure("epoll_wait", state);
      }
      if (ready > 0) {
        // Whoever calls wakeUp after this read finds the count at 0 and makes the next await end.
        long ignored = (long) READ.invokeExact(state, wakeUps, count, (long) Long.BYTES);
      }
      return ready > 0;
    } catch (Throwable e) {
      throw rethrown("epoll_wait", e);
    }
  }

  /** Ends the present or the next {@link #await}; of a closed set it does nothing. */
  public synchronized void wakeUp() {
    if (!arena.scope().isAlive()) {
      return;
    }
    try {
      if ((long) WRITE.invokeExact(writeState, wakeUps, one, (long) Long.BYTES) < 0) {
        throw failure("write", writeState);
      }
    } catch (Throwable e) {
      throw rethrown("write", e);
    }
  }

  @Override
  public synchronized void close() {
    if (arena.scope().isAlive()) {
      arena.close();
      closeDescriptor(wakeUps);
      closeDescriptor(epoll);
    }
  }

  private static void closeDescriptor(int descriptor) {
    if (descriptor >= 0) {
      LibC.close(descriptor);
    }
  }

  private static RuntimeException rethrown(String call, Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return thrown instanceof RuntimeException known
        ? known
        : new IllegalStateException(call + " could not be called", thrown);
  }
}
