package io.rdma4j;

import org.jspecify.annotations.Nullable;

/**
 * Root of the exceptions this library throws off its hot paths. The message names the object, the
 * values and limits concerned, and the next step.
 */
public class Rdma4jException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Creates an exception without a cause. */
  public Rdma4jException(String message) {
    super(message);
  }

  /** Creates an exception with the failure that led to it. */
  public Rdma4jException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
