package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.ReceiveList;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The receive slots of an endpoint and their way back to the device.
 *
 * <p>There are {@code window} receives for data messages and {@link #CONTROL_RECEIVES} more for
 * messages that need no credit. Receives are posted again in batches. A credit is owed only once
 * the receive it stands for is posted, so the peer never sends into nothing.
 *
 * <p>Why three more are enough: the peer sends a credit message only when it owes at least half a
 * window, and it can owe at most one window beyond what this side has taken note of. This side
 * posts the receive of a credit message again before it takes note of its credits. So at most two
 * are under way, plus one goodbye.
 *
 * <p>Polling thread only, except {@link #reposted()}.
 */
final class ReceiveSide implements AutoCloseable {
  static final int CONTROL_RECEIVES = 3;
  private static final int MAX_BATCH = 16;
  private static final VarHandle REPOSTED;

  static {
    try {
      REPOSTED = MethodHandles.lookup().findVarHandle(ReceiveSide.class, "reposted", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final QueuePair queuePair;
  private final SlotMemory slots;
  private final ReceiveList batch;
  private final int count;
  private int dataInBatch;
  private int withDevice;

  @SuppressWarnings("unused") // through REPOSTED
  private long reposted;

  ReceiveSide(QueuePair queuePair, SlotMemory slots, int window) {
    this.queuePair = queuePair;
    this.slots = slots;
    count = window + CONTROL_RECEIVES;
    // A quarter of the window at most: the rest alone must make the peer's half window of credits.
    batch = new ReceiveList(Math.clamp(window / 4, 1, MAX_BATCH), 1);
  }

  /** Posts every slot, before the connection is made. */
  void postAll() {
    for (int slot = 0; slot < count; slot++) {
      add(slot);
      flushWhenFull();
    }
    flush();
  }

  /** Notes that the device has given a slot back. */
  void taken() {
    withDevice--;
  }

  /** Returns how many receives the device still has. */
  int withDevice() {
    return withDevice;
  }

  /** Gives back the slot of a data message; the device gets it with the next batch. */
  void recycleData(int slot) {
    add(slot);
    dataInBatch++;
    flushWhenFull();
  }

  /** Gives back the slot of a control message at once. */
  void recycleControl(int slot) {
    add(slot);
    flush();
  }

  private void add(int slot) {
    batch
        .add(WorkRequestId.ofReceive(slot))
        .scatter(slots.address(slots.receiveOffset(slot)), slots.slotBytes(), slots.lkey());
  }

  private void flushWhenFull() {
    if (batch.size() == batch.capacity()) {
      flush();
    }
  }

  /**
   * Posts what is waiting. A batch that is taken in part goes on with the request that was refused;
   * since there is room for every slot, a post that takes none is a failure and not a full queue.
   */
  void flush() {
    while (batch.size() > 0) {
      int size = batch.size();
      int taken = queuePair.postReceive(batch);
      withDevice += taken;
      if (taken == 0) {
        throw new PostRefusedException("ibv_post_recv", batch.errno(), withDevice, count);
      }
      if (taken == size) {
        batch.clear();
      } else {
        batch.dropFirst(taken);
      }
    }
    if (dataInBatch > 0) {
      REPOSTED.setRelease(this, reposted + dataInBatch);
      dataInBatch = 0;
    }
  }

  /** Returns the data messages whose receive has been posted again: the credits given so far. */
  long reposted() {
    return (long) REPOSTED.getAcquire(this);
  }

  @Override
  public void close() {
    batch.close();
  }
}
