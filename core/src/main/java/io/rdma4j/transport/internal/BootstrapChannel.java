package io.rdma4j.transport.internal;

import io.rdma4j.provider.Handshake;
import java.io.EOFException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

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
  private static final Logger LOG = System.getLogger(BootstrapChannel.class.getName());

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
    HEARTBEAT(6),
    /** Proof of the shared secret. */
    PROOF(7),
    /** Initiator: this is a connection that exists already. */
    RESUME(8),
    /** How much has been delivered on the paths before. */
    DELIVERED(9),
    /** The last one of an end whose connection has failed: what it saw of the fault. */
    DIGEST(10);

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

  /** The peer does not want this connection; asking again the same way is of no use. */
  public static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Creates the exception. */
    public RefusedException(String message) {
      super(message);
    }
  }

  /** A frame. */
  public record Frame(Kind kind, byte[] payload) {}

  private final SocketChannel socket;
  private final @Nullable TlsStream tls;
  private final long deadlineNs;

  /** Creates the channel over a connected socket in blocking mode. */
  public BootstrapChannel(SocketChannel socket, long deadlineNs) {
    this(socket, null, deadlineNs);
  }

  /** Creates the channel over a connected socket, encrypted by {@code tls} unless that is null. */
  public BootstrapChannel(SocketChannel socket, @Nullable TlsStream tls, long deadlineNs) {
    this.socket = socket;
    this.tls = tls;
    this.deadlineNs = deadlineNs;
  }

  /** Returns the socket. */
  public SocketChannel socket() {
    return socket;
  }

  /** Returns what carries bytes: the socket, or the encryption above it. */
  public ByteChannel stream() {
    return tls == null ? socket : tls;
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
    ByteChannel stream = stream();
    while (frame.hasRemaining()) {
      stream.write(frame);
    }
  }

  /** Tells the peer why this end gives up; the socket is closed next, so a failure tells nobody. */
  public void sendRefusal(String reason) {
    try {
      send(Kind.FAIL, clip(reason));
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "the peer does not learn why it was refused: " + reason, e);
    }
  }

  static byte[] clip(String reason) {
    byte[] bytes = reason.getBytes(StandardCharsets.UTF_8);
    return bytes.length <= Handshake.MAX_MESSAGE_BYTES
        ? bytes
        : Arrays.copyOf(bytes, Handshake.MAX_MESSAGE_BYTES);
  }

  /**
   * Waits for a frame of a kind.
   *
   * @throws RefusedException when the peer gives up instead, with its reason
   * @throws ProtocolException when another frame comes
   */
  public byte[] expect(Kind kind) throws IOException {
    Frame frame = receive(deadlineNs);
    if (frame.kind() == Kind.FAIL) {
      throw new RefusedException(
          "refused by the peer: " + new String(frame.payload(), StandardCharsets.UTF_8));
    }
    if (frame.kind() != kind) {
      throw new ProtocolException("expected " + kind + ", got " + frame.kind());
    }
    return frame.payload();
  }

  /** Returns the encoded heartbeat frame. */
  public static byte[] heartbeat() {
    return frame(Kind.HEARTBEAT, new byte[0]).array();
  }

  /** Returns whether the kind of a frame is that of {@link #digest}. */
  public static boolean isDigest(byte kind) {
    return kind == Kind.DIGEST.code;
  }

  /** Returns the encoded frame that tells of a fault. */
  public static byte[] digest(byte[] facts) {
    return frame(Kind.DIGEST, facts).array();
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
    ByteBuffer bytes = ByteBuffer.allocate(length);
    while (bytes.hasRemaining()) {
      int n = tls == null ? readUntil(socket, bytes, endNs) : tls.readUntil(bytes, endNs);
      if (n < 0) {
        throw new EOFException(peerAddress() + " closed the bootstrap connection");
      }
    }
    return bytes.array();
  }

  /**
   * Reads what there is, waiting for the first byte until {@code endNs}.
   *
   * @param socket in blocking mode
   * @param target a heap buffer
   * @return bytes read, -1 at the end of the stream
   * @throws SocketTimeoutException when nothing came in time
   */
  static int readUntil(SocketChannel socket, ByteBuffer target, long endNs) throws IOException {
    long remainingMs = Math.ceilDiv(endNs - System.nanoTime(), 1_000_000L);
    if (remainingMs <= 0) {
      throw new SocketTimeoutException(
          "nothing from " + socket.socket().getRemoteSocketAddress() + " in time");
    }
    socket.socket().setSoTimeout((int) Math.min(remainingMs, Integer.MAX_VALUE));
    int n =
        socket
            .socket()
            .getInputStream()
            .read(target.array(), target.arrayOffset() + target.position(), target.remaining());
    if (n > 0) {
      target.position(target.position() + n);
    }
    return n;
  }
}
