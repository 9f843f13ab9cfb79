package io.rdma4j.transport;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;

import io.rdma4j.status.MetricDescriptor;
import io.rdma4j.status.MetricSource;
import java.util.List;

/**
 * The metrics of a node: its connections by path, and what became of handshakes. Labels are names
 * of paths alone, so that the number of series does not depend on who comes and goes.
 */
final class NodeMetrics implements MetricSource {
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

  private final Node node;

  NodeMetrics(Node node) {
    this.node = node;
  }

  @Override
  public List<MetricDescriptor> descriptors() {
    return List.of(
        CONNECTIONS, PATH_USABLE, PATH_CHANGES, HANDSHAKES_FAILED, PROOFS_REFUSED, LATE_REPLIES);
  }

  @Override
  public void collect(Sink sink) {
    for (String path : node.config().paths()) {
      long open = node.connectionsNow().stream().filter(c -> c.path().name().equals(path)).count();
      sink.add(CONNECTIONS, open, path);
      sink.add(PATH_USABLE, node.isUsable(path) ? 1 : 0, path);
    }
    sink.add(PATH_CHANGES, node.pathChanges());
    sink.add(HANDSHAKES_FAILED, node.handshakesFailed());
    sink.add(PROOFS_REFUSED, node.proofsRefused());
    sink.add(LATE_REPLIES, node.lateReplies());
  }
}
