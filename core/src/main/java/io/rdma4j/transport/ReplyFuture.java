package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The stage of a request. Cancelling it, or failing it as {@code orTimeout} does, gives the request
 * up, and the peer is told.
 */
final class ReplyFuture extends CompletableFuture<Reply> implements ReplyHandler {
  private final Requester requester;
  private final RegisteredBufferPool pool;

  /** Id of the request, 0 before it was sent. */
  private volatile long requestId;

  ReplyFuture(Requester requester, RegisteredBufferPool pool) {
    this.requester = requester;
    this.pool = pool;
  }

  /** Notes what became of the send. */
  void sent(long result, @Nullable RequestFailedException refusal) {
    if (result < 0 && refusal != null) {
      super.completeExceptionally(refusal);
    } else {
      requestId = result;
      if (isDone()) {
        giveUp(); // by somebody else, before the id was known
      }
    }
  }

  @Override
  public void onReply(long context, Message message) {
    Reply reply = new Reply(pool);
    RequestFailedException failure = null;
    try {
      if (!reply.fill(message)) {
        failure =
            new RequestFailedException(Cause.NO_BUFFER, Reply.noBuffer(message.lengthBytes()));
      }
    } catch (RuntimeException e) {
      failure =
          new RequestFailedException(
              Cause.NO_BUFFER, Reply.noBuffer(message.lengthBytes()) + ": " + e.getMessage());
    }
    if (failure != null) {
      super.completeExceptionally(failure);
    } else if (!complete(reply)) {
      reply.close(); // the requester has ended its stage
    }
  }

  @Override
  public void onFailure(long context, Cause cause, String message) {
    super.completeExceptionally(new RequestFailedException(cause, message));
  }

  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    boolean cancelled = super.cancel(mayInterruptIfRunning);
    giveUp();
    return cancelled;
  }

  @Override
  public boolean completeExceptionally(Throwable failure) {
    boolean failed = super.completeExceptionally(failure);
    giveUp();
    return failed;
  }

  private void giveUp() {
    long id = requestId;
    if (id > SendResult.OK) {
      requester.cancel(id);
    }
  }
}
