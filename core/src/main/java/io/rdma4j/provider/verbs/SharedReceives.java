package io.rdma4j.provider.verbs;

import io.rdma4j.VerbsException;
import io.rdma4j.concurrent.ShortLock;
import io.rdma4j.provider.ReceiveMemory;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SharedReceiveQueue;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The receives that all endpoints of a device draw from, on one shared receive queue.
 *
 * <p>A receive is either promised to a peer, or on its way back from one, or available:
 *
 * <pre>
 *  made = available + sum over endpoints (promised + taken, not posted again yet)
 * </pre>
 *
 * <p>A peer is promised a receive before it may send into it, so a message always finds one, and
 * the device never has to refuse for want of receives. Each peer has {@link #leastCredits} for data
 * and {@link ReceiveSide#CONTROL_RECEIVES} for control messages at any time. More goes to those who
 * send, as long as half of all receives stay within reach of peers yet to come.
 *
 * <p>Receives are made as they are needed: by a set-up, which may wait for memory, and by {@link
 * #refill}, when few are available. Pollers never wait here.
 *
 * <p>Safe for use by several threads. Owned by the {@link DeviceContext}, which closes it behind
 * the last endpoint.
 */
final class SharedReceives implements AutoCloseable {
  private static final Logger LOG = System.getLogger(SharedReceives.class.getName());

  /** Data messages that a peer may send at any time. */
  private static final int LEAST_CREDITS = 4;

  /** Receives made ahead when few are available. */
  private static final int REFILL = 32;

  /** What counts as few. */
  private static final int LOW_WATERMARK = 16;

  private final DeviceContext context;
  private final SharedReceiveQueue queue;
  private final ReceiveSlots slots;
  private final ReceiveList made;
  private final ReceiveSide.Posting posting;
  private final int most;

  /** For whoever makes receives; taken before {@link #lock}. */
  private final ReentrantLock making = new ReentrantLock();

  /** For posting and for the counts. */
  private final ShortLock lock = new ShortLock();

  // Written under the lock.
  private int madeCount;
  private int available;
  private int endpoints;
  private boolean closed;
  private volatile boolean scarce;

  /**
   * Makes an empty queue.
   *
   * @param most receives at most
   * @throws VerbsException when the device refuses
   */
  SharedReceives(DeviceContext context, ReceiveMemory memory, int most) {
    this.context = context;
    this.most = most;
    boolean scatters = context.device().attributes().maxSge() > 1;
    slots =
        new ReceiveSlots(
            memory, context, context.domain(), most, memory.maxMessageBytes(), scatters);
    try {
      queue = context.domain().createSharedReceiveQueue(most, slots.scatterEntries());
    } catch (RuntimeException e) {
      slots.close();
      throw e;
    }
    posting = queue::postReceive;
    made = new ReceiveList(1, slots.scatterEntries());
    arm();
  }

  /** Returns how many data messages a peer may send at any time. */
  static int leastCredits(int window) {
    return Math.min(window, LEAST_CREDITS);
  }

  ReceiveSlots slots() {
    return slots;
  }

  SharedReceiveQueue queue() {
    return queue;
  }

  /**
   * Promises a new peer its least; may wait for memory.
   *
   * @throws IOException when there are no more receives to promise
   */
  void join(int window) throws IOException {
    int least = leastCredits(window) + ReceiveSide.CONTROL_RECEIVES;
    making.lock();
    try {
      while (!tryPromise(least)) {
        if (madeCount == most) {
          throw new IOException(
              String.format(
                  "%d of %d shared receives are taken by %d peers, and another one needs %d: raise"
                      + " rdma4j.verbs.sharedReceives",
                  most - available, most, endpoints, least));
        }
        slots.fill(madeCount);
        postMade();
      }
    } finally {
      making.unlock();
    }
  }

  private boolean tryPromise(int least) {
    lock.lock();
    try {
      if (available < least) {
        return false;
      }
      available -= least;
      endpoints++;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Posts the receive whose slot was just given its block. */
  private void postMade() {
    made.clear();
    slots.addTo(made, madeCount);
    lock.lock();
    try {
      if (ReceiveSide.postAll(posting, made) == 0) {
        throw refused(made);
      }
      madeCount++;
      available++;
    } finally {
      lock.unlock();
    }
  }

  private PostRefusedException refused(ReceiveList list) {
    return new PostRefusedException(
        "ibv_post_srq_recv", list.errno(), madeCount - available, slots.count());
  }

  /**
   * Posts what comes back, and promises others in its place.
   *
   * @param wanted receives that shall be promised
   * @return receives promised; as many as were posted, at least, if as many were wanted
   */
  int exchange(ReceiveList list, int wanted) {
    lock.lock();
    try {
      int back = ReceiveSide.postAll(posting, list);
      available += back;
      if (list.size() > 0) {
        throw refused(list);
      }
      int promised = Math.min(wanted, Math.max(back, withinReach()));
      available -= promised;
      if (available < LOW_WATERMARK && madeCount < most) {
        scarce = true;
      }
      return promised;
    } finally {
      lock.unlock();
    }
  }

  /** Returns what may be promised beyond the least; half of all are for peers yet to come. */
  private int withinReach() {
    int least = LEAST_CREDITS + ReceiveSide.CONTROL_RECEIVES;
    int kept = Math.max(0, most / 2 - endpoints * least);
    return Math.min(available, available + most - madeCount - kept);
  }

  /** Returns the credits that each of the present peers could have. A glance. */
  int share() {
    int peers = Math.max(1, endpoints);
    return most / peers - ReceiveSide.CONTROL_RECEIVES;
  }

  /** Returns whether receives could be promised beyond what came back. A glance. */
  boolean hasSome() {
    return withinReach() > 0;
  }

  /**
   * Ends the share of an endpoint whose queue pair is destroyed and whose slots are all back.
   *
   * @param promised receives promised to its peer that no message has taken
   * @param certain whether the device has said that the queue pair takes no more; if not, what was
   *     promised may be lost with it, and is written off until this queue is closed
   */
  void leave(int promised, boolean certain) {
    lock.lock();
    try {
      available += certain ? promised : 0;
      endpoints--;
    } finally {
      lock.unlock();
    }
    if (!certain) {
      LOG.log(
          Level.WARNING,
          "device {0} did not say in time that a queue pair takes no more shared receives; {1} of"
              + " {2} are written off until the last connection over it is closed",
          context.name(),
          promised,
          most);
    }
  }

  /**
   * Makes receives when few are available, of memory that is free at this moment. By whoever looks
   * for events of the device, maybe while the last endpoint closes this.
   */
  void refill() {
    if (!scarce || !making.tryLock()) {
      return;
    }
    try {
      scarce = false;
      for (int i = 0; i < REFILL && madeCount < most && !closed; i++) {
        if (!slots.fillFromFree(madeCount)) {
          scarce = true; // the pool grows meanwhile, if it may
          return;
        }
        postMade();
      }
    } catch (PostRefusedException e) {
      LOG.log(
          Level.WARNING, "device " + context.name() + " takes no more shared receives for now", e);
    } finally {
      making.unlock();
    }
  }

  /** The device has fewer receives left than the low watermark. */
  void limitReached() {
    scarce = true;
    refill();
    if (madeCount < most) {
      arm();
    }
  }

  /** Asks for an event at the low watermark; without it {@link #exchange} alone notices. */
  private void arm() {
    lock.lock();
    try {
      if (!closed) {
        queue.arm(LOW_WATERMARK);
      }
    } catch (VerbsException e) {
      LOG.log(Level.DEBUG, "no event of the shared receive queue", e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Gives everything back; all queue pairs that use it must be destroyed. Where the device refuses
   * to destroy the queue, the blocks stay on lease.
   */
  @Override
  public void close() {
    making.lock();
    try (made) {
      markClosed();
      queue.close();
      slots.close();
    } finally {
      making.unlock();
    }
  }

  /** With both locks, so that whoever has one of them may look. */
  private void markClosed() {
    lock.lock();
    try {
      closed = true;
    } finally {
      lock.unlock();
    }
  }
}
