package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletionStage;

/**
 * The requesting side of a connection: sends requests, waits for their replies where a thread does,
 * and tells the peer of those that were given up.
 *
 * <p>Safe for use by several threads.
 */
final class Requester {
  private static final int MAX_PARTS = 1 << 16;

  private final Node node;
  private final Sender sender;
  private final Room room;
  private final RequestTable table;
  private final Connection connection;
  private final RequestTable.Expired tellExpired = this::tellCancelled;

  Requester(Connection connection, Sender sender, Room room, RequestTable table) {
    this.connection = connection;
    this.node = connection.node();
    this.sender = sender;
    this.room = room;
    this.table = table;
  }

  // ---- without waiting -------------------------------------------------------------------------

  /** Returns the request's id, or why it was not sent. */
  long send(
      int type,
      MemorySegment source,
      long offset,
      int lengthBytes,
      long deadlineNs,
      long context,
      ReplyHandler handler) {
    long id = table.open(deadlineNs, context, handler);
    if (id < 0) {
      return id;
    }
    long result = SendResult.CLOSED;
    try {
      result = sender.sendCopy(type, id, source, offset, lengthBytes);
    } finally {
      if (result < 0 && !table.withdraw(id)) {
        result = SendResult.OK; // its handler has heard already how it ended
      }
    }
    return result < 0 ? result : id;
  }

  /** As {@link #send}, from a pooled buffer, which moves when the result is not negative. */
  long send(
      int type, RegisteredBuffer buffer, long deadlineNs, long context, ReplyHandler handler) {
    long id = table.open(deadlineNs, context, handler);
    if (id < 0) {
      return id;
    }
    long result = SendResult.CLOSED;
    try {
      result = sender.sendBuffer(type, id, buffer);
    } finally {
      if (result < 0 && !table.withdraw(id)) {
        buffer.close(); // as if it had been sent
        result = SendResult.OK;
      }
    }
    return result < 0 ? result : id;
  }

  CompletionStage<Reply> requestAsync(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    ReplyFuture future = new ReplyFuture(this, node.pool());
    long result =
        send(MessageType.REQUEST, source, offset, lengthBytes, deadline(timeoutNs), 0, future);
    future.sent(result, result < 0 ? notSent(result) : null);
    return future;
  }

  CompletionStage<Reply> requestAsync(RegisteredBuffer buffer, long timeoutNs) {
    ReplyFuture future = new ReplyFuture(this, node.pool());
    long result = send(MessageType.REQUEST, buffer, deadline(timeoutNs), 0, future);
    future.sent(result, result < 0 ? notSent(result) : null);
    return future;
  }

  /** Sends a request that is answered in parts, the first {@code parts} of which may come. */
  long stream(
      MemorySegment source,
      long offset,
      int lengthBytes,
      long deadlineNs,
      int parts,
      long context,
      StreamHandler handler) {
    requireParts(parts);
    long id =
        send(MessageType.STREAM_REQUEST, source, offset, lengthBytes, deadlineNs, context, handler);
    if (id > SendResult.OK) {
      // Behind the request, so the peer knows by then which answer is meant.
      grant(id, parts);
    }
    return id;
  }

  ReplyParts stream(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs, int window) {
    requireParts(window);
    room.requireMayWait();
    long deadlineNs = deadline(timeoutNs);
    ReplyParts parts = new ReplyParts(connection, room, node.pool(), window);
    long id;
    do {
      id = stream(source, offset, lengthBytes, deadlineNs, window, 0, parts.collector());
    } while (room.shouldTryAgain(id, deadlineNs));
    if (id < 0) {
      throw notSent(id);
    }
    parts.sent(id);
    return parts;
  }

  void grant(long id, int parts) {
    requireParts(parts);
    sender.sendReliably(MessageType.GRANT, id, parts);
  }

  private static void requireParts(int parts) {
    if (parts < 1 || parts > MAX_PARTS) {
      throw new IllegalArgumentException(
          "parts must be 1 to " + MAX_PARTS + " at a time, not " + parts);
    }
  }

  /** Gives a request up and tells the peer; false when it has ended already. Any thread. */
  boolean cancel(long id) {
    if (!table.giveUp(id, Cause.CANCELLED)) {
      return false;
    }
    tellCancelled(id);
    return true;
  }

  /** Ends the requests whose deadline has passed. Conductor. */
  void expire(long nowNs) {
    table.expire(nowNs, tellExpired);
  }

  /** Tells the peer that nobody waits for an answer any more. */
  void tellCancelled(long id) {
    sender.sendReliably(MessageType.CANCEL, id, 0);
  }

  long deadline(long timeoutNs) {
    return node.clockNs() + timeoutNs;
  }

  // ---- waiting ---------------------------------------------------------------------------------

  /** Sends a request and waits for its reply, which fills {@code reply}. */
  void request(MemorySegment source, long offset, int lengthBytes, long timeoutNs, Reply reply) {
    long deadlineNs = deadline(timeoutNs);
    room.requireMayWait();
    reply.arrival().expect();
    long id = SendResult.CLOSED;
    try {
      do {
        id = send(MessageType.REQUEST, source, offset, lengthBytes, deadlineNs, 0, reply.arrival());
      } while (room.shouldTryAgain(id, deadlineNs));
    } finally {
      if (id < 0) {
        reply.arrival().forget();
      }
    }
    await(id, deadlineNs, reply.arrival());
  }

  /** As above, from a pooled buffer. */
  void request(RegisteredBuffer buffer, long timeoutNs, Reply reply) {
    long deadlineNs = deadline(timeoutNs);
    room.requireMayWait();
    reply.arrival().expect();
    long id = SendResult.CLOSED;
    try {
      do {
        id = send(MessageType.REQUEST, buffer, deadlineNs, 0, reply.arrival());
      } while (room.shouldTryAgain(id, deadlineNs));
    } finally {
      if (id < 0) {
        reply.arrival().forget();
      }
    }
    await(id, deadlineNs, reply.arrival());
  }

  private void await(long id, long deadlineNs, Reply.Arrival arrival) {
    if (id < 0) {
      throw notSent(id);
    }
    boolean interrupted = false;
    while (!arrival.ended()) {
      long leftNs = deadlineNs - node.clockNs();
      if (Thread.interrupted()) {
        interrupted = true;
        endEarly(id, Cause.CANCELLED);
      } else if (leftNs <= 0) {
        endEarly(id, Cause.DEADLINE);
      } else if (!room.poll()) {
        arrival.sleep(leftNs);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    RequestFailedException failure = arrival.failure();
    if (failure != null) {
      throw failure;
    }
  }

  /** Ends a request here, or lets the thread that is just ending it come to its end. */
  private void endEarly(long id, Cause cause) {
    if (table.giveUp(id, cause)) {
      tellCancelled(id);
    } else {
      Thread.onSpinWait();
    }
  }

  RequestFailedException notSent(long result) {
    if (result == SendResult.BACK_PRESSURED) {
      return new RequestFailedException(
          Cause.BACK_PRESSURED, "the request was not sent: the peer left no room on " + connection);
    }
    if (result == SendResult.WINDOW_FULL) {
      return new RequestFailedException(
          Cause.WINDOW_FULL,
          "the request was not sent: "
              + node.config().requestWindow()
              + " others wait for their reply already (NodeConfig.requestWindow) on "
              + connection);
    }
    return new RequestFailedException(
        Cause.DISCONNECTED,
        "the request was not sent: " + connection + " is " + SendResult.nameOf(result));
  }
}
