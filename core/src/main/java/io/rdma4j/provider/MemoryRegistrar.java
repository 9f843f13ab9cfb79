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
   * Registers memory for local use: sends from it and receives into it. Peers get no rights.
   *
   * @param address start
   * @param lengthBytes at least 1
   * @return the registration, owned by the caller
   * @throws io.rdma4j.Rdma4jException when it is refused, with the limit that was hit
   */
  Registration register(long address, long lengthBytes);

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
  }
}
