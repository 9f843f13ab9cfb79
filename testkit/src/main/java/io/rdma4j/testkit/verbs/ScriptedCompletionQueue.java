package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue of a scripted device. A test may hold its completions back and release them in
 * any order.
 */
public final class ScriptedCompletionQueue implements CompletionQueue {
  private final ScriptedDevice device;
  private final Wire wire;
  private final Completion[] ring;
  private final @Nullable ScriptedCompletionChannel channel;
  private final List<Completion> held = new ArrayList<>();
  private final Completion scratch = new Completion();
  private boolean holding;
  private boolean armed;
  private boolean overrun;
  private boolean closed;
  private long pushed;
  private long polled;
  private int users;

  ScriptedCompletionQueue(
      ScriptedDevice device, int entries, @Nullable ScriptedCompletionChannel channel) {
    this.device = device;
    this.wire = device.wire;
    this.channel = channel;
    ring = new Completion[entries];
    for (int i = 0; i < entries; i++) {
      ring[i] = new Completion();
    }
    holding = wire.stepped;
    wire.ledger.created(Ledger.Kind.COMPLETION_QUEUE);
  }

  /** Keeps completions back from now on. */
  public void hold() {
    synchronized (wire) {
      holding = true;
    }
  }

  /** Returns how many completions are held back. */
  public int heldCount() {
    synchronized (wire) {
      return held.size();
    }
  }

  /** Lets one held completion go: the one at {@code index} in the order of their making. */
  public void release(int index) {
    synchronized (wire) {
      letGo(held.remove(index));
    }
  }

  /** Lets one held completion go with another status than the device gave it. */
  public void release(int index, int status, int vendorError) {
    synchronized (wire) {
      Completion completion = held.remove(index);
      completion.status = status;
      completion.vendorError = vendorError;
      letGo(completion);
    }
  }

  /**
   * Returns how many held completions may go next: the oldest of each send queue and each receive
   * queue. Between queues a device owes no order.
   */
  public int releasable() {
    synchronized (wire) {
      int count = 0;
      for (int i = 0; i < held.size(); i++) {
        count += isOldestOfItsQueue(i) ? 1 : 0;
      }
      return count;
    }
  }

  /** Lets one of the {@link #releasable()} completions go. */
  public void releaseNext(int which) {
    synchronized (wire) {
      int left = which;
      for (int i = 0; i < held.size(); i++) {
        if (isOldestOfItsQueue(i) && left-- == 0) {
          letGo(held.remove(i));
          return;
        }
      }
      throw new IndexOutOfBoundsException(which);
    }
  }

  private boolean isOldestOfItsQueue(int index) {
    Completion candidate = held.get(index);
    for (int i = 0; i < index; i++) {
      Completion older = held.get(i);
      if (older.queuePair == candidate.queuePair && older.isReceive() == candidate.isReceive()) {
        return false;
      }
    }
    return true;
  }

  /** Lets everything go and holds nothing back any more. */
  public void releaseAll() {
    synchronized (wire) {
      holding = false;
      while (!held.isEmpty()) {
        letGo(held.removeFirst());
      }
    }
  }

  /** Adds a completion that no request of the test caused. */
  public void inject(int queuePairNumber, long wrId, int status, int vendorError) {
    synchronized (wire) {
      Completion completion = new Completion();
      completion.queuePair = wire.queuePair(queuePairNumber);
      completion.queuePairNumber = queuePairNumber;
      completion.wrId = wrId;
      completion.status = status;
      completion.vendorError = vendorError;
      completion.sendSequence = 0;
      enqueue(completion);
    }
  }

  /** Returns the entry to fill for the next {@link #push()}. */
  Completion scratch() {
    return scratch;
  }

  /** Adds the scratch entry. */
  void push() {
    if (holding) {
      Completion copy = new Completion();
      copy.copyFrom(scratch);
      held.add(copy);
    } else {
      enqueue(scratch);
    }
  }

  private void letGo(Completion completion) {
    ScriptedQueuePair queuePair = completion.queuePair;
    enqueue(completion);
    if (queuePair != null) {
      queuePair.tellLastReceive();
    }
  }

  private void enqueue(Completion completion) {
    if (pushed - polled == ring.length) {
      if (!overrun) {
        overrun = true;
        device.raise(AsyncEvent.Type.CQ_ERR, this, 0);
      }
      return;
    }
    ring[(int) (pushed++ % ring.length)].copyFrom(completion);
    if (armed && channel != null) {
      armed = false;
      channel.signal();
    }
  }

  @Override
  public int capacity() {
    return ring.length;
  }

  @Override
  public int poll(Completions batch) {
    synchronized (wire) {
      if (closed) {
        throw new IllegalStateException("completion queue is closed");
      }
      int errno = wire.faults.errnoOf("ibv_poll_cq");
      if (errno != 0 || overrun) {
        throw Faults.failure(
            "ibv_poll_cq", errno == 0 ? Errno.EIO : errno, overrun ? "overrun" : "refused");
      }
      int count = 0;
      while (count < batch.capacity() && polled < pushed) {
        Completion completion = ring[(int) (polled++ % ring.length)];
        ScriptedQueuePair queuePair = completion.queuePair;
        if (queuePair != null) {
          queuePair.retire(completion.sendSequence);
          completion.queuePair = null;
          completion.writeTo(batch, count++);
        }
      }
      return count;
    }
  }

  @Override
  public void requestNotification(boolean solicitedOnly) {
    synchronized (wire) {
      wire.faults.enter("ibv_req_notify_cq", this);
      armed = true;
    }
  }

  @Override
  public boolean moderate(int completions, int periodUs) {
    synchronized (wire) {
      int errno = wire.faults.errnoOf("ibv_modify_cq");
      if (errno != 0 && errno != Errno.EOPNOTSUPP) {
        throw Faults.failure("ibv_modify_cq", errno, "refused by the script");
      }
      return errno == 0;
    }
  }

  void attach() {
    users++;
  }

  /** Drops the completions of a queue pair that is destroyed. */
  void detach(ScriptedQueuePair queuePair) {
    users--;
    for (long i = polled; i < pushed; i++) {
      drop(ring[(int) (i % ring.length)], queuePair);
    }
    held.forEach(completion -> drop(completion, queuePair));
    held.removeIf(completion -> completion.queuePair == null);
  }

  private static void drop(Completion completion, ScriptedQueuePair queuePair) {
    if (completion.queuePair == queuePair) {
      queuePair.retire(completion.sendSequence);
      completion.queuePair = null;
    }
  }

  /** Returns whether a completion of a receive of this queue pair is held back. */
  boolean holdsReceiveOf(ScriptedQueuePair queuePair) {
    for (Completion completion : held) {
      if (completion.queuePair == queuePair && completion.isReceive()) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void close() {
    synchronized (wire) {
      if (closed) {
        return;
      }
      if (users > 0) {
        throw Faults.failure("ibv_destroy_cq", Errno.EBUSY, users + " queue pairs use it");
      }
      closed = true;
      device.forget(this);
      wire.ledger.destroyed(Ledger.Kind.COMPLETION_QUEUE);
    }
  }
}
