package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;

/**
 * The completions of an endpoint: taken from the device in batches, handed out one by one, and
 * announced by an event when the queue is empty and somebody wants to sleep.
 *
 * <p>Polling thread only. Owns the batch; queue and channel belong to whoever made them.
 */
final class CompletionFeed implements AutoCloseable {
  private static final int BATCH = 32;

  private final CompletionQueue queue;
  private final CompletionChannel channel;
  private final Arrivals arrivals;
  private final Completions batch = new Completions(BATCH);

  /** The queue announces its next completion; the set-up has asked for that. */
  private boolean armed = true;

  private int count;
  private int next;

  /**
   * Starts with an armed queue.
   *
   * @param arrivals hears early of messages that will be taken soon
   */
  CompletionFeed(CompletionQueue queue, CompletionChannel channel, Arrivals arrivals) {
    this.queue = queue;
    this.channel = channel;
    this.arrivals = arrivals;
  }

  /** Returns false when the queue is empty. */
  boolean hasNext() {
    return next < count || refill();
  }

  private boolean refill() {
    next = 0;
    count = 0;
    count = queue.poll(batch);
    for (int i = 1; i < count; i++) {
      if (batch.status(i) == Completions.SUCCESS && WorkRequestId.isReceive(batch.wrId(i))) {
        arrivals.touch(WorkRequestId.slot(batch.wrId(i)));
      }
    }
    return count > 0;
  }

  /**
   * Returns whether it pays to look at once: not when the device has just shown all it had, which
   * was less than a batch.
   */
  boolean mayHaveNext() {
    return next < count || count == BATCH;
  }

  /** Returns whether the next completion is one of a request that was carried out. */
  boolean nextSucceeded() {
    return batch.status(next) == Completions.SUCCESS;
  }

  /** Takes the next completion and returns its place in {@link #batch}. */
  int take() {
    return next++;
  }

  /** Returns the completions that were taken from the device together. */
  Completions batch() {
    return batch;
  }

  @SuppressWarnings("ReferenceEquality") // an event names the very object
  boolean isOf(AutoCloseable object) {
    return object == queue;
  }

  /** Returns the descriptor on which events show, -1 when there is none. */
  int descriptor() {
    return channel.descriptor();
  }

  /**
   * Asks for an event at the next completion, then looks once more: one that came before the asking
   * raises no event.
   *
   * @return whether there is a completion already
   */
  boolean armAndLook() {
    while (armed && channel.await(0)) {
      armed = false; // an event of the past, and there may be more than one
    }
    if (!armed) {
      queue.requestNotification(false);
      armed = true;
    }
    return hasNext();
  }

  @Override
  public void close() {
    batch.close();
  }
}
