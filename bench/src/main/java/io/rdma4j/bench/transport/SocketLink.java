package io.rdma4j.bench.transport;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;

/** Messages behind their length, 4 bytes each, over a socket; one write for all that wait. */
final class SocketLink extends Link {
  private static final int LENGTH_BYTES = 4;
  private static final int BUFFER_BYTES = 4 * MAX_MESSAGE_BYTES;

  private final SocketChannel socket;
  private final ByteBuffer out = buffer();
  private final ByteBuffer in = buffer();

  SocketLink(SocketChannel socket) {
    this.socket = socket;
  }

  private static ByteBuffer buffer() {
    return ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.nativeOrder());
  }

  /** The rest of a message is whatever lies there: bytes of no meaning need no copy. */
  @Override
  boolean offer(long sequence, long flags, int lengthBytes) {
    int at = out.position();
    if (out.capacity() - at < LENGTH_BYTES + lengthBytes) {
      return false;
    }
    out.putInt(at, lengthBytes)
        .putLong(at + LENGTH_BYTES, sequence)
        .putLong(at + LENGTH_BYTES + 8, flags)
        .position(at + LENGTH_BYTES + lengthBytes);
    return true;
  }

  @Override
  void flush() throws IOException {
    if (out.position() > 0) {
      out.flip();
      socket.write(out);
      out.compact();
    }
  }

  @Override
  int poll() throws IOException {
    if (out.position() > 0) {
      flush();
    }
    int n = socket.read(in);
    if (n < 0) {
      throw new EOFException("the peer has closed the socket");
    }
    return n == 0 ? 0 : deliver();
  }

  private int deliver() throws IOException {
    in.flip();
    int messages = 0;
    while (in.remaining() >= LENGTH_BYTES) {
      int at = in.position() + LENGTH_BYTES;
      int lengthBytes = in.getInt(in.position());
      if (in.limit() - at < lengthBytes) {
        break;
      }
      long touch = 0;
      for (int i = LINE_BYTES; i + Long.BYTES <= lengthBytes; i += LINE_BYTES) {
        touch += in.getLong(at + i);
      }
      in.position(at + lengthBytes);
      received(in.getLong(at), in.getLong(at + 8), lengthBytes, touch);
      messages++;
    }
    in.compact();
    return messages;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  @Override
  public String toString() {
    return socket.toString();
  }
}
