package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.EndpointFailure;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
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

  private final ConcurrentHashMap<Long, Pending> byId = new ConcurrentHashMap<>();
  private volatile @Nullable EndpointFailure ended;

  Pending add(long id, long deadlineNs) {
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
  static Reply result(CompletableFuture<Reply> reply) {
    try {
      return reply.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RequestFailedException failed) {
        throw failed;
      }
      throw new Rdma4jException("the request failed: " + e.getCause(), e);
    }
  }

  static RequestFailedException deadlinePassed() {
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
