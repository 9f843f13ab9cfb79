package io.rdma4j.os;

import io.rdma4j.Rdma4jException;

/** A system call that failed: the call with its values, the errno with its name, the next step. */
public final class OsException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  private final String call;
  private final int errno;

  OsException(String call, String values, int errno, String nextStep) {
    super(message(call, values, errno, nextStep));
    this.call = call;
    this.errno = errno;
  }

  private static String message(String call, String values, int errno, String nextStep) {
    String failure = "%s(%s) failed: %s".formatted(call, values, Errno.describe(errno));
    return nextStep.isEmpty() ? failure : failure + "; " + nextStep;
  }

  /** Returns the C function that failed. */
  public String call() {
    return call;
  }

  /** Returns the positive errno. */
  public int errno() {
    return errno;
  }
}
