package io.rdma4j.transport.internal;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import javax.net.ssl.ExtendedSSLSession;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLKeyException;

/**
 * A socket with TLS above it.
 *
 * <p>One thread at a time reads and one writes; the two may be different threads at the same time.
 * It blocks as the socket does. Closing it closes the socket.
 *
 * <p>{@link #write} reports bytes as taken when their record is with the socket as a whole. Until
 * then the caller offers the same bytes again: what is encrypted already is not encrypted twice.
 */
public final class TlsStream implements ByteChannel {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);
  private static final String BINDING_LABEL = "EXPORTER-Channel-Binding";
  private static final int BINDING_BYTES = 32;

  private final SocketChannel socket;
  private final SSLEngine engine;

  /** Encrypted bytes from the socket; filling. */
  private final ByteBuffer encryptedIn;

  /** Decrypted bytes not read yet; draining. */
  private final ByteBuffer plainIn;

  /** Encrypted bytes for the socket; draining. */
  private final ByteBuffer encryptedOut;

  /** Bytes of the caller that {@link #encryptedOut} has the record of. */
  private int takenBytes;

  private boolean ended;

  /**
   * Prepares encryption; {@link #handshake} comes next.
   *
   * @param socket connected, in blocking mode
   * @param engine in the mode of this end, client or server
   */
  public TlsStream(SocketChannel socket, SSLEngine engine) {
    this.socket = socket;
    this.engine = engine;
    int recordBytes = engine.getSession().getPacketBufferSize();
    encryptedIn = ByteBuffer.allocate(recordBytes);
    plainIn = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize()).flip();
    encryptedOut = ByteBuffer.allocate(recordBytes).flip();
  }

  /**
   * Authenticates the peer and agrees on keys.
   *
   * @throws SSLException when the peer can not be trusted, or does not speak TLS
   * @throws SocketTimeoutException when that was not over at {@code endNs}
   */
  public void handshake(long endNs) throws IOException {
    try {
      engine.beginHandshake();
      while (handshakeStep(endNs)) {}
    } catch (SSLException e) {
      tellAlert(e);
      throw e;
    }
  }

  private boolean handshakeStep(long endNs) throws IOException {
    switch (engine.getHandshakeStatus()) {
      case NEED_TASK -> runTasks();
      case NEED_WRAP -> {
        encrypt(NOTHING);
        flush();
      }
      case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
        if (!decrypt() && !ended && fill(endNs) < 0) {
          ended = true;
        }
        if (ended) {
          throw new SSLException("the peer closed the connection during the TLS handshake");
        }
      }
      case FINISHED, NOT_HANDSHAKING -> {
        return false;
      }
    }
    return true;
  }

  private void tellAlert(SSLException cause) {
    try {
      while (engine.getHandshakeStatus() == HandshakeStatus.NEED_WRAP && encrypt(NOTHING)) {
        flush();
      }
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /** Returns bytes that only the two ends of this encryption can know (RFC 9266). */
  public byte[] binding() throws IOException {
    if (!(engine.getSession() instanceof ExtendedSSLSession session)) {
      throw new SSLException("the TLS provider has no extended sessions");
    }
    try {
      return session.exportKeyingMaterialData(BINDING_LABEL, new byte[0], BINDING_BYTES);
    } catch (SSLKeyException | UnsupportedOperationException e) {
      throw new SSLException("the TLS provider exports no keying material", e);
    }
  }

  /** Returns the name that the peer has proved, or its reason for having none. */
  public String peerName() {
    try {
      return engine.getSession().getPeerPrincipal().getName();
    } catch (javax.net.ssl.SSLPeerUnverifiedException e) {
      return "not verified: " + e.getMessage();
    }
  }

  @Override
  public int read(ByteBuffer target) throws IOException {
    return read(target, 0, false);
  }

  /** Reads in blocking mode, waiting for the first byte until {@code endNs}. */
  int readUntil(ByteBuffer target, long endNs) throws IOException {
    return read(target, endNs, true);
  }

  private int read(ByteBuffer target, long endNs, boolean wait) throws IOException {
    while (!plainIn.hasRemaining()) {
      if (ended) {
        return -1;
      }
      if (!decrypt()) {
        int n = ended ? -1 : wait ? fill(endNs) : socket.read(encryptedIn);
        if (n <= 0) {
          return n;
        }
      }
    }
    int n = Math.min(target.remaining(), plainIn.remaining());
    target.put(target.position(), plainIn, plainIn.position(), n);
    target.position(target.position() + n);
    plainIn.position(plainIn.position() + n);
    return n;
  }

  private int fill(long endNs) throws IOException {
    return BootstrapChannel.readUntil(socket, encryptedIn, endNs);
  }

  /** Decrypts a record into the empty buffer; false when there is no whole one. */
  private boolean decrypt() throws IOException {
    encryptedIn.flip();
    plainIn.clear();
    SSLEngineResult result;
    try {
      result = engine.unwrap(encryptedIn, plainIn);
    } finally {
      encryptedIn.compact();
      plainIn.flip();
    }
    switch (result.getStatus()) {
      case CLOSED -> ended = true;
      case BUFFER_OVERFLOW -> throw new SSLException("a TLS record is longer than the session's");
      case OK, BUFFER_UNDERFLOW -> {}
    }
    if (result.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
      runTasks();
      return true;
    }
    return result.bytesConsumed() > 0;
  }

  private void runTasks() {
    for (Runnable task; (task = engine.getDelegatedTask()) != null; ) {
      task.run();
    }
  }

  @Override
  public int write(ByteBuffer source) throws IOException {
    int written = 0;
    while (flush()) {
      source.position(source.position() + takenBytes);
      written += takenBytes;
      takenBytes = 0;
      if (!source.hasRemaining()) {
        break;
      }
      int start = source.position();
      if (!encrypt(source)) {
        throw new SSLException("the TLS connection is closed");
      }
      takenBytes = source.position() - start;
      source.position(start);
    }
    return written;
  }

  /** Encrypts into the empty buffer; false when this side is closed. */
  private boolean encrypt(ByteBuffer source) throws SSLException {
    encryptedOut.clear();
    SSLEngineResult result;
    try {
      result = engine.wrap(source, encryptedOut);
    } finally {
      encryptedOut.flip();
    }
    if (result.getStatus() == SSLEngineResult.Status.BUFFER_OVERFLOW) {
      throw new SSLException("a TLS record is longer than the session's");
    }
    if (result.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
      runTasks();
    }
    return result.getStatus() == SSLEngineResult.Status.OK;
  }

  /** Writes what is encrypted; false when the socket does not take all of it. */
  private boolean flush() throws IOException {
    while (encryptedOut.hasRemaining()) {
      if (socket.write(encryptedOut) == 0) {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean isOpen() {
    return socket.isOpen();
  }

  @Override
  public void close() throws IOException {
    // Messages have an end of their own, so a cut stream is noticed without TLS saying so.
    socket.close();
  }
}
