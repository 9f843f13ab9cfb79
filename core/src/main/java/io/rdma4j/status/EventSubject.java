package io.rdma4j.status;

/**
 * What an event is about, as far as it is known.
 *
 * <p>Immutable.
 *
 * @param device kernel name of the device; empty when none is concerned
 * @param port port of the device, from 1; 0 when the event is not about one port
 * @param queuePair number of the queue pair at the device; 0 when none is concerned
 * @param connection number of the connection within its node; 0 when none is concerned or known
 * @param peer address of the peer as {@code host:port}; empty when none is concerned
 */
public record EventSubject(String device, int port, int queuePair, long connection, String peer) {
  /** About nothing in particular. */
  public static final EventSubject NONE = new EventSubject("", 0, 0, 0, "");

  /** Returns the subject for a device; {@code port} is 0 for all of it. */
  public static EventSubject device(String device, int port) {
    return new EventSubject(device, port, 0, 0, "");
  }

  /** Returns the subject for a queue pair. */
  public static EventSubject queuePair(String device, int port, int queuePair) {
    return new EventSubject(device, port, queuePair, 0, "");
  }

  /** Returns the host part of the peer, empty when there is none. */
  public String peerHost() {
    int colon = peer.lastIndexOf(':');
    return colon < 0 ? peer : peer.substring(0, colon);
  }

  /** Returns the same with a connection and its peer. */
  public EventSubject of(long connectionId, String peerAddress) {
    return new EventSubject(device, port, queuePair, connectionId, peerAddress);
  }

  /** In words, for example {@code connection 3 to 192.0.2.7:7400, mlx5_0 port 1, queue pair 71}. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    if (connection != 0) {
      text.append("connection ").append(connection);
    }
    if (!peer.isEmpty()) {
      text.append(text.isEmpty() ? "peer " : " to ").append(peer);
    }
    if (!device.isEmpty()) {
      text.append(text.isEmpty() ? "" : ", ").append(device);
      text.append(port == 0 ? "" : " port " + port);
    }
    if (queuePair != 0) {
      text.append(text.isEmpty() ? "" : ", ")
          .append("queue pair ")
          .append(Integer.toUnsignedString(queuePair));
    }
    return text.toString();
  }
}
