package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;

/**
 * The requesting side of a connection: sends requests and waits for their replies.
 *
 * <p>Safe for use by several threads.
 */
final class Requester {
  private final Node node;
  private final Sender sender;
  private final PendingRequests pending;
  private final String connection;

  /** Creates the requesting side of a connection, which is named in failures. */
  Requester(Node node, Sender sender, PendingRequests pending, String connection) {
    this.node = node;
    this.sender = sender;
    this.pending = pending;
    this.connection = connection;
  }

  Reply request(MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    PendingRequests.Pending request = pending.add(node.clockNs() + timeoutNs);
    return await(
        request,
        () -> sender.sendCopy(MessageType.REQUEST, request.id, source, offset, lengthBytes));
  }

  Reply request(RegisteredBuffer buffer, long timeoutNs) {
    PendingRequests.Pending request = pending.add(node.clockNs() + timeoutNs);
    return await(request, () -> sender.sendBuffer(MessageType.REQUEST, request.id, buffer));
  }

  CompletionStage<Reply> requestAsync(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    PendingRequests.Pending request = pending.add(node.clockNs() + timeoutNs);
    long result = SendResult.CLOSED;
    try {
      result = sender.sendCopy(MessageType.REQUEST, request.id, source, offset, lengthBytes);
    } finally {
      if (result < 0) {
        pending.take(request.id);
      }
    }
    if (result < 0) {
      request.reply.completeExceptionally(notSent(result));
    }
    return request.reply;
  }

  private Reply await(PendingRequests.Pending request, LongSupplier send) {
    long result = SendResult.CLOSED;
    try {
      result = send.getAsLong();
      while (result == SendResult.BACK_PRESSURED && node.clockNs() - request.deadlineNs < 0) {
        node.idleWhileWaiting();
        result = send.getAsLong();
      }
    } finally {
      if (result < 0) {
        pending.take(request.id);
      }
    }
    if (result < 0) {
      throw notSent(result);
    }
    return pending.await(request);
  }

  private RequestFailedException notSent(long result) {
    return result == SendResult.BACK_PRESSURED
        ? new RequestFailedException(
            RequestFailedException.Cause.BACK_PRESSURED,
            "the request was not sent: the peer left no room on " + connection)
        : new RequestFailedException(
            RequestFailedException.Cause.DISCONNECTED,
            "the request was not sent: " + connection + " is " + SendResult.nameOf(result));
  }
}
