package io.rdma4j.transport;

import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request, in a pooled buffer that the receiver owns and closes. A closed one can
 * be filled again by {@link Connection#request(MemorySegment, long, int, long, Reply)}, which makes
 * no garbage.
 *
 * <p>One thread at a time.
 */
public final class Reply implements AutoCloseable {
  private final RegisteredBuffer buffer;
  private final Arrival arrival = new Arrival();

  Reply(RegisteredBufferPool pool) {
    buffer = pool.newLease();
  }

  /** Returns the payload's length. */
  public int lengthBytes() {
    return buffer.lengthBytes();
  }

  /** Returns the block that holds the payload from 0 to {@link #lengthBytes()}. */
  public MemorySegment memory() {
    return buffer.segment();
  }

  /** Returns the payload alone, as a new segment object. */
  public MemorySegment payload() {
    return buffer.segment().asSlice(0, buffer.lengthBytes());
  }

  /** Returns true when it holds no answer. */
  public boolean isEmpty() {
    return buffer.isEmpty();
  }

  /** Gives the buffer back to the pool; idempotent. */
  @Override
  public void close() {
    buffer.close();
  }

  /** Takes the payload of a message; false when the pool has no buffer for it. */
  boolean fill(Message from) {
    return from.tryTake(buffer);
  }

  /** Takes over the payload of another reply, which is empty afterwards. */
  void take(Reply from) {
    int lengthBytes = from.lengthBytes();
    buffer.pool().attach(from.buffer.detach(), lengthBytes, buffer);
  }

  static String noBuffer(int lengthBytes) {
    return "a reply of " + lengthBytes + " bytes came, but the pool has no buffer for it";
  }

  Arrival arrival() {
    return arrival;
  }

  /** Fills the reply on the polling thread and wakes the thread that waits for it. */
  final class Arrival implements ReplyHandler {
    private final Sleeper sleeper = new Sleeper(this::ended);
    private @Nullable Cause cause;
    private String message = "";

    /** Written last by whoever ends the request; what was written before is seen with it. */
    private volatile boolean ended = true;

    /** Makes this wait for another request. */
    void expect() {
      if (!ended || !buffer.isEmpty()) {
        throw new IllegalStateException(
            ended
                ? "this reply still holds an answer; close it first"
                : "this reply is waited for");
      }
      cause = null;
      ended = false;
    }

    /** Stops waiting: the request was not sent. */
    void forget() {
      ended = true;
    }

    boolean ended() {
      return ended;
    }

    /** Sleeps until the request has ended, for so long at most. */
    void sleep(long mostNs) {
      sleeper.sleep(mostNs);
    }

    /** Returns why there is no reply, null when there is one. */
    @Nullable RequestFailedException failure() {
      Cause failed = cause;
      return failed == null ? null : new RequestFailedException(failed, message);
    }

    @Override
    public void onReply(long context, Message reply) {
      try {
        if (!fill(reply)) {
          cause = Cause.NO_BUFFER;
          message = noBuffer(reply.lengthBytes());
        }
      } catch (RuntimeException e) {
        cause = Cause.NO_BUFFER;
        message = noBuffer(reply.lengthBytes()) + ": " + e.getMessage();
      }
      end();
    }

    @Override
    public void onFailure(long context, Cause failed, String text) {
      cause = failed;
      message = text;
      end();
    }

    private void end() {
      ended = true;
      sleeper.wake();
    }
  }
}
