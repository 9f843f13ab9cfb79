package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.concurrent.Threads;
import io.rdma4j.transport.Bootstrap.Accepted;
import io.rdma4j.transport.Bootstrap.Established;
import io.rdma4j.transport.internal.PathNegotiation;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The handshakes of a node that are under way, in both directions: bounded in number, and each with
 * the socket that ends it when the node is closed. What comes out of one becomes a connection of
 * the node, or another path of one.
 *
 * <p>Safe for use by several threads. Outgoing ones run on their caller's thread, incoming ones on
 * a thread each.
 */
final class Handshakes {
  private static final Logger LOG = System.getLogger(Handshakes.class.getName());

  /** Bounds the threads and memory that strangers can cost. */
  private static final int MOST = 128;

  private final Node node;
  private final Bootstrap bootstrap;
  private final Semaphore places = new Semaphore(MOST);
  private final Set<SocketChannel> sockets = ConcurrentHashMap.newKeySet();
  private final Sessions sessions = new Sessions();
  private final AtomicLong failed = new AtomicLong();

  Handshakes(Node node, Bootstrap bootstrap) {
    this.node = node;
    this.bootstrap = bootstrap;
  }

  /** Makes a connection to a node. */
  Connection connect(InetSocketAddress peer, ConnectionHandler handler) throws IOException {
    Attempt attempt = begin();
    try {
      Established established = bootstrap.initiate(peer, attempt::opened);
      return node.add(established, pathOf(established), handler, peer);
    } finally {
      attempt.end();
    }
  }

  /** Sets up another path for a connection of this node, and moves it there. */
  void resume(InetSocketAddress peer, Resumption resumption, List<String> paths)
      throws IOException {
    Attempt attempt = begin();
    try {
      Established established =
          bootstrap.resume(peer, attempt::opened, resumption.session(), paths);
      resumption.move(established, pathOf(established));
    } finally {
      attempt.end();
    }
  }

  private Attempt begin() throws IOException {
    if (!places.tryAcquire()) {
      throw new IOException(MOST + " handshakes of this node are under way already");
    }
    if (node.isClosed()) {
      places.release();
      throw new IOException("the node is closed");
    }
    return new Attempt();
  }

  /** One outgoing handshake: a place among those allowed, and its socket. One thread. */
  private final class Attempt {
    private @Nullable SocketChannel socket;

    void opened(SocketChannel opened) {
      socket = opened;
      sockets.add(opened);
    }

    void end() {
      if (socket != null) {
        sockets.remove(socket);
      }
      places.release();
    }
  }

  /** Takes a socket that a peer has connected. Conductor. */
  void accept(SocketChannel socket) {
    if (node.isClosed() || !places.tryAcquire()) {
      fail(socket, new IOException(MOST + " handshakes are under way already"));
      closeQuietly(socket);
      return;
    }
    try {
      Threads.startDaemon("rdma4j-handshake", () -> answer(socket));
    } catch (Rdma4jException e) {
      fail(socket, e);
      closeQuietly(socket);
      places.release();
    }
  }

  private void answer(SocketChannel socket) {
    Established unowned = null;
    try (Sessions.Arrival arrival = sessions.arrival()) {
      sockets.add(socket);
      if (node.isClosed()) {
        throw new IOException("the node is closed");
      }
      Accepted accepted = bootstrap.accept(socket, arrival);
      if (accepted == null) {
        return;
      }
      Established established = accepted.established();
      PathChoice path = pathOf(established);
      if (accepted.resumedSession() != null) {
        resumed(accepted.resumedSession(), established, path);
        return;
      }
      unowned = established;
      ConnectionHandler handler =
          node.config()
              .acceptor()
              .accept((InetSocketAddress) socket.socket().getRemoteSocketAddress(), path);
      if (handler == null) {
        throw new IOException("refused by the application");
      }
      unowned = null;
      node.add(established, path, handler, null);
    } catch (IOException | RuntimeException e) {
      fail(socket, e);
      if (unowned != null) {
        discard(unowned);
      }
      closeQuietly(socket);
    } finally {
      sockets.remove(socket);
      places.release();
    }
  }

  private static PathChoice pathOf(Established established) {
    PathNegotiation.Result result = established.result();
    return new PathChoice(
        result.path(),
        result.endpoint().device(),
        result.endpoint().description(),
        result.rejected());
  }

  /**
   * Notes that a socket is a connection's from here on: a close of the node must not cut it off.
   */
  void leave(SocketChannel socket) {
    sockets.remove(socket);
  }

  /** Returns the connections that may be resumed. */
  Sessions sessions() {
    return sessions;
  }

  private void resumed(byte[] session, Established established, PathChoice path)
      throws IOException {
    Resumption resumption = sessions.find(session);
    if (resumption == null) {
      discard(established);
      throw new IOException("the connection to be resumed has ended meanwhile");
    }
    resumption.move(established, path);
  }

  // ---- ends ------------------------------------------------------------------------------------

  /** Ends those under way, so that nobody comes after the providers are closed. */
  void end() {
    for (SocketChannel socket : sockets) {
      closeQuietly(socket);
    }
    NodeConfig config = node.config();
    long endNs = node.clockNs() + config.handshakeTimeoutNs() + config.closeTimeoutNs();
    while (!places.tryAcquire(MOST)) {
      if (node.clockNs() - endNs >= 0) {
        throw new Rdma4jException("a handshake did not end within its own deadline");
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  /** Returns how many incoming ones did not get through. */
  long failed() {
    return failed.get();
  }

  /** Returns how many peers could not prove that they know the secret. */
  long proofsRefused() {
    return bootstrap.proofsRefused();
  }

  private void fail(SocketChannel socket, Exception e) {
    failed.incrementAndGet();
    LOG.log(
        Level.INFO,
        () ->
            "an incoming connection from "
                + socket.socket().getRemoteSocketAddress()
                + " did not get through: "
                + (e.getMessage() == null ? e.toString() : e.getMessage()));
  }

  private static void discard(Established established) {
    established.result().endpoint().close(PathNegotiation.discarding());
    closeQuietly(established.socket());
  }

  private static void closeQuietly(SocketChannel socket) {
    try {
      socket.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "closing a socket failed", e);
    }
  }
}
