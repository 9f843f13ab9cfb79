package io.rdma4j.provider.verbs;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The send queue of an endpoint: one slot for each work request, used in turn.
 *
 * <p>Two counters hold a sender back: the peer's posted receives ({@code creditLimit}) and the free
 * slots here. {@link #CONTROL_SENDS} slots are kept for credit messages and the goodbye, which need
 * no credit.
 *
 * <p>Signalling: a send from registered memory always asks for a completion, since its owner waits
 * for the memory. Copied sends do so only every {@code signalInterval}-th time; nobody waits for
 * their slots, and the interval is below half of the queue, so whenever the queue is full a
 * completion is under way. A completion stands for all requests before it: a send queue completes
 * in order.
 *
 * <p>Thread contract: see the package. Methods that post take the send lock; {@link #complete},
 * {@link #takeCredits} and {@link #giveBackAll} belong to the polling thread.
 */
final class SendSide implements AutoCloseable {
  static final int CONTROL_SENDS = 4;
  private static final int MAX_SIGNAL_INTERVAL = 32;
  private static final long NO_TOKEN = -1;

  private static final VarHandle LOCK;
  private static final VarHandle POSTED;
  private static final VarHandle COMPLETED;
  private static final VarHandle CREDIT_LIMIT;
  private static final VarHandle DATA_SENT;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      LOCK = lookup.findVarHandle(SendSide.class, "lock", int.class);
      POSTED = lookup.findVarHandle(SendSide.class, "posted", long.class);
      COMPLETED = lookup.findVarHandle(SendSide.class, "completed", long.class);
      CREDIT_LIMIT = lookup.findVarHandle(SendSide.class, "creditLimit", long.class);
      DATA_SENT = lookup.findVarHandle(SendSide.class, "dataSent", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final QueuePair queuePair;
  private final SlotMemory slots;
  private final ReceiveSide receives;
  private final MemorySegment memory;
  private final SendList request = new SendList(1, 2);
  private final long[] tokens;
  private final int dataSlots;
  private final int creditThreshold;
  private final int maxInlineBytes;
  private final int signalInterval;

  @SuppressWarnings("unused") // through LOCK
  private int lock;

  // Written by the holder of the send lock.
  private long posted;
  private long dataSent;
  private long creditsTold;
  private int nextSlot;
  private int unsignaled;
  private volatile boolean shut;

  // Written by the polling thread.
  private long completed;
  private long creditLimit;
  private int completedSlot;

  SendSide(QueuePair queuePair, SlotMemory slots, ReceiveSide receives, int slotCount, int window) {
    this.queuePair = queuePair;
    this.slots = slots;
    this.receives = receives;
    memory = slots.memory();
    tokens = new long[slotCount];
    dataSlots = slotCount - CONTROL_SENDS;
    creditThreshold = (window + 1) / 2;
    maxInlineBytes = queuePair.maxInlineBytes();
    signalInterval = Math.clamp(slotCount / 4, 1, MAX_SIGNAL_INTERVAL);
    creditLimit = window;
  }

  long sendCopy(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    lock();
    try {
      if (!hasRoom()) {
        return shut ? SendResult.NOT_CONNECTED : SendResult.BACK_PRESSURED;
      }
      long at = slots.sendOffset(nextSlot);
      MemorySegment.copy(source, offset, memory, at + MessageHeader.BYTES, lengthBytes);
      int totalBytes = MessageHeader.BYTES + lengthBytes;
      int flags = totalBytes <= maxInlineBytes ? SendList.INLINE : 0;
      if (++unsignaled >= signalInterval) {
        flags |= SendList.SIGNALED;
      }
      start(at, lengthBytes, MessageHeader.DATA, type, correlationId, flags);
      request.gather(slots.address(at), totalBytes, slots.lkey());
      postData(flags, NO_TOKEN);
      return SendResult.OK;
    } finally {
      unlock();
    }
  }

  long sendRegistered(
      int type, long correlationId, long address, int lengthBytes, int lkey, long token) {
    lock();
    try {
      if (!hasRoom()) {
        return shut ? SendResult.NOT_CONNECTED : SendResult.BACK_PRESSURED;
      }
      long at = slots.sendOffset(nextSlot);
      int flags = SendList.SIGNALED;
      start(at, lengthBytes, MessageHeader.DATA, type, correlationId, flags);
      request.gather(slots.address(at), MessageHeader.BYTES, slots.lkey());
      if (lengthBytes > 0) {
        // An entry of length 0 means 2 GiB on some devices.
        request.gather(address, lengthBytes, lkey);
      }
      postData(flags, token);
      return SendResult.OK;
    } finally {
      unlock();
    }
  }

  /** Returns the credits owed in a message of their own when half a window is owed. */
  void returnCredits() {
    // creditsTold may be an old value here, which is too low; it is read again under the lock.
    if (receives.reposted() - creditsTold < creditThreshold || !tryLock()) {
      return;
    }
    try {
      if (!shut
          && receives.reposted() - creditsTold >= creditThreshold
          && posted - (long) COMPLETED.getAcquire(this) < tokens.length - 1) {
        postControl(MessageHeader.CREDIT);
      }
    } finally {
      unlock();
    }
  }

  /** Refuses further sends. */
  void shut() {
    lock();
    shut = true;
    unlock();
  }

  /** Tells the peer that nothing follows, then refuses further sends. */
  void shutWithGoodbye() {
    lock();
    try {
      if (!shut && posted - completed < tokens.length) {
        postControl(MessageHeader.GOODBYE);
      }
    } finally {
      shut = true;
      unlock();
    }
  }

  private void postControl(byte kind) {
    long at = slots.sendOffset(nextSlot);
    int flags = SendList.SIGNALED | (MessageHeader.BYTES <= maxInlineBytes ? SendList.INLINE : 0);
    start(at, 0, kind, 0, 0, flags);
    request.gather(slots.address(at), MessageHeader.BYTES, slots.lkey());
    post(flags, NO_TOKEN);
  }

  private boolean hasRoom() {
    return !shut
        && dataSent < (long) CREDIT_LIMIT.getAcquire(this)
        && posted - (long) COMPLETED.getAcquire(this) < dataSlots;
  }

  /** Returns whether a send would not be held back; by the sending thread. */
  boolean hasRoomOrEnd() {
    return shut || hasRoom();
  }

  private void start(long at, int lengthBytes, byte kind, int type, long correlationId, int flags) {
    creditsTold = receives.reposted();
    MessageHeader.write(memory, at, lengthBytes, (int) creditsTold, kind, type, correlationId);
    request.clear();
    request.add(WorkRequestId.ofSend(posted), SendList.OP_SEND, flags);
  }

  /** Counts before it posts: the peer's credit may come back before this method returns. */
  private void postData(int flags, long token) {
    DATA_SENT.setRelease(this, dataSent + 1);
    post(flags, token);
  }

  /**
   * Rings the doorbell. The slot is published before: the completion may reach the polling thread
   * before this method returns.
   */
  private void post(int flags, long token) {
    tokens[nextSlot] = token;
    POSTED.setRelease(this, posted + 1);
    if (queuePair.postSend(request) == 0) {
      POSTED.setRelease(this, posted - 1);
      shut = true;
      throw new PostRefusedException(
          "ibv_post_send", request.errno(), (int) (posted - completed), tokens.length);
    }
    if ((flags & SendList.SIGNALED) != 0) {
      unsignaled = 0;
    }
    nextSlot = nextSlot + 1 == tokens.length ? 0 : nextSlot + 1;
  }

  /**
   * Frees all slots up to a completed request.
   *
   * @return tokens given back
   */
  int complete(long sequence, EndpointListener listener) {
    long posted = (long) POSTED.getAcquire(this);
    if (sequence >= posted) {
      if (!shut) {
        throw new IllegalStateException("completion of request " + sequence + ", never posted");
      }
      // siw may queue a request, refuse it all the same, and flush it later: it was not counted.
      sequence = posted - 1;
    }
    int givenBack = 0;
    while (completed <= sequence) {
      long token = tokens[completedSlot];
      completedSlot = completedSlot + 1 == tokens.length ? 0 : completedSlot + 1;
      COMPLETED.setRelease(this, completed + 1);
      if (token != NO_TOKEN) {
        givenBack++;
        listener.onSent(token);
      }
    }
    return givenBack;
  }

  /** Frees all slots; the queue pair must be destroyed or drained. */
  int giveBackAll(EndpointListener listener) {
    long last = (long) POSTED.getAcquire(this) - 1;
    int givenBack = 0;
    RuntimeException failure = null;
    while (completed <= last) {
      try {
        givenBack += complete(completed, listener);
      } catch (RuntimeException e) {
        // The listener's: the other tokens have to come back all the same.
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
    return givenBack;
  }

  /** Returns how many requests have not completed. */
  long outstanding() {
    return (long) POSTED.getAcquire(this) - completed;
  }

  /**
   * Takes note of the credits in a header.
   *
   * @return false when the peer returns more than it can have received
   */
  boolean takeCredits(short credits, int window) {
    long known = creditLimit - window;
    int advance = (short) (credits - (short) known);
    if (advance == 0) {
      return true;
    }
    if (advance < 0 || known + advance > (long) DATA_SENT.getAcquire(this)) {
      return false;
    }
    CREDIT_LIMIT.setRelease(this, creditLimit + advance);
    return true;
  }

  private void lock() {
    while (!tryLock()) {
      Thread.onSpinWait();
    }
  }

  private boolean tryLock() {
    return LOCK.compareAndSet(this, 0, 1);
  }

  private void unlock() {
    LOCK.setRelease(this, 0);
  }

  @Override
  public void close() {
    request.close();
  }
}
