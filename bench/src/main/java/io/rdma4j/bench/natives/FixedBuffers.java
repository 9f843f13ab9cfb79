package io.rdma4j.bench.natives;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.Availability;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Memory pinned by the kernel through an io_uring (io_uring_register(2)): the part of a memory
 * registration that needs no device. The kernel takes the same long-term pins for both, but builds
 * no translation table and tells no device, so the real thing costs more.
 *
 * <p>One thread at a time. Owns a ring, of which nothing but its table of buffers is used.
 *
 * <pre>
 *  struct iovec: +0 iov_base | +8 iov_len
 * </pre>
 */
public final class FixedBuffers implements AutoCloseable {
  /** The most one entry may have; longer memory takes several. */
  public static final long MAX_BUFFER_BYTES = 1L << 30;

  private static final int IO_URING_SETUP = 425;
  private static final int IO_URING_REGISTER = 427;
  private static final int REGISTER_BUFFERS = 0;
  private static final int UNREGISTER_BUFFERS = 1;
  private static final long PARAMS_BYTES = 120;
  private static final int IOVEC_BYTES = 16;

  private static final long PROBE_BYTES = 4096;
  private static final int PROBES = 16;

  /** Far more than a page takes, far less than a grace period. */
  private static final long LONGEST_PIN_NS = 1_000_000;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment callState = Linux.newCallState(arena);
  private final int ring;

  /** Creates a ring with an empty table. */
  public FixedBuffers() {
    try {
      long params = arena.allocate(PARAMS_BYTES, Long.BYTES).address();
      ring = (int) Linux.syscall(callState, "io_uring_setup", IO_URING_SETUP, 1, params, 0, 0);
    } catch (RuntimeException e) {
      arena.close();
      throw e;
    }
  }

  /** Returns whether this process may have a ring, with the kernel's reason. */
  public static Availability availability() {
    try (FixedBuffers ring = new FixedBuffers()) {
      return Availability.usable("pin only, no NIC: io_uring buffer table, ring " + ring.ring);
    } catch (Linux.LinuxException e) {
      return Availability.unusable(
          e.getMessage()
              + "; io_uring is forbidden here: see kernel.io_uring_disabled, or the container's"
              + " seccomp profile");
    }
  }

  /**
   * Returns whether the time of {@link #pin} and {@link #unpin} is that of pinning. Older kernels
   * quiesce the ring before they give up its table, for an RCU grace period of milliseconds.
   */
  public static Availability timingAvailability() {
    Availability ring = availability();
    if (!ring.usable()) {
      return ring;
    }
    try (Arena arena = Arena.ofConfined();
        FixedBuffers buffers = new FixedBuffers()) {
      long address = arena.allocate(PROBE_BYTES, PROBE_BYTES).address();
      MemorySegment description = describe(arena, address, PROBE_BYTES);
      long leastNs = Long.MAX_VALUE;
      for (int i = 0; i < PROBES; i++) {
        long startNs = System.nanoTime();
        buffers.pin(description);
        buffers.unpin();
        leastNs = Math.min(leastNs, System.nanoTime() - startNs);
      }
      return leastNs < LONGEST_PIN_NS
          ? ring
          : Availability.unusable(
              "io_uring of this kernel waits for a grace period when memory is unpinned (%d us for"
                      .formatted(leastNs / 1000)
                  + " one page), so its time says nothing of pinning; newer kernels do not wait");
    }
  }

  /** Prepares the description of a range for {@link #pin}. */
  public static MemorySegment describe(Arena arena, long address, long lengthBytes) {
    int entries = Math.toIntExact((lengthBytes + MAX_BUFFER_BYTES - 1) / MAX_BUFFER_BYTES);
    MemorySegment table = arena.allocate((long) entries * IOVEC_BYTES, Long.BYTES);
    for (int i = 0; i < entries; i++) {
      long offset = i * MAX_BUFFER_BYTES;
      table.setAtIndex(JAVA_LONG, 2L * i, address + offset);
      table.setAtIndex(JAVA_LONG, 2L * i + 1, Math.min(MAX_BUFFER_BYTES, lengthBytes - offset));
    }
    return table;
  }

  /** Pins a range; the table must be empty. */
  public void pin(MemorySegment description) {
    register(REGISTER_BUFFERS, description.address(), description.byteSize() / IOVEC_BYTES);
  }

  /** Unpins what was pinned; the table is empty afterwards. */
  public void unpin() {
    register(UNREGISTER_BUFFERS, 0, 0);
  }

  private void register(int operation, long table, long entries) {
    Linux.syscall(
        callState, "io_uring_register", IO_URING_REGISTER, ring, operation, table, entries);
  }

  /** Gives the ring back, and unpins. */
  @Override
  public void close() {
    Linux.close(ring);
    arena.close();
  }
}
