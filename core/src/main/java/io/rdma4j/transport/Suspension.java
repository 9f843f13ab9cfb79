package io.rdma4j.transport;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import org.jspecify.annotations.Nullable;

/**
 * The time in which a connection has no path: why it lost the last one, what was tried to find
 * another, and when there is no more hope.
 *
 * <p>Begins, and is asked for its end, by the polling thread; the other methods by any.
 */
final class Suspension {
  private final long timeoutNs;
  private volatile @Nullable EndpointFailure givenUp;

  /** What came of the latest attempt, when that was nothing. */
  private volatile String lastAttempt = "";

  private long beginNs;
  private @Nullable EndpointFailure cause;

  Suspension(long timeoutNs) {
    this.timeoutNs = timeoutNs;
  }

  /** A path has ended. */
  void begin(EndpointFailure endOfPath) {
    cause = endOfPath;
    beginNs = System.nanoTime();
    lastAttempt = "";
  }

  /** An attempt to find another path was in vain, which explains the end if that comes. */
  void noteAttempt(String outcome) {
    lastAttempt = outcome;
  }

  /** There will be no other path. */
  void giveUp(EndpointFailure reason) {
    givenUp = reason;
  }

  /** Returns what the connection ends with, null while it may wait on. */
  @Nullable EndpointFailure end() {
    EndpointFailure reason = givenUp;
    if (reason == null && System.nanoTime() - beginNs > timeoutNs) {
      reason = new EndpointFailure(Kind.PEER_LOST, noOtherPath());
    }
    EndpointFailure first = cause;
    if (reason == null || first == null) {
      return reason;
    }
    return new EndpointFailure(
        first.kind() == Kind.PEER_CLOSED ? reason.kind() : first.kind(),
        first.message() + "; " + reason.message());
  }

  private String noOtherPath() {
    String attempt = lastAttempt;
    return "no other path came up in time, which is %d ms%s"
        .formatted(
            timeoutNs / 1_000_000, attempt.isEmpty() ? "" : "; the last attempt: " + attempt);
  }
}
