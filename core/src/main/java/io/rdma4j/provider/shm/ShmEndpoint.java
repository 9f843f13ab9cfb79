package io.rdma4j.provider.shm;

import static io.rdma4j.provider.shm.RecordLayout.WORD;

import io.rdma4j.SendResult;
import io.rdma4j.os.ProcessIdentity;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.TokenQueue;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection through a shared file.
 *
 * <p>Threads as {@link Endpoint} says. The ring is the wire: a registered send is copied into it
 * like any other, and its token comes back with the next poll.
 *
 * <p>A peer that closes sets its flag after its last record; a peer that dies sets none, and is
 * found out by {@link #housekeep} when both can see each other's processes. Either end is reported
 * once all records before it have been delivered.
 */
final class ShmEndpoint implements Endpoint {
  private static final long LIVENESS_INTERVAL_NS = 250_000_000L;

  private final ShmFile file;
  private final EndpointConfig config;
  private final String description;
  private final @Nullable ProcessIdentity peer;
  private final RingWriter writer;
  private final RingReader reader;
  private final MemorySegment peerClosed;
  private final TokenQueue tokens;
  private final AtomicReference<@Nullable EndpointFailure> failure = new AtomicReference<>();
  private volatile int sendState = SendResult.OK;
  private boolean reported;
  private boolean livenessChecked;
  private long livenessCheckedNs;

  /**
   * Takes over {@code file}.
   *
   * @param peer the process at the other end, null when its pid means nothing here
   */
  ShmEndpoint(
      ShmFile file, EndpointConfig config, String description, @Nullable ProcessIdentity peer) {
    this.file = file;
    this.config = config;
    this.description = description;
    this.peer = peer;
    writer = file.writer();
    reader = file.reader(config.maxMessageBytes());
    peerClosed = file.peerClosedFlag();
    tokens = new TokenQueue(config.window());
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
    if ((type & ~0xFF) != 0 || lengthBytes < 0 || lengthBytes > config.maxMessageBytes()) {
      throw refused(type, lengthBytes);
    }
    int state = sendState;
    if (state != SendResult.OK) {
      return state;
    }
    int written = writer.write(type, correlationId, source, offset, lengthBytes);
    return written == RingWriter.WRITTEN ? SendResult.OK : notWritten(written);
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
    if (token < 0) {
      throw new IllegalArgumentException("token " + token + " is negative");
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

  private IllegalArgumentException refused(int type, int lengthBytes) {
    return new IllegalArgumentException(
        "message of type "
            + type
            + " and "
            + lengthBytes
            + " bytes: types are 0 to 255, lengths 0 to "
            + config.maxMessageBytes());
  }

  private int notWritten(int result) {
    if (result == RingWriter.FULL) {
      return SendResult.BACK_PRESSURED;
    }
    fail(EndpointFailure.Kind.PROTOCOL, writer.corruption());
    return SendResult.NOT_CONNECTED;
  }

  @Override
  public int poll(EndpointListener listener, int messageLimit) {
    int given = tokens.drain(listener);
    if (reported) {
      return given;
    }
    int messages = reader.poll(listener, messageLimit);
    if (messages == 0) {
      idle(listener);
    }
    return given + messages;
  }

  private void idle(EndpointListener listener) {
    if (reader.corruption() == null) {
      if (reported) {
        return;
      }
      reader.reclaim();
      boolean closed = (long) WORD.getAcquire(peerClosed, 0L) != 0;
      if (!closed && failure.getPlain() == null) {
        return;
      }
      // What the peer wrote before it closed or died is visible by now.
      if (!reader.isEmpty()) {
        return;
      }
      if (closed) {
        fail(EndpointFailure.Kind.PEER_CLOSED, "the peer has closed the connection");
      }
    } else {
      fail(EndpointFailure.Kind.PROTOCOL, reader.corruption());
    }
    reported = true;
    EndpointFailure cause = failure.get();
    if (cause != null) {
      listener.onFailure(cause);
    }
  }

  private void fail(EndpointFailure.Kind kind, @Nullable String message) {
    failure.compareAndSet(null, new EndpointFailure(kind, description + ": " + message));
    if (sendState == SendResult.OK) {
      sendState = SendResult.NOT_CONNECTED;
    }
  }

  @Override
  public void housekeep(long nowNs) {
    boolean due = !livenessChecked || nowNs - livenessCheckedNs >= LIVENESS_INTERVAL_NS;
    if (peer == null || !due) {
      return;
    }
    livenessChecked = true;
    livenessCheckedNs = nowNs;
    try {
      if (!peer.isAlive()) {
        fail(EndpointFailure.Kind.PEER_LOST, "process " + peer.pid() + " is gone");
      }
    } catch (IOException e) {
      fail(EndpointFailure.Kind.PEER_LOST, "process " + peer.pid() + " cannot be seen: " + e);
    }
  }

  @Override
  public void close(EndpointListener listener) {
    if (sendState == SendResult.CLOSED) {
      return;
    }
    sendState = SendResult.CLOSED;
    reported = true;
    reader.stop();
    WORD.setRelease(file.closedFlag(), 0L, 1L);
    tokens.drain(listener);
    file.close();
  }
}
