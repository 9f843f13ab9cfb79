package io.rdma4j.provider.tcp;

import static io.rdma4j.provider.tcp.FrameLayout.CORRELATION_ID;
import static io.rdma4j.provider.tcp.FrameLayout.HEADER_BYTES;
import static io.rdma4j.provider.tcp.FrameLayout.WORD;

import io.rdma4j.SendResult;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Rest;
import io.rdma4j.provider.TokenQueue;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ByteChannel;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection over a non-blocking socket, plain or encrypted.
 *
 * <p>Threads as {@link Endpoint} says. A frame waits in the send buffer until {@link #flush}, the
 * next poll, or until half the buffer is taken; then all go in one write. A registered send is
 * copied too (a socket channel takes a foreign segment only through a new buffer object), and its
 * token comes back with the next poll.
 *
 * <p>{@link #close} writes what the socket takes without waiting, and a close frame after it; the
 * socket itself stays open and belongs to the connection. A stream that ends without that frame is
 * a lost peer.
 */
final class TcpEndpoint implements Endpoint {
  private static final int LEAST_BUFFER_BYTES = 64 * 1024;

  private final ByteChannel socket;
  private final EndpointConfig config;
  private final String description;
  private final Arena arena = Arena.ofShared();
  private final SendRing sendRing;
  private final ReceiveBuffer received;
  private final TokenQueue tokens;
  private final AtomicReference<@Nullable EndpointFailure> writeFailure = new AtomicReference<>();
  private volatile int sendState = SendResult.OK;
  private boolean ended;

  /** Uses {@code socket}, which must be non-blocking, without owning it. */
  TcpEndpoint(ByteChannel socket, EndpointConfig config, String description) {
    this.socket = socket;
    this.config = config;
    this.description = description;
    try {
      sendRing = new SendRing(arena, sendRingBytes(config));
      received = new ReceiveBuffer(arena, receiveBufferBytes(config));
      tokens = new TokenQueue(config.window());
    } catch (RuntimeException | OutOfMemoryError e) {
      arena.close();
      throw e;
    }
  }

  private static int sendRingBytes(EndpointConfig config) {
    long wanted = Math.max(config.ringBytes(), (long) HEADER_BYTES + config.maxMessageBytes());
    return (int) Math.min(1 << 30, Long.highestOneBit(Math.max(wanted, 1024) - 1) << 1);
  }

  private static int receiveBufferBytes(EndpointConfig config) {
    long twoFrames = 2L * (HEADER_BYTES + config.maxMessageBytes());
    return (int) Math.max(LEAST_BUFFER_BYTES, twoFrames);
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public String device() {
    return "";
  }

  @Override
  public @Nullable MemoryRegistrar registrar() {
    return null;
  }

  @Override
  public int maxMessageBytes() {
    return config.maxMessageBytes();
  }

  @Override
  public long send(
      int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    config.requireSendable(type, lengthBytes);
    int state = sendState;
    if (state != SendResult.OK) {
      return state;
    }
    if (!sendRing.append(type, FrameLayout.MESSAGE, correlationId, source, offset, lengthBytes)) {
      flush();
      if (!sendRing.append(type, FrameLayout.MESSAGE, correlationId, source, offset, lengthBytes)) {
        state = sendState;
        return state == SendResult.OK ? SendResult.BACK_PRESSURED : state;
      }
    }
    if (sendRing.isCrowded()) {
      flush();
    }
    return SendResult.OK;
  }

  @Override
  public long sendRegistered(
      int type,
      long correlationId,
      MemorySegment source,
      long offset,
      int lengthBytes,
      int lkey,
      long token) {
    if (token == NO_TOKEN) {
      throw new IllegalArgumentException("token " + token + " stands for no token");
    }
    if (tokens.isFull()) {
      int state = sendState;
      return state == SendResult.OK ? SendResult.BACK_PRESSURED : state;
    }
    long result = send(type, correlationId, source, offset, lengthBytes);
    if (result >= 0) {
      tokens.offer(token);
    }
    return result;
  }

  @Override
  public boolean hasRoom() {
    return sendState != SendResult.OK
        || (!tokens.isFull() && sendRing.hasRoom(config.maxMessageBytes()));
  }

  @Override
  public void flush() {
    if (!isFlushed()) {
      writePending();
    }
  }

  @Override
  public boolean isFlushed() {
    return sendState != SendResult.OK || !sendRing.isPending();
  }

  private void writePending() {
    try {
      sendRing.flush(socket);
    } catch (IOException e) {
      writeFailure.compareAndSet(
          null,
          new EndpointFailure(
              EndpointFailure.Kind.PEER_LOST, description + ": write failed: " + e));
      stopSending();
    }
  }

  private void stopSending() {
    if (sendState == SendResult.OK) {
      sendState = SendResult.NOT_CONNECTED;
    }
  }

  @Override
  public int poll(EndpointListener listener, int messageLimit) {
    int given = tokens.drain(listener);
    if (ended) {
      return given;
    }
    flush();
    int messages = deliver(listener, messageLimit);
    if (messages == 0 && !ended && messageLimit > 0) {
      int read = fill(listener);
      if (read > 0) {
        messages = deliver(listener, messageLimit);
      }
    }
    if (messages > 0 && sendState != SendResult.CLOSED) {
      listener.onBatchEnd();
    }
    return given + messages;
  }

  /** The socket becomes readable; what it has not taken yet is tried again after a moment. */
  @Override
  public Rest arm() {
    if (!tokens.isEmpty()) {
      return Rest.NONE;
    }
    return isFlushed() && writeFailure.get() == null ? Rest.UNTIL_EVENT : Rest.BRIEF;
  }

  private int deliver(EndpointListener listener, int messageLimit) {
    int messages = 0;
    while (messages < messageLimit && !ended && received.availableBytes() >= HEADER_BYTES) {
      int start = received.start();
      MemorySegment memory = received.memory();
      long word = memory.get(WORD, start);
      long lengthBytes = FrameLayout.lengthBytes(word);
      if (FrameLayout.kind(word) != FrameLayout.MESSAGE || lengthBytes > config.maxMessageBytes()) {
        notAMessage(listener, word);
        break;
      }
      int frameBytes = HEADER_BYTES + (int) lengthBytes;
      if (received.availableBytes() < frameBytes) {
        break;
      }
      received.skip(frameBytes);
      messages++;
      listener.onMessage(
          FrameLayout.type(word),
          memory.get(WORD, start + (long) CORRELATION_ID),
          memory,
          start + (long) HEADER_BYTES,
          (int) lengthBytes);
    }
    return messages;
  }

  private void notAMessage(EndpointListener listener, long word) {
    if (word == FrameLayout.word(0, 0, FrameLayout.CLOSE)) {
      end(listener, EndpointFailure.Kind.PEER_CLOSED, "the peer has closed the connection");
      return;
    }
    end(
        listener,
        EndpointFailure.Kind.PROTOCOL,
        "frame header 0x"
            + Long.toHexString(word)
            + " announces "
            + FrameLayout.lengthBytes(word)
            + " bytes and flags "
            + FrameLayout.kind(word)
            + "; at most "
            + config.maxMessageBytes()
            + " bytes and flags 0 or 1 are allowed");
  }

  /** Reads once; reports the end of the stream. */
  private int fill(EndpointListener listener) {
    int read;
    try {
      read = received.fill(socket);
    } catch (IOException e) {
      end(listener, EndpointFailure.Kind.PEER_LOST, "read failed: " + e);
      return 0;
    }
    if (read < 0) {
      end(
          listener,
          EndpointFailure.Kind.PEER_LOST,
          "the stream ended without a close frame, after "
              + received.availableBytes()
              + " bytes of an unfinished frame");
    } else if (read == 0 && writeFailure.getPlain() != null) {
      end(listener, EndpointFailure.Kind.PEER_LOST, "");
    }
    return read;
  }

  /**
   * Reports why the path ended: an earlier write error where there was one, unless it explains it.
   */
  private void end(EndpointListener listener, EndpointFailure.Kind kind, String message) {
    ended = true;
    stopSending();
    EndpointFailure write = writeFailure.get();
    boolean explained = kind != EndpointFailure.Kind.PEER_LOST;
    listener.onFailure(
        write == null || explained
            ? new EndpointFailure(kind, description + ": " + message)
            : write);
  }

  @Override
  public void close(EndpointListener listener) {
    if (sendState == SendResult.CLOSED) {
      return;
    }
    boolean connected = sendState == SendResult.OK && !ended;
    sendState = SendResult.CLOSED;
    ended = true;
    if (connected && sendRing.append(0, FrameLayout.CLOSE, 0, MemorySegment.NULL, 0, 0)) {
      writePending();
    }
    tokens.drain(listener);
    arena.close();
  }
}
