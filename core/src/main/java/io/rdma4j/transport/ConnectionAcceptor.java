package io.rdma4j.transport;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** Decides about incoming connections, on a thread of the node. */
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
