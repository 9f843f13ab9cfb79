package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;

/** A message is longer than the connection carries in one piece. */
public final class MessageTooLargeException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  private final int lengthBytes;
  private final int maxMessageBytes;

  /** Creates the refusal of one message. */
  public MessageTooLargeException(int lengthBytes, int maxMessageBytes) {
    super(
        "message of "
            + lengthBytes
            + " bytes, allowed are 0 to "
            + maxMessageBytes
            + "; use Connection.sendLarge, or raise NodeConfig.maxMessageBytes on both ends");
    this.lengthBytes = lengthBytes;
    this.maxMessageBytes = maxMessageBytes;
  }

  /** Returns the length asked for. */
  public int lengthBytes() {
    return lengthBytes;
  }

  /** Returns the limit. */
  public int maxMessageBytes() {
    return maxMessageBytes;
  }
}
