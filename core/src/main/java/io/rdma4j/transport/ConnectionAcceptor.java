package io.rdma4j.transport;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Decides about incoming connections.
 *
 * <p>Called by a thread of the node for each connection, so several may be under way. The peer has
 * its connection meanwhile and may send; what it sends waits for the decision. A decision that
 * outlasts the loss of the path and {@link NodeConfig.Builder#resume} behind it costs the
 * connection.
 */
@FunctionalInterface
public interface ConnectionAcceptor {
  /** Takes no connection. */
  ConnectionAcceptor REFUSE = (peer, path) -> null;

  /**
   * Returns who handles the messages of a new connection, or null to refuse it.
   *
   * @param peer bootstrap address of the peer
   * @param path path that was agreed on
   */
  @Nullable ConnectionHandler accept(InetSocketAddress peer, PathChoice path);
}
