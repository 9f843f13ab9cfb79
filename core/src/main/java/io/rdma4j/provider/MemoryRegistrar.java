package io.rdma4j.provider;

/**
 * Makes memory known to one protection domain.
 *
 * <p>Safe for use by several threads.
 */
public interface MemoryRegistrar {
  /** Returns the device name, for messages and statistics. */
  String name();

  /**
   * Returns whether the device serves {@link OneSided} operations of peers, so that registering
   * memory for them has a use.
   */
  default boolean servesPeers() {
    return false;
  }

  /**
   * Registers memory for local use: sends from it and receives into it. Peers get no rights.
   *
   * @param address start
   * @param lengthBytes at least 1
   * @return the registration, owned by the caller
   * @throws io.rdma4j.Rdma4jException when it is refused, with the limit that was hit
   */
  Registration register(long address, long lengthBytes);

  /**
   * Registers memory with the rights asked for. A registrar that knows local use only, which is the
   * default, refuses rights of peers.
   *
   * @param address start
   * @param lengthBytes at least 1
   * @param access bits of {@link MemoryAccess}
   * @return the registration, owned by the caller
   * @throws IllegalArgumentException for rights that contradict each other
   * @throws UnsupportedOperationException for rights that this registrar can not give
   * @throws io.rdma4j.Rdma4jException when it is refused, with the limit that was hit
   */
  default Registration register(long address, long lengthBytes, int access) {
    MemoryAccess.check(access);
    if (MemoryAccess.isRemote(access)) {
      throw new UnsupportedOperationException(
          name()
              + " registers memory for local use only, not for "
              + MemoryAccess.toString(access));
    }
    return register(address, lengthBytes);
  }

  /** Memory known to a device until it is closed. The memory must outlive it. */
  interface Registration extends AutoCloseable {
    /** Returns the key for local gather and scatter entries. */
    int lkey();

    /** Returns the key that peers would use. */
    int rkey();

    /**
     * Makes the device forget the memory, as soon as no posted request names it any more.
     * Idempotent; where the device has refused, another call tries again.
     */
    @Override
    void close();

    /** Returns true once the device has forgotten the memory, which may only then be given back. */
    boolean isDeregistered();

    /**
     * Makes the device forget the memory now, in spite of posted requests, which then fail at the
     * device. For memory that is about to go; returns when the device has forgotten it.
     *
     * @throws IllegalStateException by default, when posted requests are in the way
     */
    default void revoke() {
      close();
      if (!isDeregistered()) {
        throw new IllegalStateException(this + " can not be taken from posted requests");
      }
    }
  }
}
