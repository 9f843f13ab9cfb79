package io.rdma4j.transport;

/** Types that travel with each message of an endpoint. */
final class MessageType {
  /** Application message. */
  static final int DATA = 0;

  /** Application request; the correlation id is the requester's, in all that belongs to it. */
  static final int REQUEST = 1;

  /** Reply: ends the request. */
  static final int REPLY = 2;

  /** Application request that may be answered in parts before its reply. */
  static final int STREAM_REQUEST = 3;

  /** Part of an answer. */
  static final int PART = 4;

  /** Ends the request with a failure; the payload is its text, UTF-8. */
  static final int FAILED = 5;

  /** Asks for an access to exported memory; {@link RemoteWire} draws it. */
  static final int REMOTE = 6;

  /** Outcome of such an access; {@link RemoteWire} draws it. */
  static final int REMOTE_DONE = 7;

  /** The requester has given up. No payload. */
  static final int CANCEL = 8;

  /** The requester takes more parts; the payload is their number, a little-endian int. */
  static final int GRANT = 9;

  /**
   * A device's key to exported memory, whose id is the correlation id; {@link RemoteKey} draws it.
   */
  static final int REGION_KEY = 10;

  /** The exporter wants the region in the correlation id back. No payload. */
  static final int REGION_CLOSED = 11;

  /** No operation on the region in the correlation id is under way any more. No payload. */
  static final int REGION_LEFT = 12;

  // Of large messages; LargeWire draws them.
  static final int LARGE_OFFER = 13;
  static final int LARGE_ACCEPT = 14;
  static final int LARGE_DATA = 15;
  static final int LARGE_KEY = 16;
  static final int LARGE_TAKEN = 17;
  static final int LARGE_AGAIN = 18;
  static final int LARGE_FROM = 19;
  static final int LARGE_CANCEL = 20;
  static final int LARGE_END = 21;

  /** What was delivered so far, in the correlation id; between {@link ResumableEndpoint}s. */
  static final int ACKNOWLEDGEMENT = 253;

  /** Last message of its sender. Order is kept, so everything before it has been delivered. */
  static final int GOODBYE = 254;

  /** Sender is alive; used on paths whose socket carries the messages. */
  static final int HEARTBEAT = 255;

  /** Types up to this one carry what the application does, and are counted. */
  static final int LAST_OF_APPLICATION = REMOTE_DONE;

  private MessageType() {}
}
