package io.rdma4j.verbs;

/**
 * A reliable-connected queue pair.
 *
 * <p>One thread at a time posts sends, one posts receives. Owned by its {@link ProtectionDomain},
 * or by the {@link CmId} it was created on.
 */
public interface QueuePair extends AutoCloseable {
  /** Returns the queue pair number. */
  int number();

  /** Returns the largest message the device takes inline, which may be less than was wished. */
  int maxInlineBytes();

  /** Asks the device for the present state (ibv_query_qp(3)). */
  QueuePairState state();

  /** Asks the device what the queue pair was connected with (ibv_query_qp(3)). */
  ConnectedPath path();

  /** RESET to INIT on a port, with the rights peers get over this queue pair. */
  void toInit(int port, int access);

  /** INIT to RTR: ready to receive from the given peer. */
  void toReadyToReceive(RemotePath path);

  /** RTR to RTS: ready to send, with the retry behaviour given in {@link RemotePath}. */
  void toReadyToSend(RemotePath path);

  /** Any state to ERR: everything posted completes with a flush error. */
  void toError();

  /**
   * Posts the list with one doorbell (ibv_post_send(3)).
   *
   * @return how many were taken; fewer than {@code list.size()} means that the next one was refused
   *     with {@code list.errno()} and none after it was looked at
   */
  int postSend(SendList list);

  /** Posts receives; the result is that of {@link #postSend}. */
  int postReceive(ReceiveList list);

  @Override
  void close();
}
