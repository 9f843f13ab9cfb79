package io.rdma4j.transport;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.EndpointListener;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;

/**
 * The polling half of a connection: it hands on what the endpoint delivers, to the application's
 * handler, to waiting requests, or to the connection's own life. No exception of the handler gets
 * past it.
 *
 * <p>Polling thread only, except the counters.
 */
final class Receiver implements EndpointListener {
  private static final Logger LOG = System.getLogger(Receiver.class.getName());

  private final Connection connection;
  private final ConnectionHandler handler;
  private final Message message;
  private boolean announced;

  // Written by the polling thread, read by whoever wants to know.
  private long messagesReceived;
  private long bytesReceived;
  private long handlerErrors;

  Receiver(Connection connection, ConnectionHandler handler) {
    this.connection = connection;
    this.handler = handler;
    this.message = new Message(connection);
  }

  /** Tells the handler that the connection is up, once. */
  void announce() {
    if (announced) {
      return;
    }
    announced = true;
    try {
      handler.onConnected(connection);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  /** Tells the handler that the connection has ended. */
  void announceEnd(EndpointFailure reason) {
    try {
      handler.onDisconnected(connection, reason);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  @Override
  public void onMessage(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    connection.control().heard();
    if (type <= MessageType.REPLY) {
      messagesReceived++;
      bytesReceived += lengthBytes;
    }
    switch (type) {
      case MessageType.DATA, MessageType.REQUEST ->
          deliver(type, correlationId, memory, offset, lengthBytes);
      case MessageType.REPLY ->
          connection.pending().complete(correlationId, memory, offset, lengthBytes);
      case MessageType.GOODBYE -> connection.life().goodbyeReceived();
      case MessageType.HEARTBEAT -> {}
      default -> onFailure(new EndpointFailure(Kind.PROTOCOL, "unknown message type " + type));
    }
  }

  private void deliver(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    try {
      handler.onMessage(
          connection,
          message.wrap(memory, offset, lengthBytes, correlationId, type == MessageType.REQUEST));
    } catch (RuntimeException e) {
      handlerFailed(e);
    } finally {
      message.unwrap();
    }
  }

  @Override
  public void onSent(long token) {
    connection.node().pool().release(token);
  }

  @Override
  public void onFailure(EndpointFailure cause) {
    connection.life().failed(cause);
  }

  private void handlerFailed(RuntimeException e) {
    handlerErrors++;
    LOG.log(Level.ERROR, "connection " + connection.id() + ": the handler threw", e);
  }

  long messagesReceived() {
    return messagesReceived;
  }

  long bytesReceived() {
    return bytesReceived;
  }

  long handlerErrors() {
    return handlerErrors;
  }
}
