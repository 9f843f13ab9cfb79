package io.rdma4j.verbs;

/**
 * Limits of a device (struct ibv_device_attr).
 *
 * @param firmwareVersion empty when the device has none
 * @param maxMemoryRegionBytes largest single registration
 * @param maxQueuePairs queue pairs
 * @param maxQueuePairWorkRequests depth of one send or receive queue
 * @param maxSge gather or scatter entries of one work request
 * @param maxCompletionQueues completion queues
 * @param maxCompletionQueueEntries entries of one completion queue
 * @param maxMemoryRegions memory regions
 * @param maxReadAtomicAsTarget outstanding RDMA reads and atomics served by one queue pair
 * @param maxReadAtomicAsInitiator outstanding RDMA reads and atomics started by one queue pair
 * @param maxSharedReceiveQueues shared receive queues
 * @param physicalPorts ports, numbered from 1
 * @param completionVectors completion vectors
 * @param atomics towards whom atomics of peers are atomic
 */
public record DeviceAttributes(
    String firmwareVersion,
    long maxMemoryRegionBytes,
    int maxQueuePairs,
    int maxQueuePairWorkRequests,
    int maxSge,
    int maxCompletionQueues,
    int maxCompletionQueueEntries,
    int maxMemoryRegions,
    int maxReadAtomicAsTarget,
    int maxReadAtomicAsInitiator,
    int maxSharedReceiveQueues,
    int physicalPorts,
    int completionVectors,
    Atomics atomics) {
  /** What a device promises of atomics (enum ibv_atomic_cap). */
  public enum Atomics {
    /** It has none. */
    NONE,
    /** Atomic among the operations of this device. */
    DEVICE,
    /** Atomic towards the processors too. */
    GLOBAL;

    private static final Atomics[] VALUES = values();

    /** Maps the C number; anything new counts as none. */
    public static Atomics of(int raw) {
      return raw >= 0 && raw < VALUES.length ? VALUES[raw] : NONE;
    }
  }
}
