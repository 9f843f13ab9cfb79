package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;

/** A request that will get no reply. */
public final class RequestFailedException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  /** Why there will be no reply. */
  public enum Cause {
    /** The deadline passed. The peer may still have handled the request. */
    DEADLINE,
    /** The request was never sent: no room until the deadline. */
    BACK_PRESSURED,
    /** The connection ended. The peer may still have handled the request. */
    DISCONNECTED,
    /** The request was never sent: too many others waited for their reply until the deadline. */
    WINDOW_FULL,
    /** This side gave the request up: cancelled, or its thread was interrupted. */
    CANCELLED,
    /** The peer's handler failed, or said that it can not answer. */
    PEER_FAILED,
    /** The memory is not exported, or not that far, or not for this; this side or the peer saw. */
    REMOTE_ACCESS,
    /**
     * The path ended under a write or an atomic that a device was carrying out; the peer's memory
     * may have been changed or not.
     */
    OUTCOME_UNKNOWN,
    /** The reply came, but the pool had no buffer for it. */
    NO_BUFFER
  }

  private final Cause failure;

  /** Creates the failure of one request. */
  public RequestFailedException(Cause failure, String message) {
    super(message);
    this.failure = failure;
  }

  /** Returns why there will be no reply. */
  public Cause failure() {
    return failure;
  }
}
