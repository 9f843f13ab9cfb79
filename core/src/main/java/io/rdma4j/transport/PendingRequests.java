package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Requests that wait for their reply, by correlation id. Each ends exactly once: whoever takes it
 * out completes it.
 *
 * <p>Safe for use by several threads.
 */
final class PendingRequests {
  /** One waiting request. */
  static final class Pending {
    final long id;
    final long deadlineNs;
    final CompletableFuture<Reply> reply = new CompletableFuture<>();

    private Pending(long id, long deadlineNs) {
      this.id = id;
      this.deadlineNs = deadlineNs;
    }
  }

  private final Node node;
  private final AtomicLong nextId = new AtomicLong(1);
  private final ConcurrentHashMap<Long, Pending> byId = new ConcurrentHashMap<>();
  private volatile @Nullable EndpointFailure ended;

  PendingRequests(Node node) {
    this.node = node;
  }

  /** Registers a request that is about to be sent. */
  Pending add(long deadlineNs) {
    long id = nextId.getAndIncrement();
    Pending request = new Pending(id, deadlineNs);
    byId.put(id, request);
    EndpointFailure reason = ended;
    if (reason != null && byId.remove(id) != null) {
      request.reply.completeExceptionally(disconnected(reason));
    }
    return request;
  }

  /** Takes a request out; null when it has ended already. */
  @Nullable Pending take(long id) {
    return byId.remove(id);
  }

  /** Ends the request that a reply belongs to, with a copy of the payload. Polling thread only. */
  void complete(long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    Pending request = take(correlationId);
    if (request == null) {
      node.countLateReply();
      return;
    }
    Reply reply;
    try {
      reply = copyOf(memory, offset, lengthBytes);
    } catch (RuntimeException e) {
      request.reply.completeExceptionally(
          new RequestFailedException(
              RequestFailedException.Cause.NO_BUFFER,
              "a reply of " + lengthBytes + " bytes came, but: " + e.getMessage()));
      return;
    }
    if (!request.reply.complete(reply)) {
      reply.close(); // the requester cancelled its stage
    }
  }

  private Reply copyOf(MemorySegment memory, long offset, int lengthBytes) {
    RegisteredBuffer buffer = node.pool().allocate(lengthBytes);
    MemorySegment.copy(memory, offset, buffer.segment(), 0, lengthBytes);
    return new Reply(buffer);
  }

  /** Waits for the reply until the deadline; the waiting thread polls where nobody else does. */
  Reply await(Pending request) {
    try {
      while (!request.reply.isDone()) {
        long leftNs = request.deadlineNs - node.clockNs();
        if (leftNs <= 0 && take(request.id) != null) {
          throw deadlinePassed();
        }
        node.awaitReply(request.reply, leftNs);
      }
    } catch (RuntimeException e) {
      // Interrupted, for example. A reply that is just coming is closed by whoever loses this race.
      take(request.id);
      if (!request.reply.cancel(false) && !request.reply.isCompletedExceptionally()) {
        request.reply.join().close();
      }
      throw e;
    }
    return result(request.reply);
  }

  int size() {
    return byId.size();
  }

  void expire(long nowNs) {
    if (byId.isEmpty()) {
      return;
    }
    for (Iterator<Pending> all = byId.values().iterator(); all.hasNext(); ) {
      Pending request = all.next();
      if (nowNs - request.deadlineNs >= 0 && byId.remove(request.id) != null) {
        request.reply.completeExceptionally(deadlinePassed());
      }
    }
  }

  void failAll(EndpointFailure reason) {
    ended = reason;
    for (Pending request : byId.values()) {
      if (byId.remove(request.id) != null) {
        request.reply.completeExceptionally(disconnected(reason));
      }
    }
  }

  /** Returns the reply of a finished request, or throws what ended it. */
  private static Reply result(CompletableFuture<Reply> reply) {
    try {
      return reply.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RequestFailedException failed) {
        throw failed;
      }
      throw new Rdma4jException("the request failed: " + e.getCause(), e);
    }
  }

  private static RequestFailedException deadlinePassed() {
    return new RequestFailedException(
        RequestFailedException.Cause.DEADLINE,
        "no reply before the deadline; the peer may still have handled the request");
  }

  private static RequestFailedException disconnected(EndpointFailure reason) {
    return new RequestFailedException(
        RequestFailedException.Cause.DISCONNECTED,
        "the connection ended before the reply came: " + reason.message());
  }
}
