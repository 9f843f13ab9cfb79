package io.rdma4j.pool;

/** Told how far the registration of a new pool's memory has come. */
@FunctionalInterface
public interface PoolProgress {
  /** Tells nobody. */
  PoolProgress NONE = (registeredBytes, totalBytes) -> {};

  /**
   * Called each time a slab has been registered with all devices, on the thread that creates the
   * pool.
   *
   * @param registeredBytes bytes ready so far
   * @param totalBytes bytes that the pool starts with
   */
  void registered(long registeredBytes, long totalBytes);
}
