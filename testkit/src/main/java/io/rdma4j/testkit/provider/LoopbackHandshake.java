package io.rdma4j.testkit.provider;

import io.rdma4j.provider.Handshake;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;

/**
 * A {@link Handshake} over a plain socket between two ends that trust each other.
 *
 * <p>Single thread only. Owns its socket; close it after the endpoint that was made with it.
 *
 * <p>The initiator opens with the 16 bytes of the token; frames follow in both directions:
 *
 * <pre>
 *  0  length of the body  2   (big endian)
 *  2  kind                1   MESSAGE, or GIVE_UP whose body is the reason in UTF-8
 *  3  body
 * </pre>
 */
public final class LoopbackHandshake implements Handshake, AutoCloseable {
  private static final int TOKEN_BYTES = 16;
  private static final byte MESSAGE = 0;
  private static final byte GIVE_UP = 1;

  private final SocketChannel socket;
  private final byte[] token;
  private final long deadlineNs;

  private LoopbackHandshake(SocketChannel socket, byte[] token, long deadlineNs) {
    this.socket = socket;
    this.token = token;
    this.deadlineNs = deadlineNs;
  }

  /** Connects to an acceptor and tells it a fresh token. */
  public static LoopbackHandshake connect(InetSocketAddress peer, Duration timeout)
      throws IOException {
    long deadlineNs = System.nanoTime() + timeout.toNanos();
    SocketChannel socket = SocketChannel.open();
    try {
      socket.socket().connect(peer, (int) timeout.toMillis());
      byte[] token = new byte[TOKEN_BYTES];
      new SecureRandom().nextBytes(token);
      writeFully(socket, ByteBuffer.wrap(token));
      return new LoopbackHandshake(socket, token, deadlineNs);
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  /** Accepts one initiator and reads its token. */
  public static LoopbackHandshake accept(ServerSocketChannel server, Duration timeout)
      throws IOException {
    long deadlineNs = System.nanoTime() + timeout.toNanos();
    server.socket().setSoTimeout((int) timeout.toMillis());
    SocketChannel socket = server.socket().accept().getChannel();
    try {
      byte[] token = new byte[TOKEN_BYTES];
      var handshake = new LoopbackHandshake(socket, token, deadlineNs);
      handshake.input().readFully(token);
      return handshake;
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  @Override
  public byte[] token() {
    return token.clone();
  }

  @Override
  public InetSocketAddress localAddress() {
    return (InetSocketAddress) socket.socket().getLocalSocketAddress();
  }

  @Override
  public InetSocketAddress peerAddress() {
    return (InetSocketAddress) socket.socket().getRemoteSocketAddress();
  }

  @Override
  public void send(byte[] message) throws IOException {
    sendFrame(MESSAGE, message);
  }

  /** Tells the peer's provider, which may be waiting in {@link #receive}, that this end failed. */
  public void giveUp(String reason) throws IOException {
    byte[] body = reason.getBytes(StandardCharsets.UTF_8);
    sendFrame(GIVE_UP, Arrays.copyOf(body, Math.min(body.length, MAX_MESSAGE_BYTES)));
  }

  private void sendFrame(byte kind, byte[] body) throws IOException {
    if (body.length > MAX_MESSAGE_BYTES) {
      throw new IllegalArgumentException(
          "handshake message of " + body.length + " bytes, most is " + MAX_MESSAGE_BYTES);
    }
    ByteBuffer frame = ByteBuffer.allocate(3 + body.length);
    writeFully(socket, frame.putShort((short) body.length).put(kind).put(body).flip());
  }

  @Override
  public byte[] receive() throws IOException {
    DataInputStream input = input();
    int lengthBytes = input.readUnsignedShort();
    byte kind = input.readByte();
    if (lengthBytes > MAX_MESSAGE_BYTES || (kind != MESSAGE && kind != GIVE_UP)) {
      throw new IOException("bad handshake frame: kind " + kind + ", " + lengthBytes + " bytes");
    }
    byte[] body = new byte[lengthBytes];
    input.readFully(body);
    if (kind == GIVE_UP) {
      throw new IOException("the peer has given up: " + new String(body, StandardCharsets.UTF_8));
    }
    return body;
  }

  @Override
  public long remainingNs() {
    return Math.max(0, deadlineNs - System.nanoTime());
  }

  @Override
  public SocketChannel socket() {
    return socket;
  }

  /** A view that reads no byte beyond what is asked: a provider may take the socket over later. */
  private DataInputStream input() throws IOException {
    long remainingMs = remainingNs() / 1_000_000;
    if (remainingMs == 0) {
      throw new SocketTimeoutException("the handshake deadline has passed");
    }
    socket.socket().setSoTimeout((int) remainingMs);
    return new DataInputStream(socket.socket().getInputStream());
  }

  private static void writeFully(SocketChannel socket, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      socket.write(bytes);
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
