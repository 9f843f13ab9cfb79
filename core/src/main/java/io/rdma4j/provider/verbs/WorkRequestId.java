package io.rdma4j.provider.verbs;

/**
 * The wr_id of a work request: which queue it belongs to, and its number there. Needed because the
 * opcode of a failed completion is undefined.
 *
 * <pre>
 *  63        62       61                                  0
 *  0         receive  sequence number of a send, or slot of a receive
 * </pre>
 */
final class WorkRequestId {
  private static final long RECEIVE = 1L << 62;

  private WorkRequestId() {}

  static long ofSend(long sequence) {
    return sequence;
  }

  static long ofReceive(int slot) {
    return RECEIVE | slot;
  }

  static boolean isReceive(long id) {
    return (id & RECEIVE) != 0;
  }

  /** Returns the slot of a receive. */
  static int slot(long id) {
    return (int) id;
  }

  /** Returns the sequence number of a send. */
  static long sequence(long id) {
    return id;
  }
}
