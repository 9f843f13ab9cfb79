package io.rdma4j.tools.demo;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The baseline: plain Java sockets as a careful engineer writes them today. Non-blocking, no delay,
 * direct buffers, spinning, and one write for all orders that are due.
 *
 * <p>Frame: length 4, order. Single thread only.
 */
final class SocketLink implements OrderLink {
  private static final int BUFFER_BYTES = 256 * 1024;

  private final SocketChannel socket;
  private final ByteBuffer out = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private final ByteBuffer in = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private long acknowledged;
  private long refused;
  private long misordered;

  SocketLink(InetSocketAddress node) throws IOException {
    socket = SocketChannel.open(node);
    socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    socket.configureBlocking(false);
  }

  @Override
  public boolean offer(byte[] order, int length) {
    if (out.remaining() < 4 + length) {
      return false;
    }
    out.putInt(length).put(order, 0, length);
    return true;
  }

  @Override
  public void progress() throws IOException {
    if (out.position() > 0) {
      out.flip();
      socket.write(out);
      out.compact();
    }
    int n = socket.read(in);
    if (n < 0) {
      throw new EOFException("the database node closed the socket");
    }
    if (n > 0) {
      in.flip();
      while (in.remaining() >= OrderBook.ACK_BYTES) {
        if (in.getLong(in.position()) != acknowledged + refused) {
          misordered++;
        }
        long verdict = in.getLong(in.position() + 8);
        in.position(in.position() + OrderBook.ACK_BYTES);
        if (verdict == OrderBook.ACCEPTED) {
          acknowledged++;
        } else {
          refused++;
        }
      }
      in.compact();
    }
  }

  @Override
  public long acknowledged() {
    return acknowledged;
  }

  @Override
  public long refused() {
    return refused;
  }

  @Override
  public long misordered() {
    return misordered;
  }

  @Override
  public String description() {
    return "plain Java sockets (non-blocking, spinning)";
  }

  @Override
  public String device() {
    return "";
  }

  @Override
  public double poolHitRate() {
    return Double.NaN;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
