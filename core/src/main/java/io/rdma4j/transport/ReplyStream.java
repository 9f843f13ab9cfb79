package io.rdma4j.transport;

import io.rdma4j.SendResult;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * An answer in parts, made by whoever was asked: parts as the requester grants them, then one end,
 * or one failure. Opened by {@link Message#openReplyStream()}; used after the handler's call as
 * well.
 *
 * <p>One thread at a time. Results are those of {@link SendResult}: {@code BACK_PRESSURED} when the
 * requester has granted no more parts or the path has no room, {@code CANCELLED} when the requester
 * has given up. A stream that is never ended leaves its requester to its deadline.
 */
public final class ReplyStream {
  private static final int MAX_FAILURE_BYTES = 1024;

  private final ReplyStreams owner;
  private final Sender sender;
  private final Room room;
  private final long correlationId;
  private final Waiters waiters = new Waiters();

  /** Parts that may be sent in all; written by the polling thread. */
  private volatile long granted;

  private volatile boolean cancelled;

  // Written by the sending thread.
  private long sent;
  private boolean ended;

  ReplyStream(ReplyStreams owner, Sender sender, Room room, long correlationId) {
    this.owner = owner;
    this.sender = sender;
    this.room = room;
    this.correlationId = correlationId;
  }

  /** Sends a part by copy. */
  public long send(MemorySegment source, long offset, int lengthBytes) {
    requireOpen();
    if (cancelled) {
      return SendResult.CANCELLED;
    }
    if (sent == granted) {
      return SendResult.BACK_PRESSURED;
    }
    long result = sender.sendCopy(MessageType.PART, correlationId, source, offset, lengthBytes);
    if (result >= 0) {
      sent++;
    }
    return result;
  }

  /** Sends a part by copy, and waits for a grant and for room up to {@code timeoutNs}. */
  public long send(MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    long deadlineNs = owner.clockNs() + timeoutNs;
    while (true) {
      long result = send(source, offset, lengthBytes);
      if (result == SendResult.BACK_PRESSURED && sent == granted) {
        if (!awaitGrant(deadlineNs)) {
          return result;
        }
      } else if (!room.shouldTryAgain(result, deadlineNs)) {
        return result;
      }
    }
  }

  private boolean awaitGrant(long deadlineNs) {
    long leftNs = deadlineNs - owner.clockNs();
    if (leftNs <= 0) {
      return false;
    }
    if (!room.poll()) {
      Thread thread = Thread.currentThread();
      waiters.add(thread);
      try {
        if (sent == granted && !cancelled) {
          LockSupport.parkNanos(this, leftNs);
        }
      } finally {
        waiters.remove(thread);
      }
      room.checkInterrupt();
    }
    return true;
  }

  /**
   * Calls back once, on the polling thread or on this one, when a part may be sent or the answer is
   * not wanted any more.
   */
  public void whenReady(Runnable callback) {
    if (sent != granted && !cancelled && room.whenReady(callback)) {
      return;
    }
    waiters.add(callback);
    // What came before the callback was there has woken nobody.
    if (sent != granted || cancelled) {
      waiters.wake(Integer.MAX_VALUE);
    }
  }

  /** Ends the answer with a last payload, which may be empty; needs no grant. */
  public long end(MemorySegment source, long offset, int lengthBytes) {
    requireOpen();
    if (cancelled) {
      return SendResult.CANCELLED;
    }
    return ended(sender.sendCopy(MessageType.REPLY, correlationId, source, offset, lengthBytes));
  }

  /** Ends the answer with a failure, which the requester hears as PEER_FAILED with this reason. */
  public long fail(String reason) {
    requireOpen();
    if (cancelled) {
      return SendResult.CANCELLED;
    }
    return ended(sendFailure(sender, correlationId, reason));
  }

  static long sendFailure(Sender sender, long correlationId, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    int lengthBytes = Math.min(text.length, Math.min(MAX_FAILURE_BYTES, sender.maxMessageBytes()));
    MemorySegment payload = MemorySegment.ofArray(Arrays.copyOf(text, lengthBytes));
    return sender.sendCopy(MessageType.FAILED, correlationId, payload, 0, lengthBytes);
  }

  private long ended(long result) {
    if (result >= 0) {
      ended = true;
      owner.remove(this);
    }
    return result;
  }

  private void requireOpen() {
    if (ended) {
      throw new IllegalStateException("this answer has ended");
    }
  }

  /** Returns true when the requester has given up, or the connection has ended. */
  public boolean isCancelled() {
    return cancelled;
  }

  /** Returns the request's number, as {@link ConnectionHandler#onCancelled} tells it. */
  public long correlationId() {
    return correlationId;
  }

  /** Allows more parts. Polling thread. */
  void grant(int parts) {
    long before = granted;
    granted = before + parts;
    waiters.wake(Integer.MAX_VALUE);
  }

  /** Notes that nobody waits for the answer. Polling thread. */
  void cancel() {
    cancelled = true;
    waiters.wake(Integer.MAX_VALUE);
  }
}
