package io.rdma4j.verbs;

/**
 * A completion queue.
 *
 * <p>Polled by one thread at a time.
 */
public interface CompletionQueue extends AutoCloseable {
  /** Returns the entries the device gave, at least those asked for. */
  int capacity();

  /**
   * Moves completions into the batch, oldest first, without blocking or allocating.
   *
   * @return how many, 0 when there are none
   * @throws io.rdma4j.VerbsException when the queue itself has failed
   */
  int poll(Completions batch);

  /**
   * Asks for one event on the channel at the next completion. Poll once more after this call: a
   * completion that was there before raises no event (ibv_req_notify_cq(3)).
   */
  void requestNotification(boolean solicitedOnly);

  /**
   * Lets one event stand for several completions (ibv_modify_cq(3)). Polling is not affected.
   *
   * @param completions up to 65535; an event is raised when so many have come
   * @param periodUs up to 65535 microseconds; an event is raised at the latest so long after the
   *     first of them
   * @return false when the device does not offer it, as most do not: events stay as they are
   */
  boolean moderate(int completions, int periodUs);

  @Override
  void close();
}
