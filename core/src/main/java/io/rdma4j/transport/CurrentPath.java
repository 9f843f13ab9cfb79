package io.rdma4j.transport;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Bootstrap.Established;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The path a connection has now, the control socket beside it, and how both change. Changed by the
 * polling thread, read by any.
 */
final class CurrentPath {
  private final Connection connection;
  private final Endpoint endpoint;
  private final Sender sender;
  private final String first;
  private volatile ControlSocket control;
  private volatile PathChoice choice;
  private volatile int changes;
  private volatile long movedNs;
  private volatile @Nullable Resumption resumption;

  CurrentPath(
      Connection connection,
      Endpoint endpoint,
      Sender sender,
      ControlSocket control,
      PathChoice choice) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.sender = sender;
    this.control = control;
    this.choice = choice;
    this.first = choice.name();
  }

  PathChoice choice() {
    return choice;
  }

  ControlSocket control() {
    return control;
  }

  /** Returns how often the connection has moved. */
  int changes() {
    return changes;
  }

  /** Returns whether it has been on a path behind its first one since before {@code sinceNs}. */
  boolean isDegraded(long sinceNs) {
    List<String> order = connection.node().config().paths();
    return order.indexOf(choice.name()) > order.indexOf(first) && movedNs - sinceNs < 0;
  }

  /** Lets the connection move to other paths. Before it is polled. */
  void resumeWith(Resumption moving) {
    resumption = moving;
  }

  @Nullable Resumption resumption() {
    return resumption;
  }

  /** The path has ended and is closed; the socket goes with it, so that the peer notices. */
  void ended(EndpointFailure cause) {
    Resumption moving = resumption;
    if (moving != null) {
      moving.pathEnded(choice.name(), cause);
    }
    connection.remoteKeys().pathEnded();
    connection.liveness().noteEndOfSocket(cause);
    NodeEvents events = connection.node().events();
    events.pathEnded(connection, cause);
    events.part(connection, control);
  }

  /** Hands a new path to the poller; false when the connection does not wait for one any more. */
  boolean moveTo(Established established, PathChoice next, long peerDelivered) {
    ControlSocket socket = connection.node().controlOf(established, next);
    return endpoint instanceof ResumableEndpoint resumable
        && resumable.attach(
            established.result().endpoint(), peerDelivered, () -> moved(next, socket));
  }

  private void moved(PathChoice next, ControlSocket socket) {
    Node node = connection.node();
    control = socket;
    node.traffic().leave(connection, choice.name(), false, () -> choice = next);
    int before = changes;
    changes = before + 1;
    sender.moved(node.registrarIndex(endpoint.registrar()), socket);
    connection.poller().watch(connection);
    node.countPathChange();
    movedNs = node.clockNs();
    node.events().moved(connection, before + 1);
    node.watch(connection);
  }
}
