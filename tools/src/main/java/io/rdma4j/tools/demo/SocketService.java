package io.rdma4j.tools.demo;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * The baseline's database node: plain sockets, non-blocking, spinning, one write for all acks due.
 */
final class SocketService implements OrderService {
  private static final int BUFFER_BYTES = 256 * 1024;

  private final ServerSocketChannel listener;
  private final OrderBook book = new OrderBook(DemoConfig.MAX_ORDER_BYTES);
  private final ByteBuffer in = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private final ByteBuffer out = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private volatile boolean stopped;

  SocketService(InetSocketAddress address) throws IOException {
    listener = ServerSocketChannel.open();
    try {
      listener.bind(address);
      listener.configureBlocking(false);
    } catch (IOException e) {
      listener.close();
      throw e;
    }
  }

  @Override
  public int port() {
    return listener.socket().getLocalPort();
  }

  @Override
  public void serve() throws IOException {
    try (SocketChannel socket = accept()) {
      if (socket == null) {
        return;
      }
      socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
      socket.configureBlocking(false);
      while (!stopped && receive(socket)) {
        if (out.position() > 0) {
          out.flip();
          socket.write(out);
          out.compact();
        }
      }
    }
  }

  private @Nullable SocketChannel accept() throws IOException {
    SocketChannel socket = null;
    while (!stopped && socket == null) {
      socket = listener.accept();
      Thread.onSpinWait();
    }
    return socket;
  }

  /** Reads what has come and prepares its acknowledgements; false at the end of the stream. */
  private boolean receive(SocketChannel socket) throws IOException {
    int n = socket.read(in);
    if (n > 0) {
      in.flip();
      while (in.remaining() >= 4) {
        int length = in.getInt(in.position());
        if (length < 0 || length > DemoConfig.MAX_ORDER_BYTES) {
          throw new IOException(
              "order of " + length + " bytes, limit " + DemoConfig.MAX_ORDER_BYTES);
        }
        if (in.remaining() < 4 + length || out.remaining() < OrderBook.ACK_BYTES) {
          break;
        }
        in.position(in.position() + 4);
        in.get(book.scratch(), 0, length);
        long verdict = book.check(length);
        out.putLong(book.lastSequence()).putLong(verdict);
      }
      in.compact();
    }
    return n >= 0;
  }

  @Override
  public void stop() {
    stopped = true;
  }

  @Override
  public OrderBook.Tally tally() {
    return book.tally();
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
