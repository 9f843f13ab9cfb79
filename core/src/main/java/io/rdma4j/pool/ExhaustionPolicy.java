package io.rdma4j.pool;

/** What an allocation does when no block of its class is free and the byte budget is spent. */
public enum ExhaustionPolicy {
  /** Throws {@link PoolExhaustedException} at once; the caller decides what to give up. */
  FAIL,
  /**
   * Waits for a release, up to {@link PoolConfig#exhaustionTimeoutNs}, then throws {@link
   * PoolExhaustedException}. Not for a thread that must release the blocks itself, such as a
   * poller.
   */
  WAIT,
  /**
   * Registers memory for this request alone at once, while the pool grows in the background. Counts
   * towards {@link PoolConfig#maxBytes}: when not even one block fits, it fails like {@link #FAIL}.
   */
  FALL_BACK
}
