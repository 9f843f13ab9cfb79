package io.rdma4j.transport;

/** Types that travel with each message of an endpoint. */
final class MessageType {
  /** Application message. */
  static final int DATA = 0;

  /** Application request; the correlation id is the requester's. */
  static final int REQUEST = 1;

  /** Reply; the correlation id is that of the request. */
  static final int REPLY = 2;

  /** What was delivered so far, in the correlation id; between {@link ResumableEndpoint}s. */
  static final int ACKNOWLEDGEMENT = 253;

  /** Last message of its sender. Order is kept, so everything before it has been delivered. */
  static final int GOODBYE = 254;

  /** Sender is alive; used on paths whose socket carries the messages. */
  static final int HEARTBEAT = 255;

  private MessageType() {}
}
