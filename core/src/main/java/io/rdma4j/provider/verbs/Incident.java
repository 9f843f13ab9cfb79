package io.rdma4j.provider.verbs;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSink;
import io.rdma4j.status.EventSubject;
import io.rdma4j.verbs.Completions;

/**
 * What brought a queue pair down: the first completion error that is not a mere flush, and how many
 * requests fell with it, before or after.
 *
 * <p>Polling thread only.
 */
final class Incident {
  private static final int REMOTE_INVALID_REQUEST = 9;
  private static final int REMOTE_OPERATION_ERROR = 11;
  private static final int RETRY_EXCEEDED = 12;
  private static final int RNR_RETRY_EXCEEDED = 13;
  private static final int RESPONSE_TIMEOUT = 20;

  private final QueuePairFacts where;
  private int status = Completions.SUCCESS;
  private int vendorError;
  private boolean onReceive;
  private int followers;

  Incident(QueuePairFacts where) {
    this.where = where;
  }

  /** Notes a completion that is not a success. */
  void note(boolean receive, int errorStatus, int errorVendor) {
    if (errorStatus == Completions.FLUSHED || status != Completions.SUCCESS) {
      followers++;
    } else {
      status = errorStatus;
      vendorError = errorVendor;
      onReceive = receive;
    }
  }

  /** Returns true once a real error was seen. */
  boolean hasCause() {
    return status != Completions.SUCCESS;
  }

  /** Describes the real error. */
  EndpointFailure failure() {
    return new EndpointFailure(
        kind(),
        String.format(
            "%s: %s (%s, status %d, vendor error %d), %s; %s",
            where,
            Completions.statusText(status),
            onReceive ? "receive" : "send",
            status,
            vendorError,
            followersText(),
            hint()));
  }

  /** Adds the followers to a cause that was found elsewhere. */
  EndpointFailure withFollowers(EndpointFailure cause) {
    return new EndpointFailure(
        cause.kind(), where + ": " + cause.message() + ", " + followersText());
  }

  /** Tells the journal: the real error as one event, flushes as its consequence. */
  void tell(EventSink events, EventSubject subject) {
    if (hasCause()) {
      events.emit(
          EventKind.COMPLETION_ERROR,
          subject,
          status,
          vendorError,
          followers,
          Completions.statusText(status) + (onReceive ? ", receive" : ", send"));
    } else if (followers > 0) {
      events.emit(EventKind.COMPLETION_FLUSHED, subject, Completions.FLUSHED, 0, followers, "");
    }
  }

  private String followersText() {
    return followers + (followers == 1 ? " request" : " requests") + " flushed with it";
  }

  private Kind kind() {
    return switch (status) {
      case RETRY_EXCEEDED, RESPONSE_TIMEOUT -> Kind.PEER_LOST;
      case RNR_RETRY_EXCEEDED -> Kind.PROTOCOL;
      default ->
          status >= REMOTE_INVALID_REQUEST && status <= REMOTE_OPERATION_ERROR
              ? Kind.PROTOCOL
              : Kind.DEVICE;
    };
  }

  private String hint() {
    return switch (kind()) {
      case PEER_LOST ->
          "the peer or the path to it is gone: look at the peer's process and host,"
              + " then at link, MTU and flow control between the two";
      case PROTOCOL -> "the peer broke the protocol, or the two run different versions";
      default -> "the request itself was wrong for this device: look at the memory it named";
    };
  }
}
