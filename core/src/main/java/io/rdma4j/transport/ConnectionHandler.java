package io.rdma4j.transport;

import io.rdma4j.provider.EndpointFailure;

/**
 * Receives what arrives on a connection, on the thread that polls it. Calls must be short: while
 * one runs, nothing else on that poller moves. An exception from a handler is logged and counted;
 * the connection goes on.
 */
@FunctionalInterface
public interface ConnectionHandler {
  /** The connection is up. Called once, before the first message. */
  default void onConnected(Connection connection) {}

  /**
   * A message or request has arrived.
   *
   * @param message valid during this call only; {@link Message#tryTake} keeps its payload
   */
  void onMessage(Connection connection, Message message);

  /**
   * The messages that had arrived together have been delivered: the place for what is done once for
   * many of them. Called behind the last {@link #onMessage} of each turn of the poller that had
   * one; what is sent here still goes out in that turn.
   */
  default void onBatchEnd(Connection connection) {}

  /**
   * The sender of a request has given up: its deadline passed, or it was cancelled. An answer in
   * parts has noticed by itself.
   *
   * @param correlationId that of the request
   */
  default void onCancelled(Connection connection, long correlationId) {}

  /**
   * The peer has written into exported memory and sent 32 bits with it. What it wrote is there.
   *
   * @param immediate as the peer gave it; {@link Integer#toUnsignedLong} for those above 2^31
   * @param lengthBytes bytes written, may be 0
   */
  default void onImmediate(Connection connection, int immediate, int lengthBytes) {}

  /**
   * The peer wants to send a large message: {@link LargeReceive#accept} it with a place to put it,
   * or {@link LargeReceive#refuse} it, now or later.
   */
  default void onLarge(Connection connection, LargeReceive offer) {
    offer.refuse("this side takes no large messages");
  }

  /** The connection has ended. Called once, after the last message. */
  default void onDisconnected(Connection connection, EndpointFailure reason) {}
}
