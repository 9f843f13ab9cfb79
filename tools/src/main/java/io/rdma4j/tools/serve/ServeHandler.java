package io.rdma4j.tools.serve;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/** Answers each request with its own payload, unless a fault is on. Polling threads. */
final class ServeHandler implements ConnectionHandler {
  private static final long STALL_STEP_NS = 10_000_000;

  /** Until when, by {@link System#nanoTime}; before now when the fault is off. */
  private volatile long stallEndNs = System.nanoTime();

  private volatile long failEndNs = System.nanoTime();

  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();

  @Override
  public void onConnected(Connection connection) {
    connections.add(connection);
  }

  @Override
  public void onDisconnected(Connection connection, EndpointFailure reason) {
    connections.remove(connection);
  }

  Optional<Connection> anyConnection() {
    return connections.stream().filter(Connection::isOpen).findAny();
  }

  void stallFor(long ns) {
    stallEndNs = System.nanoTime() + ns;
  }

  void failFor(long ns) {
    failEndNs = System.nanoTime() + ns;
  }

  @Override
  public void onMessage(Connection connection, Message message) {
    while (stallEndNs - System.nanoTime() > 0) {
      LockSupport.parkNanos(STALL_STEP_NS);
    }
    if (failEndNs - System.nanoTime() > 0) {
      throw new IllegalStateException("this handler fails on request: ./rdma4j fault fail-handler");
    }
    if (message.isRequest()) {
      message.reply(message.payload(), 0, message.lengthBytes());
    }
  }
}
