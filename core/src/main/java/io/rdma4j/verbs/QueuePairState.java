package io.rdma4j.verbs;

/** States of a queue pair, in the order of enum ibv_qp_state. */
public enum QueuePairState {
  /** Fresh. */
  RESET,
  /** Receives may be posted. */
  INIT,
  /** Receives. */
  RTR,
  /** Receives and sends. */
  RTS,
  /** Send queue draining. */
  SQD,
  /** Send queue in error. */
  SQE,
  /** Everything posted is flushed. */
  ERR;

  private static final QueuePairState[] VALUES = values();

  /** Maps the C number. */
  public static QueuePairState of(int rawState) {
    return VALUES[rawState];
  }
}
