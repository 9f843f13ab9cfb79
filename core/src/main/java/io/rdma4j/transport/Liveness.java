package io.rdma4j.transport;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import org.jspecify.annotations.Nullable;

/**
 * Whether the peer of a connection lives: heartbeats, silence, and the end of the control socket.
 */
final class Liveness {
  private final Connection connection;
  private final Sender sender;

  /** Written by the conductor; 0 while the peer is heard. */
  private volatile long longestSilenceMs;

  /**
   * How the control socket has ended while the connection was closing, as it does in good order.
   */
  private volatile @Nullable String untoldEnd;

  Liveness(Connection connection, Sender sender) {
    this.connection = connection;
    this.sender = sender;
  }

  /** Sends the heartbeat that is due, and acts on silence. Conductor. */
  void housekeep(long nowNs) {
    ControlSocket control = connection.control();
    if (connection.isOpen() && control.heartbeatDue(nowNs) && !control.sendHeartbeat()) {
      sender.sendControl(MessageType.HEARTBEAT, 0);
    }
    long silentNs = control.silentNs(nowNs);
    noteSilence(silentNs);
    if (silentNs > connection.node().config().livenessTimeoutNs()) {
      connection.suspect(
          new EndpointFailure(
              Kind.PEER_LOST,
              "nothing heard from "
                  + connection.peerAddress()
                  + " for "
                  + silentNs / 1_000_000
                  + " ms"));
    }
  }

  /** A peer that is not heard for some heartbeats, and when it is heard again. */
  private void noteSilence(long silentNs) {
    Node node = connection.node();
    boolean silent = silentNs > node.config().silenceNs();
    if (silent && longestSilenceMs == 0) {
      node.events().silent(connection, silentNs / 1_000_000);
    } else if (!silent && longestSilenceMs > 0) {
      node.events().heardAgain(connection, longestSilenceMs);
    }
    longestSilenceMs = silent ? silentNs / 1_000_000 : 0;
  }

  /** The control socket has ended. Conductor. */
  void socketEnded(ControlSocket ended, String how) {
    if (!ended.hasTold()) {
      if (connection.isOpen()) {
        connection.node().events().socketClosed(connection, how);
      } else {
        untoldEnd = how;
      }
    }
    connection.suspect(new EndpointFailure(Kind.PEER_LOST, how));
  }

  /** Tells of the end of the socket that seemed in good order: the connection is lost. Poller. */
  void noteLoss() {
    String how = untoldEnd;
    if (how != null) {
      connection.node().events().socketClosed(connection, how);
    }
  }

  /** Where the bootstrap socket carries the messages, its end shows as that of the path. Poller. */
  void noteEndOfSocket(EndpointFailure cause) {
    if (connection.control().carriesMessages()
        && cause.kind() == Kind.PEER_LOST
        && longestSilenceMs == 0) {
      connection.node().events().socketClosed(connection, cause.message());
    }
  }
}
