package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.ReceiveList;

/**
 * The receives that an endpoint's peer may send into, and the credits that tell it how many.
 *
 * <p>There are {@link #CONTROL_RECEIVES} receives for messages that need no credit, and others for
 * data messages. Receives are posted again in batches. A credit is owed only once the receive it
 * stands for is posted, so the peer never sends into nothing.
 *
 * <p>Polling thread only, except {@link #credits()}.
 */
abstract sealed class ReceiveSide implements AutoCloseable permits OwnReceives, SharedReceiveSide {
  /** Two credit messages and a goodbye: {@link #owesMessage} lets no more be under way. */
  static final int CONTROL_RECEIVES = 3;

  static final int MAX_BATCH = 16;

  final ReceiveSlots slots;

  ReceiveSide(ReceiveSlots slots) {
    this.slots = slots;
  }

  ReceiveSlots slots() {
    return slots;
  }

  /** Notes that the device has given a receive back. */
  abstract void taken();

  /** Returns whether the device has given back all receives it took for this endpoint. */
  abstract boolean isDrained();

  /** Returns how many receives the peer has at the device. */
  abstract int withDevice();

  /** Gives back the slot of a data message; the device gets it with the next batch. */
  abstract void recycleData(int slot);

  /** Gives back the slot of a control message at once. */
  abstract void recycleControl(int slot);

  /** Gives back a slot of an endpoint that receives no more. */
  abstract void giveUp(int slot);

  /**
   * Posts what is waiting.
   *
   * @throws PostRefusedException when the device takes none of it
   */
  abstract void flush();

  /**
   * Returns the credits given so far, beyond the window that a peer starts with by the protocol;
   * negative while it has less than that. Any thread.
   */
  abstract long credits();

  /**
   * Returns whether a message of its own has to tell the peer of its credits.
   *
   * @param told credits that the peer was told of
   */
  abstract boolean owesMessage(long told);

  /**
   * Notes that such a message is on its way.
   *
   * @param toldBefore credits that the peer was told of before
   */
  void messageSent(long toldBefore) {}

  /** Returns whether other endpoints use the same receives. */
  boolean areShared() {
    return false;
  }

  /** The peer may send from now on, so receives may be taken. */
  void connected() {}

  /** The device takes no more receives for this endpoint. Any thread. */
  void lastReceiveReached() {}

  /** Returns whether an event of this object concerns the receives. Any thread. */
  boolean uses(AutoCloseable object) {
    return false;
  }

  /** Posts a list of which the device may take a part at a time; returns when all are taken. */
  interface Posting {
    int post(ReceiveList list);
  }

  /**
   * Posts all of a list. A list that is taken in part goes on with the request that was refused;
   * since there is room for every receive, a post that takes none is a failure and not a full
   * queue.
   *
   * @return how many the device took; the list holds the rest, which it refused
   */
  static int postAll(Posting queue, ReceiveList list) {
    int posted = 0;
    while (list.size() > 0) {
      int size = list.size();
      int taken = queue.post(list);
      posted += taken;
      if (taken == 0) {
        break;
      }
      if (taken == size) {
        list.clear();
      } else {
        list.dropFirst(taken);
      }
    }
    return posted;
  }

  @Override
  public abstract void close();
}
