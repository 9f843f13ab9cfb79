package io.rdma4j.transport;

import io.rdma4j.transport.internal.BootstrapChannel;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * The bootstrap socket after the handshake: it stays open as a liveness signal. On paths that have
 * another carrier it transports heartbeats and nothing else; on the tcp path the messages are in it
 * and this class leaves reading and writing to the endpoint.
 *
 * <p>Conductor thread, except {@link #heard()} and {@link #close()}.
 */
final class ControlSocket {
  private static final Logger LOG = System.getLogger(ControlSocket.class.getName());

  private final SocketChannel socket;
  private final ByteChannel stream;
  private final InetSocketAddress peerAddress;
  private final boolean carriesMessages;
  private final long heartbeatIntervalNs;
  private final ByteBuffer incoming = ByteBuffer.allocate(256);
  private final ControlFrames frames = new ControlFrames();
  private final ByteBuffer bell = bell();
  private long lastSentNs;
  private long lastHeardNs;

  /** Set for every message by the polling thread; cheaper there than reading a clock. */
  private volatile boolean heard;

  /** Set by the polling thread, cleared by the conductor before it wakes that thread. */
  private volatile boolean watched;

  private volatile boolean sentLast;

  /** Takes over the socket and what carries its bytes, the socket itself or encryption above it. */
  ControlSocket(
      SocketChannel socket,
      ByteChannel stream,
      boolean carriesMessages,
      long heartbeatIntervalNs,
      long nowNs) {
    this.socket = socket;
    this.stream = stream;
    this.peerAddress = (InetSocketAddress) socket.socket().getRemoteSocketAddress();
    this.carriesMessages = carriesMessages;
    this.heartbeatIntervalNs = heartbeatIntervalNs;
    this.lastSentNs = nowNs;
    this.lastHeardNs = nowNs;
  }

  private static ByteBuffer bell() {
    byte[] heartbeat = BootstrapChannel.heartbeat();
    return ByteBuffer.allocateDirect(heartbeat.length).put(heartbeat);
  }

  SocketChannel socket() {
    return socket;
  }

  InetSocketAddress peerAddress() {
    return peerAddress;
  }

  boolean carriesMessages() {
    return carriesMessages;
  }

  /** Notes a sign of life of the peer. Any thread. */
  void heard() {
    if (carriesMessages && !heard) {
      heard = true;
    }
  }

  boolean heartbeatDue(long nowNs) {
    if (nowNs - lastSentNs < heartbeatIntervalNs) {
      return false;
    }
    lastSentNs = nowNs;
    return true;
  }

  /** Sends a heartbeat on the socket; false when the endpoint must carry it. */
  boolean sendHeartbeat() {
    if (carriesMessages) {
      return false;
    }
    // A full socket buffer means that the peer has not read for long; its silence will show that.
    ring();
    return true;
  }

  /** Wakes the peer's polling thread, which a heartbeat does as well as anything. Any thread. */
  synchronized void ring() {
    if (!bell.hasRemaining()) {
      bell.rewind(); // else the rest of the last one, so that frames stay whole
    }
    try {
      // When the buffer is full of unread heartbeats, these will wake it.
      stream.write(bell);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "heartbeat to " + peerAddress + " failed; reading will show why", e);
    }
  }

  /**
   * Reads what has come.
   *
   * @return false when the peer has closed the socket
   */
  boolean readFrames() throws IOException {
    int n;
    do {
      incoming.clear();
      n = stream.read(incoming);
      heard |= n > 0;
      frames.take(incoming.flip());
    } while (n > 0);
    return n >= 0;
  }

  /** Returns what the peer saw of a fault, once; null when it has not told. */
  byte @Nullable [] takeDigest() {
    return frames.takeDigest();
  }

  /** Returns whether the peer told what it saw, and so lives. */
  boolean hasTold() {
    return frames.hasTold();
  }

  /**
   * Tells the peer what this end saw of a fault, and that nothing follows. Any thread. When the
   * socket is full or gone the peer does not learn it.
   */
  synchronized void sendLast(byte[] digest) {
    try {
      if (bell.hasRemaining() && bell.position() > 0) {
        stream.write(bell);
      }
      stream.write(ByteBuffer.wrap(BootstrapChannel.digest(digest)));
      socket.shutdownOutput();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, peerAddress + " does not learn what this end saw of a fault", e);
    }
    sentLast = true;
  }

  /** Returns whether {@link #sendLast} was called: there is nothing more to say. */
  boolean hasSentLast() {
    return sentLast;
  }

  boolean isClosed() {
    return !socket.isOpen();
  }

  /** Notes that the conductor shall tell when something comes; false when it does so already. */
  boolean startWatching() {
    if (watched) {
      return false;
    }
    watched = true;
    return true;
  }

  /** Notes that the conductor looks no longer. */
  void stopWatching() {
    watched = false;
  }

  /** Returns for how long nothing came from the peer. */
  long silentNs(long nowNs) {
    if (heard) {
      heard = false;
      lastHeardNs = nowNs;
    }
    return nowNs - lastHeardNs;
  }

  void close() {
    try {
      socket.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "closing the socket to " + peerAddress + " failed", e);
    }
  }
}
