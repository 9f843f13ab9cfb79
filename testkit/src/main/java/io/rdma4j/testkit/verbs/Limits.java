package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.DeviceAttributes.Atomics;

/**
 * Limits of a scripted device, generous unless set. Set them before the object concerned is made.
 *
 * <p>Not thread-safe: set from the test's thread before others use the device.
 */
public final class Limits {
  /** Bytes that may be pinned, counted in whole pages over all regions. */
  public long lockedMemoryBytes = Long.MAX_VALUE;

  /** Page size for {@link #lockedMemoryBytes}. */
  public final int pageBytes = 4096;

  /** Registrations at a time. */
  public int maxMemoryRegions = 1 << 20;

  /** Gather or scatter entries of one request. */
  public int maxSge = 16;

  /** Largest inline message; a queue pair that wishes more gets this. */
  public int maxInlineBytes = 256;

  /** True when wishing more inline bytes than there are fails with EINVAL, as mlx4 does. */
  public boolean refuseInlineWish;

  /** Entries of a completion queue. */
  public int maxCompletionQueueEntries = 1 << 16;

  /** Depth of a send or receive queue. */
  public int maxQueuePairWorkRequests = 1 << 14;

  /** Reads and atomics under way to one queue pair. */
  public int maxReadAtomic = 16;

  /** Reads and atomics under way from one queue pair. */
  public int maxReadAtomicStarted = 16;

  /** Towards whom atomics are atomic. */
  public Atomics atomics = Atomics.GLOBAL;

  /** Largest message of a port. */
  public long maxMessageBytes = 1L << 30;

  Limits() {}

  DeviceAttributes attributes(int physicalPorts) {
    return new DeviceAttributes(
        "scripted",
        Long.MAX_VALUE,
        1 << 16,
        maxQueuePairWorkRequests,
        maxSge,
        1 << 16,
        maxCompletionQueueEntries,
        maxMemoryRegions,
        maxReadAtomic,
        maxReadAtomicStarted,
        1 << 10,
        physicalPorts,
        1,
        atomics);
  }
}
