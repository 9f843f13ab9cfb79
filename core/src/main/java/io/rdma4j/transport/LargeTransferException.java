package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;

/** A large message that did not arrive whole, or was not started. */
public final class LargeTransferException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  /** Why it ended. */
  public enum Cause {
    /** The receiver did not want it; the message has its reason. */
    REFUSED,
    /** This side cancelled. */
    CANCELLED,
    /** The other side cancelled, or its deadline passed; the message has its reason. */
    PEER_CANCELLED,
    /** The deadline passed. */
    DEADLINE,
    /** The connection ended. The receiver may have all of it. */
    DISCONNECTED,
    /** The memory of this side can not be accessed any more. */
    MEMORY,
    /** Never started: too many others are under way on this connection. */
    TOO_MANY
  }

  private final Cause failure;

  /** Creates the failure of one large message. */
  public LargeTransferException(Cause failure, String message) {
    super(message);
    this.failure = failure;
  }

  /** Returns why it ended. */
  public Cause failure() {
    return failure;
  }
}
