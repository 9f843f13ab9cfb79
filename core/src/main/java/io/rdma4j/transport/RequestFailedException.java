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
