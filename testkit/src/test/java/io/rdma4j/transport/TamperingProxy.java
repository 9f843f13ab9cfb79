package io.rdma4j.transport;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Somebody between two nodes: forwards bytes, changes one of them, writes down what went by, or
 * stops forwarding without a word. The settings count for connections made after them.
 *
 * <p>Safe for use by several threads.
 */
final class TamperingProxy implements AutoCloseable {
  /** Bytes of one direction. */
  enum Direction {
    TO_ACCEPTOR,
    TO_INITIATOR
  }

  private volatile InetSocketAddress target;
  private final ServerSocket listener;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private volatile Direction direction = Direction.TO_ACCEPTOR;
  private volatile int changeAt = -1;
  private volatile int change;
  private volatile boolean oneByOne;
  private volatile boolean silent;
  private volatile boolean refusing;
  private volatile ByteArrayOutputStream record = new ByteArrayOutputStream();

  TamperingProxy(InetSocketAddress target) throws IOException {
    this.target = target;
    listener = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().start(this::accept);
  }

  InetSocketAddress address() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), listener.getLocalPort());
  }

  /** Exclusive-ors one byte of a direction. */
  void change(Direction direction, int at, int change) {
    this.direction = direction;
    this.changeAt = at;
    this.change = change;
  }

  /** Changes nothing any more. */
  void honest() {
    changeAt = -1;
  }

  /** Forwards each byte on its own. */
  void oneByOne() {
    oneByOne = true;
  }

  /**
   * Connections that have something to forward meanwhile stay open and forward nothing ever again.
   */
  void silent(boolean silent) {
    this.silent = silent;
  }

  /** Forwards new connections to another node. */
  void target(InetSocketAddress target) {
    this.target = target;
  }

  /** Closes new connections at once, or forwards them again. */
  void refusing(boolean refusing) {
    this.refusing = refusing;
  }

  /** Returns what the last initiator has sent. */
  byte[] recorded() {
    return record.toByteArray();
  }

  /** Cuts all connections. */
  void cut() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    sockets.clear();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket from = listener.accept();
        if (refusing) {
          from.close();
          continue;
        }
        sockets.add(from);
        Socket to = new Socket(target.getAddress(), target.getPort());
        sockets.add(to);
        record = new ByteArrayOutputStream();
        Thread.ofVirtual().start(() -> forward(from, to, Direction.TO_ACCEPTOR, record));
        Thread.ofVirtual()
            .start(() -> forward(to, from, Direction.TO_INITIATOR, new ByteArrayOutputStream()));
      } catch (IOException e) {
        // The listener is closed, or the target is gone: the next accept tells.
      }
    }
  }

  private void forward(Socket from, Socket to, Direction way, ByteArrayOutputStream record) {
    try (from;
        to) {
      from.setTcpNoDelay(true);
      to.setTcpNoDelay(true);
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      byte[] chunk = new byte[4096];
      int passed = 0;
      boolean dead = false;
      for (int n; (n = in.read(chunk)) > 0; passed += n) {
        if (way == direction && changeAt >= passed && changeAt < passed + n) {
          chunk[changeAt - passed] ^= (byte) change;
        }
        record.write(chunk, 0, n);
        dead |= silent;
        if (dead) {
          continue;
        }
        int step = oneByOne ? 1 : n;
        for (int at = 0; at < n; at += step) {
          out.write(chunk, at, step);
        }
      }
    } catch (IOException e) {
      // Either end hung up: the other one learns it by the close.
    } finally {
      sockets.remove(from);
      sockets.remove(to);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    cut();
  }
}
