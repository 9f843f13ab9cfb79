package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.ReceiveList;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Receives of a queue pair's own: {@code window} for data messages and those for control messages,
 * all of them posted before the connection is made.
 *
 * <p>Why three for control messages are enough: the peer sends a credit message only when it owes
 * at least half a window, and it can owe at most one window beyond what this side has taken note
 * of. This side posts the receive of a credit message again before it takes note of its credits. So
 * at most two are under way, plus one goodbye.
 */
final class OwnReceives extends ReceiveSide {
  private static final VarHandle REPOSTED;

  static {
    try {
      REPOSTED = MethodHandles.lookup().findVarHandle(OwnReceives.class, "reposted", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final ReceiveList batch;
  private final Posting queue;
  private final int messageThreshold;
  private int dataInBatch;
  private int withDevice;

  @SuppressWarnings("unused") // through REPOSTED
  private long reposted;

  OwnReceives(QueuePair queuePair, ReceiveSlots slots, int window) {
    super(slots);
    queue = queuePair::postReceive;
    messageThreshold = (window + 1) / 2;
    // A quarter of the window at most: the rest alone must make the peer's half window of credits.
    batch = new ReceiveList(Math.clamp(window / 4, 1, MAX_BATCH), slots.scatterEntries());
  }

  /** Gives every slot its block and posts it, before the connection is made. */
  void postFirst() throws IOException {
    for (int slot = 0; slot < slots.count(); slot++) {
      slots.fill(slot);
      add(slot);
      flushWhenFull();
    }
    flush();
  }

  @Override
  void taken() {
    withDevice--;
  }

  @Override
  int withDevice() {
    return withDevice;
  }

  @Override
  boolean isDrained() {
    return withDevice == 0;
  }

  @Override
  void recycleData(int slot) {
    add(slot);
    dataInBatch++;
    flushWhenFull();
  }

  @Override
  void recycleControl(int slot) {
    add(slot);
    flush();
  }

  /** It stays here until the queue pair is destroyed. */
  @Override
  void giveUp(int slot) {}

  private void add(int slot) {
    slots.addTo(batch, slot);
  }

  private void flushWhenFull() {
    if (batch.size() == batch.capacity()) {
      flush();
    }
  }

  @Override
  void flush() {
    if (batch.size() > 0) {
      post();
    }
  }

  private void post() {
    withDevice += postAll(queue, batch);
    if (batch.size() > 0) {
      throw new PostRefusedException("ibv_post_recv", batch.errno(), withDevice, slots.count());
    }
    if (dataInBatch > 0) {
      REPOSTED.setRelease(this, reposted + dataInBatch);
      dataInBatch = 0;
    }
  }

  @Override
  long credits() {
    return (long) REPOSTED.getAcquire(this);
  }

  @Override
  boolean owesMessage(long told) {
    return credits() - told >= messageThreshold;
  }

  @Override
  public void close() {
    batch.close();
  }
}
