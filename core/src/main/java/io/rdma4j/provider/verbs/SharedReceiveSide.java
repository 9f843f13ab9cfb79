package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SharedReceiveQueue;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * An endpoint's part of the {@link SharedReceives}. Its peer starts with few credits; while it
 * sends, its target doubles up to its share of all receives, at most the window, and while it does
 * not, nothing is promised to it beyond what it has.
 *
 * <p>A peer with few credits is told of new ones often. No more than two messages that do so may be
 * under way, since the peer needs receives for them: a third waits until the peer has sent what it
 * could not have sent without the first.
 */
final class SharedReceiveSide extends ReceiveSide {
  private static final VarHandle GRANTED;

  static {
    try {
      GRANTED =
          MethodHandles.lookup().findVarHandle(SharedReceiveSide.class, "granted", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final DeviceContext context;
  private final SharedReceives shared;
  private final ReceiveList batch;
  private final int window;

  /** Data messages that the peer may have under way. */
  private int target;

  private int seenSinceTarget;
  private int controlInBatch;

  /** Receives promised to the peer, of both kinds, that no message has taken. */
  private int promised;

  /** Data messages taken off the device. */
  private long seen;

  /** Data messages that the peer was ever allowed. */
  private long granted;

  /** What the peer knew of that before the last message that told it more, and the one before. */
  private long limitBeforeLast = -1;

  private long limitBeforeLastButOne = -1;
  private volatile boolean lastReached;
  private boolean connected;

  private SharedReceiveSide(DeviceContext context, SharedReceives shared, int window) {
    super(shared.slots());
    this.context = context;
    this.shared = shared;
    this.window = window;
    target = SharedReceives.leastCredits(window);
    granted = target;
    promised = target + CONTROL_RECEIVES;
    batch = new ReceiveList(MAX_BATCH, slots.scatterEntries());
  }

  /**
   * Takes a part of a device's shared receives, which is given back by {@link #close}.
   *
   * @throws IOException when there is none left
   */
  static SharedReceiveSide join(DeviceContext context, int window) throws IOException {
    SharedReceives shared = context.shareReceives();
    try {
      shared.join(window);
    } catch (IOException | RuntimeException e) {
      context.unshareReceives();
      throw e;
    }
    return new SharedReceiveSide(context, shared, window);
  }

  SharedReceiveQueue queue() {
    return shared.queue();
  }

  @Override
  void taken() {
    promised--;
  }

  @Override
  int withDevice() {
    return promised;
  }

  @Override
  boolean isDrained() {
    return lastReached;
  }

  @Override
  void recycleData(int slot) {
    seen++;
    if (++seenSinceTarget >= target) {
      seenSinceTarget = 0;
      int least = SharedReceives.leastCredits(window);
      target = Math.clamp(Math.min(2 * target, shared.share()), least, window);
    }
    add(slot);
    // A quarter of what the peer has at most, as long as there are few: it may wait for the others.
    long outstanding = granted - seen + batch.size();
    if (batch.size() >= Math.clamp(outstanding / 4, 1, MAX_BATCH)) {
      flush();
    }
  }

  @Override
  void recycleControl(int slot) {
    controlInBatch++;
    add(slot);
    flush();
  }

  /** Back to the others, and nothing is promised in its place. */
  @Override
  void giveUp(int slot) {
    add(slot);
    if (batch.size() == batch.capacity()) {
      post(0);
    }
  }

  private void add(int slot) {
    slots.addTo(batch, slot);
  }

  @Override
  void flush() {
    int more = (int) Math.max(0, target - (granted - seen));
    if (batch.size() == 0 && (more == 0 || !shared.hasSome())) {
      return;
    }
    int control = controlInBatch;
    controlInBatch = 0;
    int data = post(control + more) - control;
    if (data > 0) {
      GRANTED.setRelease(this, granted + data);
    }
  }

  private int post(int wanted) {
    int got = shared.exchange(batch, wanted);
    promised += got;
    return got;
  }

  @Override
  long credits() {
    return (long) GRANTED.getAcquire(this) - window;
  }

  /** When the peer knows of less than half of what it may send. */
  @Override
  boolean owesMessage(long told) {
    long owed = credits() - told;
    return owed > 0 && 2 * owed >= granted - seen && seen > limitBeforeLastButOne;
  }

  @Override
  void messageSent(long toldBefore) {
    limitBeforeLastButOne = limitBeforeLast;
    limitBeforeLast = toldBefore + window;
  }

  @Override
  boolean areShared() {
    return true;
  }

  @Override
  void connected() {
    connected = true;
  }

  @Override
  void lastReceiveReached() {
    lastReached = true;
  }

  @Override
  @SuppressWarnings("ReferenceEquality") // an event names the very object
  boolean uses(AutoCloseable object) {
    return object == shared.queue();
  }

  /** Gives back what is left here; the queue pair must be destroyed. */
  @Override
  public void close() {
    try (batch) {
      if (batch.size() > 0) {
        post(0);
      }
    } finally {
      shared.leave(promised, lastReached || !connected);
      context.unshareReceives();
    }
  }
}
