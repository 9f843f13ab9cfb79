package io.rdma4j.transport;

/**
 * Hears how operations on a peer's memory end: one call for each that was started. On the polling
 * thread, at the deadline on the node's background thread. Calls must be short.
 */
public interface RemoteHandler {
  /**
   * It is done; what was read is in the target.
   *
   * @param value the word before the operation, for atomics; else 0
   */
  void onDone(RemoteOperation operation, long value);

  /**
   * It failed. Except for REMOTE_ACCESS, the peer may have carried it out all the same.
   *
   * @param message the reason, for people
   */
  void onFailure(RemoteOperation operation, RequestFailedException.Cause cause, String message);
}
