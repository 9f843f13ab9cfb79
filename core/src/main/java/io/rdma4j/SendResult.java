package io.rdma4j;

/**
 * Sentinel results of the send paths: a non-negative result is success, each negative one names its
 * cause. Nothing was sent and the caller still owns its buffer whenever a result is negative.
 */
public final class SendResult {
  /** The message was taken. */
  public static final int OK = 0;

  /** No room now: the peer has not read yet, or the send queue is full. Try again after polling. */
  public static final int BACK_PRESSURED = -1;

  /** The peer is gone or the path has failed; the connection will report its cause. */
  public static final int NOT_CONNECTED = -2;

  /** This side has closed the connection. */
  public static final int CLOSED = -3;

  /** As many requests as the connection's request window allows wait for their reply already. */
  public static final int WINDOW_FULL = -4;

  /** The peer has given up the request that this belongs to; nobody waits for it any more. */
  public static final int CANCELLED = -5;

  private SendResult() {}

  /** Returns the name of a result for messages and logs. */
  public static String nameOf(long result) {
    if (result >= 0) {
      return "OK";
    }
    return switch ((int) result) {
      case BACK_PRESSURED -> "BACK_PRESSURED";
      case NOT_CONNECTED -> "NOT_CONNECTED";
      case CLOSED -> "CLOSED";
      case WINDOW_FULL -> "WINDOW_FULL";
      case CANCELLED -> "CANCELLED";
      default -> "unknown(" + result + ")";
    };
  }
}
