package io.rdma4j.transport;

import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.transport.RequestFailedException.Cause;
import org.jspecify.annotations.Nullable;

/**
 * An answer in parts, read by a thread that waits for each. It keeps at most as many parts as were
 * asked for at a time, in pooled buffers; the peer sends more as parts are taken.
 *
 * <p>One thread at a time. Owned by the requester, who closes it: an answer that has not ended is
 * cancelled, and the peer is told.
 */
public final class ReplyParts implements AutoCloseable {
  private final Connection connection;
  private final Room room;
  private final Reply[] parts;
  private final Collector collector = new Collector();
  private long requestId;

  /** Written by the reading thread. */
  private volatile long taken;

  private int ungranted;
  private boolean closed;

  ReplyParts(Connection connection, Room room, RegisteredBufferPool pool, int window) {
    this.connection = connection;
    this.room = room;
    // One more than granted at a time: the last payload needs no grant.
    parts = new Reply[window + 1];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = new Reply(pool);
    }
  }

  StreamHandler collector() {
    return collector;
  }

  void sent(long requestId) {
    this.requestId = requestId;
  }

  /**
   * Waits for the next part.
   *
   * @param into empty; holds the part afterwards, owned by the caller
   * @return false when the answer has ended; a last payload that is not empty counts as a part
   * @throws RequestFailedException when it has ended in another way; what came before was returned
   */
  public boolean next(Reply into) {
    if (!into.isEmpty()) {
      throw new IllegalStateException("this reply still holds an answer; close it first");
    }
    while (taken == collector.collected) {
      // Read in this order: the last part is there before the end is.
      if (collector.ended && taken == collector.collected) {
        RequestFailedException failure = collector.failure();
        if (failure != null) {
          throw failure;
        }
        return false;
      }
      collector.await();
    }
    long number = taken;
    into.take(parts[(int) (number % parts.length)]);
    taken = number + 1;
    if (++ungranted >= parts.length / 2 && !collector.ended) {
      connection.grant(requestId, ungranted);
      ungranted = 0;
    }
    return true;
  }

  /** Gives up what has not been read; idempotent. */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (!collector.ended) {
      connection.cancel(requestId);
    }
    while (!collector.ended) {
      // The poller is delivering a part just now and ends the request behind it.
      if (!room.poll()) {
        Thread.onSpinWait();
      }
    }
    for (Reply part : parts) {
      part.close();
    }
  }

  /** Keeps parts until the reader takes them. Polling thread, except {@link #await}. */
  private final class Collector implements StreamHandler {
    private volatile long collected;
    private volatile boolean ended;
    private final Sleeper reader = new Sleeper(this::hasNews);
    private @Nullable Cause cause;
    private String message = "";

    @Override
    public void onPart(long context, long id, Message part) {
      keep(id, part);
    }

    /** The last payload takes the place of a part; the window has one more for it. */
    @Override
    public void onReply(long context, Message reply) {
      if (reply.lengthBytes() > 0 && cause == null) {
        keep(0, reply);
      }
      end();
    }

    private void keep(long id, Message part) {
      if (cause != null) {
        return;
      }
      long number = collected;
      Reply free = parts[(int) (number % parts.length)];
      String problem = null;
      if (number - taken >= parts.length) {
        cause = Cause.PEER_FAILED;
        problem = "the peer sent more parts than it was granted";
      } else if (!fill(free, part)) {
        cause = Cause.NO_BUFFER;
        problem = Reply.noBuffer(part.lengthBytes());
      }
      if (problem == null) {
        collected = number + 1;
        reader.wake();
      } else {
        message = problem;
        if (id != 0) {
          connection.cancel(id);
        }
      }
    }

    private boolean fill(Reply free, Message part) {
      try {
        return free.fill(part);
      } catch (RuntimeException e) {
        return false; // closed pool or refused growth: no buffer either
      }
    }

    @Override
    public void onFailure(long context, Cause failed, String text) {
      if (cause == null) {
        cause = failed;
        message = text;
      }
      end();
    }

    private void end() {
      ended = true;
      reader.wake();
    }

    @Nullable RequestFailedException failure() {
      Cause failed = cause;
      return failed == null ? null : new RequestFailedException(failed, message);
    }

    private boolean hasNews() {
      return taken != collected || ended;
    }

    /** Waits a while for a part or the end. Reading thread. */
    void await() {
      if (room.poll()) {
        return;
      }
      reader.sleep();
      if (Thread.interrupted()) {
        Thread.currentThread().interrupt();
        connection.cancel(requestId);
        throw new RequestFailedException(
            Cause.CANCELLED, "interrupted while waiting for a part of an answer");
      }
    }
  }
}
