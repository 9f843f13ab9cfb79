package io.rdma4j.provider;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;

/**
 * The bootstrap connection as a provider sees it while both ends set up their endpoints: an
 * ordered, reliable exchange of short messages with one deadline for the whole.
 *
 * <p>Single thread only, valid during the call it was passed to.
 */
public interface Handshake {
  /** Largest message of {@link #send}. */
  int MAX_MESSAGE_BYTES = 1024;

  /** Returns the 16 random bytes that identify this connection. */
  byte[] token();

  /** Returns this end's address of the bootstrap connection. */
  InetSocketAddress localAddress();

  /** Returns the peer's address of the bootstrap connection. */
  InetSocketAddress peerAddress();

  /** Sends a message to the other end's provider. */
  void send(byte[] message) throws IOException;

  /**
   * Waits for a message from the other end's provider.
   *
   * @throws IOException when the peer has given up (with its reason), the deadline has passed, or
   *     the bootstrap connection is gone
   */
  byte[] receive() throws IOException;

  /** Returns the time left until the deadline, 0 when it has passed. */
  long remainingNs();

  /**
   * Returns the bootstrap socket, blocking mode, for the provider that carries messages over the
   * socket itself. It stays owned by the connection.
   */
  SocketChannel socket();

  /**
   * Returns what carries bytes of the bootstrap connection: the socket itself, or the encryption
   * above it. Blocking as the socket is. A write that takes nothing because the socket is full
   * wants the same bytes again, perhaps with more behind them.
   */
  default ByteChannel stream() {
    return socket();
  }
}
