package io.rdma4j;

/**
 * A verbs or rdma_cm call that failed, with the call, the object it was made on, and the errno.
 *
 * <p>The message reads: call, object and values, errno with its name, hint.
 */
public final class VerbsException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  private final String call;
  private final int errno;

  /**
   * Creates the failure of one call.
   *
   * @param call the C function, for example {@code ibv_reg_mr}
   * @param errno the positive errno, 0 when the call gives none
   * @param message full text as shown to the user
   */
  public VerbsException(String call, int errno, String message) {
    super(message);
    this.call = call;
    this.errno = errno;
  }

  /** Returns the C function that failed. */
  public String call() {
    return call;
  }

  /** Returns the positive errno, or 0 when the call gives none. */
  public int errno() {
    return errno;
  }
}
