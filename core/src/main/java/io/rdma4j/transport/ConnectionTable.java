package io.rdma4j.transport;

import io.rdma4j.provider.QueuePairStatus;
import io.rdma4j.status.TableDescriptor;
import io.rdma4j.status.TableDescriptor.Column;
import io.rdma4j.status.TableDescriptor.Kind;
import io.rdma4j.status.TableSource;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The connections of a node as a table: those that are closing first, then the oldest first. */
final class ConnectionTable implements TableSource {
  private static final TableDescriptor TABLE =
      new TableDescriptor(
          "connections",
          "Connections of this node; those that are closing first, then the oldest first.",
          List.of(
              new Column("id", Kind.WHOLE, "Number of the connection within its node."),
              new Column("peer", Kind.TEXT, "Bootstrap address of the peer."),
              new Column("path", Kind.TEXT, "Path in use."),
              new Column("device", Kind.TEXT, "Device of that path, if it has one."),
              new Column(
                  "state",
                  Kind.TEXT,
                  "OPEN, SUSPENDED while it waits for another path, CLOSING, CLOSED."),
              new Column("queue_pair", Kind.WHOLE, "Number of the queue pair, if there is one."),
              new Column("queue_pair_state", Kind.TEXT, "RTS, or ERR once it has failed."),
              new Column("age_seconds", Kind.REAL, "How long ago the connection was made."),
              new Column("path_changes", Kind.WHOLE, "Times it has moved to another path."),
              new Column(
                  "messages_sent",
                  Kind.WHOLE,
                  "Messages, requests and replies handed to the path."),
              new Column("bytes_sent", Kind.WHOLE, "Their payload."),
              new Column(
                  "messages_received", Kind.WHOLE, "Messages, requests and replies delivered."),
              new Column("bytes_received", Kind.WHOLE, "Their payload."),
              new Column("back_pressured", Kind.WHOLE, "Sends refused for want of room."),
              new Column("requests_outstanding", Kind.WHOLE, "Requests without reply."),
              new Column("handler_errors", Kind.WHOLE, "Exceptions thrown by the handler."),
              new Column("choice", Kind.TEXT, "The path in words, and why not another.")));

  private final Node node;

  ConnectionTable(Node node) {
    this.node = node;
  }

  @Override
  public TableDescriptor table() {
    return TABLE;
  }

  @Override
  public void collect(Rows rows) {
    // Looked at once: a connection that starts to close meanwhile must not appear twice.
    Map<Boolean, List<Connection>> byOpen =
        node.connectionsNow().stream().collect(Collectors.partitioningBy(Connection::isOpen));
    byOpen.getOrDefault(false, List.of()).forEach(connection -> add(connection, rows));
    byOpen.getOrDefault(true, List.of()).forEach(connection -> add(connection, rows));
  }

  private void add(Connection connection, Rows rows) {
    ConnectionStatus now = connection.status();
    QueuePairStatus queuePair = now.queuePair();
    rows.add(
        now.id(),
        text(now.peer()),
        now.path().name(),
        now.path().device().isEmpty() ? null : now.path().device(),
        connection.isOpen() && connection.isSuspended() ? "SUSPENDED" : now.state(),
        queuePair == null ? null : (Long) (long) queuePair.number(),
        queuePair == null ? null : queuePair.state(),
        (node.clockNs() - connection.madeNs()) / 1e9,
        (long) connection.pathChanges(),
        now.messagesSent(),
        now.bytesSent(),
        now.messagesReceived(),
        now.bytesReceived(),
        now.backPressured(),
        (long) now.requestsOutstanding(),
        now.handlerErrors(),
        now.path().toString());
  }

  /** An address and a port; a name is not looked up for it. */
  private static String text(InetSocketAddress peer) {
    String address =
        peer.getAddress() == null ? peer.getHostString() : peer.getAddress().getHostAddress();
    return (address.contains(":") ? "[" + address + "]" : address) + ":" + peer.getPort();
  }

  @Override
  public String toString() {
    return "the connections of a node";
  }
}
