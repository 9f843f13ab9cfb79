package io.rdma4j.transport;

/**
 * Hears how large messages end: one call for each, on the polling thread. Calls must be short. From
 * then on the memory belongs to the application again, and nobody reads or writes it.
 */
public interface LargeHandler {
  /** All of it is in the receiver's target. */
  void onDone(LargeTransfer transfer);

  /** It ended before that; the receiver's target holds some of it. */
  void onFailure(LargeTransfer transfer, LargeTransferException.Cause cause, String message);
}
