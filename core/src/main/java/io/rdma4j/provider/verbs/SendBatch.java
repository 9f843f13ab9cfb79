package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.SendList;

/**
 * Send requests that wait for one doorbell, linked in the order of their slots.
 *
 * <p>Signalling: a completion stands for all requests before it, since a send queue completes in
 * order. So one request of a batch asks for a completion at most, its last one: when an owner waits
 * for memory that the batch sends, or when {@code signalInterval} requests have gone out without.
 * The interval and the batch together are below half of the queue, so whenever the queue is full a
 * completion is under way, and memory that has an owner never waits for later traffic.
 *
 * <p>Holder of the send lock only. Adding and ringing allocate nothing.
 */
final class SendBatch implements AutoCloseable {
  private static final int GATHER_ENTRIES = 2;
  private static final int MAX_SIGNAL_INTERVAL = 32;

  private final QueuePair queuePair;
  private final SendList requests;
  private final BatchTuner tuner;
  private final int signalInterval;
  private int unsignaled;
  private boolean ownersWait;

  /**
   * Starts empty.
   *
   * @param slotCount depth of the send queue
   * @param tuner says how many requests go out with one doorbell
   */
  SendBatch(QueuePair queuePair, int slotCount, BatchTuner tuner) {
    this.queuePair = queuePair;
    this.tuner = tuner;
    // One more: a control message may join a batch that is about to go.
    requests = new SendList(tuner.mostRequests() + 1, GATHER_ENTRIES);
    signalInterval = Math.clamp(slotCount / 4, 1, MAX_SIGNAL_INTERVAL);
  }

  /** Returns the most requests of one doorbell for a send queue of this depth. */
  static int mostRequests(int slotCount) {
    return Math.max(1, slotCount / 4);
  }

  /** Starts a request; its gather entries follow. */
  SendList add(int opcode, long sequence, int flags, boolean ownerWaits) {
    if (requests.size() == 0) {
      tuner.begin();
    }
    ownersWait |= ownerWaits;
    return requests.add(WorkRequestId.ofSend(sequence), opcode, flags);
  }

  int size() {
    return requests.size();
  }

  /** Returns whether the doorbell is due whatever follows. */
  boolean isFull() {
    return requests.size() >= tuner.limit();
  }

  /** Takes back the request added last, which was not posted. */
  void dropLast() {
    requests.dropLast();
  }

  int errno() {
    return requests.errno();
  }

  /**
   * Has the device tell when all that the next doorbell announces is done: somebody waits for it.
   */
  void signalNext() {
    ownersWait = true;
  }

  /**
   * Posts everything. A list that is taken in part goes on with the request that was refused; since
   * there is a place for every request, a post that takes none is a failure and not a full queue.
   *
   * @return how many requests the device refused for good, 0 when all are posted
   */
  int ring() {
    unsignaled += requests.size();
    if (ownersWait || unsignaled >= signalInterval) {
      requests.signalLast();
      unsignaled = 0;
      ownersWait = false;
    }
    int size = requests.size();
    int taken = queuePair.postSend(requests);
    if (taken != size) {
      return resume(taken);
    }
    requests.clear();
    tuner.posted(size);
    return 0;
  }

  private int resume(int takenAtFirst) {
    int taken = takenAtFirst;
    while (taken > 0 && taken < requests.size()) {
      requests.dropFirst(taken);
      taken = queuePair.postSend(requests);
    }
    if (taken > 0) {
      requests.clear();
    }
    return requests.size();
  }

  @Override
  public void close() {
    requests.close();
  }
}
