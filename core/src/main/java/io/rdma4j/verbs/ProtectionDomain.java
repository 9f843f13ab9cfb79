package io.rdma4j.verbs;

/**
 * A protection domain: queue pairs in it may use only memory registered in it.
 *
 * <p>Safe for use by several threads. Owned by its {@link Device}; {@link #close()} closes queue
 * pairs first, then shared receive queues, then memory regions.
 */
public interface ProtectionDomain extends AutoCloseable {
  /** Returns the device this domain belongs to. */
  Device device();

  /**
   * Registers memory under its own address.
   *
   * @param address start, any alignment; whole pages are pinned
   * @param lengthBytes at least 1
   * @param access bits of {@link Access}
   * @throws IllegalArgumentException for length 0 or contradictory access
   * @throws io.rdma4j.VerbsException when the kernel refuses; an ENOMEM names the process's
   *     locked-memory limit and the bytes already pinned
   */
  default MemoryRegion registerMemory(long address, long lengthBytes, int access) {
    return registerMemory(address, lengthBytes, address, access);
  }

  /**
   * Registers memory that work requests address from {@code iova} on (ibv_reg_mr_iova2 where the
   * library has it).
   */
  MemoryRegion registerMemory(long address, long lengthBytes, long iova, int access);

  /** Creates a reliable-connected queue pair, in state RESET. */
  QueuePair createQueuePair(QueuePairConfig config);

  /** Creates a shared receive queue. */
  SharedReceiveQueue createSharedReceiveQueue(int maxWorkRequests, int maxSge);

  @Override
  void close();
}
