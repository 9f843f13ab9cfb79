package io.rdma4j.verbs;

/**
 * A receive queue that several queue pairs draw from.
 *
 * <p>One thread at a time posts.
 */
public interface SharedReceiveQueue extends AutoCloseable {
  /** Posts receives; the result is that of {@link QueuePair#postSend}. */
  int postReceive(ReceiveList list);

  @Override
  void close();
}
