package io.rdma4j.provider.shm;

import static io.rdma4j.provider.shm.RecordLayout.WORD;

import io.rdma4j.SendResult;
import io.rdma4j.os.ProcessIdentity;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Rest;
import io.rdma4j.provider.TokenQueue;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
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
  private static final VarHandle FAILURE;

  static {
    try {
      FAILURE =
          MethodHandles.lookup().findVarHandle(ShmEndpoint.class, "failure", EndpointFailure.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final ShmFile file;
  private final EndpointConfig config;
  private final String description;
  private final @Nullable ProcessIdentity peer;
  private final RingWriter writer;
  private final RingReader reader;
  private final MemorySegment peerClosed;
  private final MemorySegment sleeps;
  private final MemorySegment peerSleeps;
  private final TokenQueue tokens;
  private volatile @Nullable EndpointFailure failure;
  private volatile boolean closed;
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
    sleeps = file.sleepsFlag();
    peerSleeps = file.peerSleepsFlag();
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
    config.requireSendable(type, lengthBytes);
    if (closed || failure != null) {
      return closed ? SendResult.CLOSED : SendResult.NOT_CONNECTED;
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
    if (token == NO_TOKEN) {
      throw new IllegalArgumentException("token " + token + " stands for no token");
    }
    if (tokens.isFull() && !closed && failure == null) {
      return SendResult.BACK_PRESSURED;
    }
    long result = send(type, correlationId, source, offset, lengthBytes);
    if (result >= 0) {
      tokens.offer(token);
    }
    return result;
  }

  @Override
  public boolean hasRoom() {
    return closed
        || failure != null
        || (!tokens.isFull() && writer.hasRoom(config.maxMessageBytes()));
  }

  @Override
  public void flush() {
    if (!closed) {
      writer.publish();
    }
  }

  @Override
  public boolean needsFlush() {
    return writer.holds() && !closed;
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
    if (reported || closed) {
      return given;
    }
    int messages = reader.poll(listener, messageLimit);
    if (messages == 0) {
      idle(listener);
    } else if (!closed) {
      listener.onBatchEnd();
    }
    return given + messages;
  }

  /**
   * Sets the flag, then looks into the ring. A sender publishes its record, then looks at the flag,
   * without a fence in between, which would cost every message: one that crosses with this call may
   * see no flag, and its record may not be seen here. That record waits for the look that follows
   * the first, short sleep.
   */
  @Override
  public Rest arm() {
    if (closed) {
      return Rest.UNTIL_EVENT;
    }
    WORD.setVolatile(sleeps, 0L, 1L);
    boolean idle =
        reader.isEmpty()
            && tokens.isEmpty()
            && failure == null
            && (long) WORD.getAcquire(peerClosed, 0L) == 0;
    return (idle && !writer.holds()) || reported ? Rest.UNTIL_EVENT : Rest.NONE;
  }

  @Override
  public void disarm() {
    if (!closed) {
      WORD.setRelease(sleeps, 0L, 0L);
    }
  }

  @Override
  public boolean peerSleeps() {
    return !closed
        && (long) WORD.getAcquire(peerSleeps, 0L) != 0
        && (long) WORD.getAndSet(peerSleeps, 0L, 0L) != 0;
  }

  /** Runs when no message was there: gives space back and looks for the end of the path. */
  private void idle(EndpointListener listener) {
    if (closed) {
      return;
    }
    String corruption = reader.corruption();
    if (corruption != null) {
      fail(EndpointFailure.Kind.PROTOCOL, corruption);
      report(listener);
      return;
    }
    reader.reclaim();
    boolean peerHasClosed = (long) WORD.getAcquire(peerClosed, 0L) != 0;
    // What the peer wrote before it closed or died is visible by now, and goes first.
    if ((peerHasClosed || failure != null) && reader.isEmpty()) {
      EndpointFailure known = failure;
      if (peerHasClosed && (known == null || known.kind() == EndpointFailure.Kind.PEER_LOST)) {
        // A process that is gone after it has closed is no lost peer.
        failure =
            new EndpointFailure(
                EndpointFailure.Kind.PEER_CLOSED,
                description + ": the peer has closed the connection");
      }
      report(listener);
    }
  }

  private void report(EndpointListener listener) {
    EndpointFailure cause = failure;
    if (cause != null) {
      reported = true;
      listener.onFailure(cause);
    }
  }

  /** Records the first reason for the end; by any thread. */
  private void fail(EndpointFailure.Kind kind, String message) {
    FAILURE.compareAndSet(this, null, new EndpointFailure(kind, description + ": " + message));
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
    if (closed) {
      return;
    }
    flush();
    closed = true;
    reader.stop();
    tokens.drain(listener);
    file.close();
  }
}
