package io.rdma4j.verbs;

/**
 * A receive queue that several queue pairs draw from.
 *
 * <p>One thread at a time posts.
 */
public interface SharedReceiveQueue extends AutoCloseable {
  /** Posts receives; the result is that of {@link QueuePair#postSend}. */
  int postReceive(ReceiveList list);

  /**
   * Asks for one {@link AsyncEvent.Type#SRQ_LIMIT_REACHED} when fewer receives than this are left
   * (ibv_modify_srq(3), IBV_SRQ_LIMIT).
   *
   * @param limit 0 for no event
   * @throws io.rdma4j.VerbsException when the device refuses
   */
  void arm(int limit);

  @Override
  void close();
}
