package io.rdma4j.verbs;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Account of the memory that registrations have pinned, counted as the kernel does: whole pages,
 * once for each registration, against the locked-memory limit of the process.
 *
 * <p>Safe for use by several threads.
 */
public final class PinnedMemory {
  private final long pageBytes;
  private final LongSupplier limitBytes;
  private final AtomicLong pinnedBytes = new AtomicLong();

  /**
   * Creates an empty account.
   *
   * @param pageBytes page size, a power of two
   * @param limitBytes present limit of the process, {@link Long#MAX_VALUE} for none
   */
  public PinnedMemory(long pageBytes, LongSupplier limitBytes) {
    if (Long.bitCount(pageBytes) != 1) {
      throw new IllegalArgumentException("page size must be a power of two, not " + pageBytes);
    }
    this.pageBytes = pageBytes;
    this.limitBytes = limitBytes;
  }

  /** Returns the bytes of the whole pages that a range touches. */
  public long footprintBytes(long address, long lengthBytes) {
    long first = address & -pageBytes;
    long end = (address + lengthBytes + pageBytes - 1) & -pageBytes;
    return end - first;
  }

  /** Adds a registration. */
  public void pinned(long address, long lengthBytes) {
    pinnedBytes.addAndGet(footprintBytes(address, lengthBytes));
  }

  /** Takes a registration out again. */
  public void unpinned(long address, long lengthBytes) {
    pinnedBytes.addAndGet(-footprintBytes(address, lengthBytes));
  }

  /** Returns the bytes pinned now. */
  public long pinnedBytes() {
    return pinnedBytes.get();
  }

  /**
   * Explains an ENOMEM of the kernel.
   *
   * @param askedBytes bytes of whole pages that were asked for, 0 for an object that is not a
   *     memory region (its queues are locked as well)
   */
  public String explain(long askedBytes) {
    long limit = limitBytes.getAsLong();
    String pinned = "already pinned by memory regions " + pinnedBytes() + " bytes";
    if (limit == Long.MAX_VALUE) {
      return pinned
          + "; this process has no locked-memory limit, so the device or the machine is short of"
          + " memory";
    }
    return "locked-memory limit of this process "
        + limit
        + " bytes (RLIMIT_MEMLOCK), "
        + (askedBytes == 0 ? "" : "asked for " + askedBytes + " bytes of whole pages, ")
        + pinned
        + "; raise memlock (ulimit -l, LimitMEMLOCK= of systemd, --ulimit memlock= of a container)"
        + " or grant CAP_IPC_LOCK";
  }
}
