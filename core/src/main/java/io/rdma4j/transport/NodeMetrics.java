package io.rdma4j.transport;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;
import static io.rdma4j.status.MetricDescriptor.histogram;

import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.status.MetricDescriptor;
import io.rdma4j.status.MetricSource;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.util.List;
import java.util.Locale;

/**
 * The metrics of a node: its connections, their traffic and requests, and handshakes. Labels are
 * names of paths alone, so that the number of series does not depend on who comes and goes.
 */
final class NodeMetrics implements MetricSource {
  private static final String DIRECTION = "direction";

  private static final MetricDescriptor CONNECTIONS =
      gauge("rdma4j_node_connections", "Open connections by the path they use.", "path");
  private static final MetricDescriptor PATH_USABLE =
      gauge("rdma4j_node_path_usable", "Whether this node can use a path: 1, or 0.", "path");
  private static final MetricDescriptor PATH_CHANGES =
      counter("rdma4j_node_path_changes_total", "Times a connection has moved to another path.");
  private static final MetricDescriptor HANDSHAKES_FAILED =
      counter(
          "rdma4j_node_handshakes_failed_total",
          "Incoming connections that never became one: strangers, time-outs, refusals.");
  private static final MetricDescriptor PROOFS_REFUSED =
      counter(
          "rdma4j_node_proofs_refused_total",
          "Peers that could not prove the shared secret, or whose certificate is not trusted.");
  private static final MetricDescriptor LATE_REPLIES =
      counter("rdma4j_node_late_replies_total", "Replies that came after their request had ended.");

  private static final MetricDescriptor OPENED =
      counter("rdma4j_node_connections_opened_total", "Connections made or accepted.");
  private static final MetricDescriptor ENDED =
      counter(
          "rdma4j_node_connections_ended_total",
          "Connections that have ended: closed, peer lost, protocol broken, or device failed.",
          "cause");
  private static final MetricDescriptor MESSAGES =
      counter(
          "rdma4j_node_messages_total",
          "Messages, requests and replies handed to a path, or delivered from it.",
          "path",
          DIRECTION);
  private static final MetricDescriptor MESSAGE_BYTES =
      counter("rdma4j_node_message_bytes_total", "Payload of these.", "path", DIRECTION);
  private static final MetricDescriptor BACK_PRESSURED =
      counter(
          "rdma4j_node_back_pressured_total", "Sends refused since the path had no room.", "path");
  private static final MetricDescriptor HANDLER_ERRORS =
      counter("rdma4j_node_handler_errors_total", "Exceptions thrown by handlers.", "path");
  private static final MetricDescriptor REQUESTS_OUTSTANDING =
      gauge("rdma4j_node_requests_outstanding", "Requests without reply.");
  private static final MetricDescriptor REQUEST_SECONDS =
      histogram(
          "rdma4j_node_request_seconds",
          "Time from a request, or an operation on a peer's memory, to its end with success; one"
              + " in 16 is timed and counts as 16.");
  private static final MetricDescriptor REQUESTS_FAILED =
      counter(
          "rdma4j_node_requests_failed_total",
          "Requests that were sent and ended without a reply.",
          "cause");

  /** How a request that was sent may end. */
  private static final List<Cause> REQUEST_CAUSES =
      List.of(
          Cause.DEADLINE,
          Cause.DISCONNECTED,
          Cause.CANCELLED,
          Cause.PEER_FAILED,
          Cause.REMOTE_ACCESS);

  private final Node node;

  NodeMetrics(Node node) {
    this.node = node;
  }

  @Override
  public List<MetricDescriptor> descriptors() {
    return List.of(
        CONNECTIONS,
        OPENED,
        ENDED,
        PATH_USABLE,
        PATH_CHANGES,
        HANDSHAKES_FAILED,
        PROOFS_REFUSED,
        MESSAGES,
        MESSAGE_BYTES,
        BACK_PRESSURED,
        HANDLER_ERRORS,
        REQUESTS_OUTSTANDING,
        REQUEST_SECONDS,
        REQUESTS_FAILED,
        LATE_REPLIES);
  }

  @Override
  public void collect(Sink sink) {
    for (String path : node.config().paths()) {
      long open = node.connectionsNow().stream().filter(c -> c.path().name().equals(path)).count();
      sink.add(CONNECTIONS, open, path);
      sink.add(PATH_USABLE, node.isUsable(path) ? 1 : 0, path);
    }
    sink.add(PATH_CHANGES, node.pathChanges());
    sink.add(HANDSHAKES_FAILED, node.handshakes().failed());
    sink.add(PROOFS_REFUSED, node.handshakes().proofsRefused());
    sink.add(LATE_REPLIES, node.lateReplies());
    sink.add(OPENED, node.opened());
    for (Kind kind : Kind.values()) {
      sink.add(ENDED, node.ended(kind), label(kind));
    }
    collectTraffic(sink);
    collectRequests(sink);
  }

  private void collectTraffic(Sink sink) {
    node.traffic()
        .byPath(node.config().paths(), node.connectionsNow())
        .forEach(
            (path, sums) -> {
              sink.add(MESSAGES, sums.messagesSent(), path, "sent");
              sink.add(MESSAGES, sums.messagesReceived(), path, "received");
              sink.add(MESSAGE_BYTES, sums.bytesSent(), path, "sent");
              sink.add(MESSAGE_BYTES, sums.bytesReceived(), path, "received");
              sink.add(BACK_PRESSURED, sums.backPressured(), path);
              sink.add(HANDLER_ERRORS, sums.handlerErrors(), path);
            });
  }

  private void collectRequests(Sink sink) {
    sink.add(
        REQUESTS_OUTSTANDING,
        node.connectionsNow().stream().mapToLong(c -> c.requests().size()).sum());
    sink.add(REQUEST_SECONDS, node.requestTimes().distribution());
    for (Cause cause : REQUEST_CAUSES) {
      sink.add(REQUESTS_FAILED, node.requestTimes().failures(cause), label(cause));
    }
  }

  private static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
