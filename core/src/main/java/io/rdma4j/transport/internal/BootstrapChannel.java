package io.rdma4j.transport.internal;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * The bootstrap connection during the handshake: short frames, strict lengths, one deadline.
 *
 * <p>Single thread only. It reads exactly the bytes of a frame and never more, since the same
 * socket may carry messages right after the last frame. The socket is not closed here; its owner
 * does that.
 *
 * <pre>
 *  0  length of the payload   2   big endian, at most {@link #MAX_PAYLOAD_BYTES}
 *  2  kind                    1
 *  3  payload
 * </pre>
 */
public final class BootstrapChannel {
  /** Largest payload of a frame: a hello with all offers fits, a stranger's nonsense does not. */
  public static final int MAX_PAYLOAD_BYTES = 4096;

  private static final int HEADER_BYTES = 3;

  /** Kinds of frames. */
  public enum Kind {
    /** First frame of each side. */
    HELLO(0x52),
    /** Initiator: try the path named in the payload. */
    TRY(2),
    /** A message between the providers of both ends. */
    STEP(3),
    /** This end is ready on the path being tried. */
    READY(4),
    /** This end gives the path up; the payload is the reason. */
    FAIL(5),
    /** Sender is alive. */
    HEARTBEAT(6);

    private final byte code;

    Kind(int code) {
      this.code = (byte) code;
    }

    static Kind of(byte code) throws ProtocolException {
      for (Kind kind : values()) {
        if (kind.code == code) {
          return kind;
        }
      }
      throw new ProtocolException("unknown bootstrap frame kind " + (code & 0xff));
    }
  }

  /** The peer does not speak this protocol, or not correctly. */
  public static final class ProtocolException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception. */
    public ProtocolException(String message) {
      super(message);
    }
  }

  /** A frame. */
  public record Frame(Kind kind, byte[] payload) {}

  private final SocketChannel socket;
  private final long deadlineNs;

  /** Creates the channel over a connected socket in blocking mode. */
  public BootstrapChannel(SocketChannel socket, long deadlineNs) {
    this.socket = socket;
    this.deadlineNs = deadlineNs;
  }

  /** Returns the socket. */
  public SocketChannel socket() {
    return socket;
  }

  /** Returns the local address. */
  public InetSocketAddress localAddress() {
    return (InetSocketAddress) socket.socket().getLocalSocketAddress();
  }

  /** Returns the peer's address. */
  public InetSocketAddress peerAddress() {
    return (InetSocketAddress) socket.socket().getRemoteSocketAddress();
  }

  /** Returns the {@link System#nanoTime()} at which the handshake must be over. */
  public long deadlineNs() {
    return deadlineNs;
  }

  /** Sends a frame. Frames are far smaller than a socket's buffer, so this does not wait. */
  public void send(Kind kind, byte[] payload) throws IOException {
    ByteBuffer frame = frame(kind, payload);
    while (frame.hasRemaining()) {
      socket.write(frame);
    }
  }

  /** Returns the encoded heartbeat frame. */
  public static byte[] heartbeat() {
    return frame(Kind.HEARTBEAT, new byte[0]).array();
  }

  /** Encodes a frame. */
  static ByteBuffer frame(Kind kind, byte[] payload) {
    if (payload.length > MAX_PAYLOAD_BYTES) {
      throw new IllegalArgumentException(
          "bootstrap payload of " + payload.length + " bytes, limit " + MAX_PAYLOAD_BYTES);
    }
    return ByteBuffer.allocate(HEADER_BYTES + payload.length)
        .putShort((short) payload.length)
        .put(kind.code)
        .put(payload)
        .flip();
  }

  /**
   * Waits for the next frame until {@code untilNs} or the deadline, whichever is first.
   *
   * @throws SocketTimeoutException when it did not come in time
   * @throws EOFException when the peer closed
   * @throws ProtocolException when the bytes are no frame
   */
  public Frame receive(long untilNs) throws IOException {
    long endNs = untilNs - deadlineNs < 0 ? untilNs : deadlineNs;
    byte[] header = readExactly(HEADER_BYTES, endNs);
    int length = ((header[0] & 0xff) << 8) | (header[1] & 0xff);
    Kind kind = Kind.of(header[2]);
    if (length > MAX_PAYLOAD_BYTES) {
      throw new ProtocolException(
          "bootstrap frame of " + length + " bytes, limit " + MAX_PAYLOAD_BYTES);
    }
    return new Frame(kind, readExactly(length, endNs));
  }

  private byte[] readExactly(int length, long endNs) throws IOException {
    byte[] bytes = new byte[length];
    InputStream in = socket.socket().getInputStream();
    for (int have = 0; have < length; ) {
      long remainingMs = Math.ceilDiv(endNs - System.nanoTime(), 1_000_000L);
      if (remainingMs <= 0) {
        throw new SocketTimeoutException("no bootstrap frame from " + peerAddress() + " in time");
      }
      socket.socket().setSoTimeout((int) Math.min(remainingMs, Integer.MAX_VALUE));
      int n = in.read(bytes, have, length - have);
      if (n < 0) {
        throw new EOFException(peerAddress() + " closed the bootstrap connection");
      }
      have += n;
    }
    return bytes;
  }
}
