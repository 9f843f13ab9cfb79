package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import org.jspecify.annotations.Nullable;

/** A connection could not be set up; the message gives the peer, each path tried and its reason. */
public final class ConnectFailedException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  /** Creates the failure of one connect. */
  public ConnectFailedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
