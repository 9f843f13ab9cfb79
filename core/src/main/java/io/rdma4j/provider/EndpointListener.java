package io.rdma4j.provider;

import java.lang.foreign.MemorySegment;

/** Receives what an {@link Endpoint} has to tell, on the polling thread. */
public interface EndpointListener {
  /**
   * A message has arrived.
   *
   * @param memory holds the payload during this call only
   * @param offset start of the payload
   * @param lengthBytes payload length, may be 0
   */
  void onMessage(int type, long correlationId, MemorySegment memory, long offset, int lengthBytes);

  /**
   * A poll that delivered at least one message has delivered its last one: the place for what is
   * done once for many messages. Called before the poll returns, and not when the listener has
   * closed the endpoint or {@link #onMessage} has thrown.
   */
  default void onBatchEnd() {}

  /** The memory of a {@link Endpoint#sendRegistered} is free again. */
  void onSent(long token);

  /**
   * An operation of {@link OneSided} has ended, and its local memory is free again. Called once for
   * each that was started, in the order in which they were started.
   *
   * @param outcome {@link OneSided#DONE}, {@link OneSided#REFUSED} or {@link OneSided#UNKNOWN}
   */
  default void onRemoteEnd(long token, int outcome) {}

  /**
   * The peer's device has written into memory of this side and sent 32 bits with it; in order with
   * messages.
   *
   * @param lengthBytes bytes written
   */
  default void onImmediate(int immediate, int lengthBytes) {}

  /**
   * The path has failed or the peer has gone; nothing more will be delivered. Called once. The
   * cause names the first real error, not those that followed from it.
   */
  void onFailure(EndpointFailure cause);
}
