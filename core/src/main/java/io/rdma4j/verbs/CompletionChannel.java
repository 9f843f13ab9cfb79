package io.rdma4j.verbs;

/**
 * A channel on which completion queues announce that they hold something.
 *
 * <p>One waiting thread at a time.
 */
public interface CompletionChannel extends AutoCloseable {
  /**
   * Waits for an event of any attached queue and acknowledges it.
   *
   * @param timeoutNs 0 does not wait
   * @return true when at least one event was taken
   */
  boolean await(long timeoutNs);

  /**
   * Returns a descriptor that can be read while an event waits, for sleeping on several channels at
   * once; -1 when the implementation has none. Owned by the channel.
   */
  default int descriptor() {
    return -1;
  }

  @Override
  void close();
}
