package io.rdma4j.provider.verbs;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.OneSided;
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
 * <p>A request waits in the {@link SendBatch} until the batch is full, or until {@link #flush}. It
 * has its slot, its credit and its place in the order by then, but the device knows nothing of it:
 *
 * <pre>
 *  completed        posted           queued
 *  | with the device | in the batch   |
 * </pre>
 *
 * <p>An operation on the peer's memory takes a slot too, for its place in the order, but needs a
 * credit only when it uses up a receive, and brings none. Reads and atomics under way are limited
 * to what the two devices have agreed on: the device would let one more hold up everything behind
 * it.
 *
 * <p>The credits told in a header are those at the time it was queued; the last header of a batch
 * gets the newest ones when the doorbell is rung.
 *
 * <p>Thread contract: see the package. Methods that post take the send lock; {@link #complete},
 * {@link #takeCredits} and {@link #giveBackAll} belong to the polling thread.
 */
final class SendSide implements AutoCloseable {
  static final int CONTROL_SENDS = 4;
  private static final long NO_TOKEN = -1;
  private static final long NO_HEADER = -1;

  /** What a slot with a token holds. */
  private static final byte MESSAGE = 0;

  private static final byte WRITE = 1;
  private static final byte READ = 2;

  private static final int REMOTE_ACCESS_ERROR = 10;

  private static final VarHandle LOCK;
  private static final VarHandle QUEUED;
  private static final VarHandle POSTED;
  private static final VarHandle COMPLETED;
  private static final VarHandle CREDIT_LIMIT;
  private static final VarHandle DATA_SENT;
  private static final VarHandle READS_ENDED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      LOCK = lookup.findVarHandle(SendSide.class, "lock", int.class);
      QUEUED = lookup.findVarHandle(SendSide.class, "queued", long.class);
      POSTED = lookup.findVarHandle(SendSide.class, "posted", long.class);
      COMPLETED = lookup.findVarHandle(SendSide.class, "completed", long.class);
      CREDIT_LIMIT = lookup.findVarHandle(SendSide.class, "creditLimit", long.class);
      DATA_SENT = lookup.findVarHandle(SendSide.class, "dataSent", long.class);
      READS_ENDED = lookup.findVarHandle(SendSide.class, "readsEnded", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final SlotMemory slots;
  private final ReceiveSide receives;
  private final MemorySegment memory;
  private final SendBatch batch;
  private final long[] tokens;
  private final byte[] kinds;
  private final int dataSlots;
  private final int maxInlineBytes;
  private final boolean gathers;

  /** Set before the endpoint is handed out. */
  private int readLimit;

  @SuppressWarnings("unused") // through LOCK
  private int lock;

  // Written by the holder of the send lock.
  private long queued;
  private long posted;
  private long dataQueued;
  private long dataSent;
  private long creditsTold;
  private long lastHeader = NO_HEADER;
  private long readsStarted;
  private long atomicsEnd;
  private int nextSlot;
  private volatile boolean shut;

  // Written by the polling thread.
  private long completed;
  private long creditLimit;
  private long readsEnded;
  private int completedSlot;

  /**
   * Starts with all slots free.
   *
   * @param firstCredits messages that the peer has receives for at the start
   * @param gatherEntries of one request, 1 or more; with 1 registered memory is copied to the slot
   */
  SendSide(
      QueuePair queuePair,
      SlotMemory slots,
      ReceiveSide receives,
      int slotCount,
      int firstCredits,
      int gatherEntries,
      BatchTuner tuner) {
    this.slots = slots;
    this.receives = receives;
    memory = slots.memory();
    batch = new SendBatch(queuePair, slotCount, tuner);
    tokens = new long[slotCount];
    kinds = new byte[slotCount];
    dataSlots = slotCount - CONTROL_SENDS;
    maxInlineBytes = queuePair.maxInlineBytes();
    gathers = gatherEntries > 1;
    creditLimit = firstCredits;
    creditsTold = receives.credits();
  }

  long sendCopy(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    lock();
    try {
      if (!hasRoom()) {
        return noRoom();
      }
      return queueCopy(type, correlationId, source, offset, lengthBytes, NO_TOKEN);
    } finally {
      unlock();
    }
  }

  long sendRegistered(
      int type,
      long correlationId,
      MemorySegment source,
      long offset,
      int lengthBytes,
      int lkey,
      long token) {
    lock();
    try {
      if (!hasRoom()) {
        return noRoom();
      }
      if (!gathers || lengthBytes == 0) {
        // An entry of length 0 would mean 2 GiB on some devices.
        return queueCopy(type, correlationId, source, offset, lengthBytes, token);
      }
      long at = slots.offset(nextSlot);
      start(at, MessageHeader.DATA, type, correlationId, lengthBytes, token)
          .gather(slots.address(at), MessageHeader.BYTES, slots.lkey())
          .gather(source.address() + offset, lengthBytes, lkey);
      queueData(token);
      return SendResult.OK;
    } finally {
      unlock();
    }
  }

  private long queueCopy(
      int type,
      long correlationId,
      MemorySegment source,
      long offset,
      int lengthBytes,
      long token) {
    long at = slots.offset(nextSlot);
    MemorySegment.copy(source, offset, memory, at + MessageHeader.BYTES, lengthBytes);
    start(at, MessageHeader.DATA, type, correlationId, lengthBytes, token)
        .gather(slots.address(at), MessageHeader.BYTES + lengthBytes, slots.lkey());
    queueData(token);
    return SendResult.OK;
  }

  /** Sets how many reads and atomics may be under way; before the first one. */
  void limitReads(int limit) {
    readLimit = limit;
  }

  /** Queues an operation on the peer's memory; the arguments are those of {@link OneSided}. */
  long startRemote(
      int opcode,
      long remoteAddress,
      int rkey,
      long localAddress,
      int lengthBytes,
      int lkey,
      long operand,
      long desired,
      long token) {
    boolean reads = opcode != OneSided.WRITE && opcode != OneSided.WRITE_IMMEDIATE;
    boolean takesReceive = opcode == OneSided.WRITE_IMMEDIATE;
    lock();
    try {
      if (!hasSlot()
          || (reads && readsStarted - (long) READS_ENDED.getAcquire(this) >= readLimit)
          || (takesReceive && !hasCredit())) {
        return noRoom();
      }
      // Without the fence a write might overtake an atomic that is still on its way.
      int flags = !reads && atomicsEnd > (long) COMPLETED.getAcquire(this) ? SendList.FENCE : 0;
      SendList request =
          batch
              .add(verbsOpcode(opcode), queued, flags, true)
              .gather(localAddress, lengthBytes, lkey);
      switch (opcode) {
        case OneSided.FETCH_ADD, OneSided.COMPARE_AND_SWAP -> {
          request.atomic(remoteAddress, rkey, operand, desired);
          atomicsEnd = queued + 1;
        }
        case OneSided.WRITE_IMMEDIATE ->
            request.remote(remoteAddress, rkey).withImmediate((int) operand);
        default -> request.remote(remoteAddress, rkey);
      }
      kinds[nextSlot] = reads ? READ : WRITE;
      readsStarted += reads ? 1 : 0;
      dataQueued += takesReceive ? 1 : 0;
      queue(token);
      ringWhenFull();
      return SendResult.OK;
    } finally {
      unlock();
    }
  }

  private static int verbsOpcode(int opcode) {
    return switch (opcode) {
      case OneSided.READ -> SendList.OP_RDMA_READ;
      case OneSided.WRITE -> SendList.OP_RDMA_WRITE;
      case OneSided.WRITE_IMMEDIATE -> SendList.OP_RDMA_WRITE_WITH_IMM;
      case OneSided.FETCH_ADD -> SendList.OP_FETCH_AND_ADD;
      case OneSided.COMPARE_AND_SWAP -> SendList.OP_COMPARE_AND_SWAP;
      default -> throw new IllegalArgumentException("no one-sided operation has opcode " + opcode);
    };
  }

  /** Posts what waits, so that room can come; the sender may not poll before it tries again. */
  private long noRoom() {
    if (shut) {
      return SendResult.NOT_CONNECTED;
    }
    ring();
    return SendResult.BACK_PRESSURED;
  }

  /** Posts what waits for company. */
  void flush() {
    lock();
    try {
      ring();
    } finally {
      unlock();
    }
  }

  /** Posts what waits, unless a sender is at work, who will do so itself. Polling thread. */
  void flushIfFree() {
    if (hasUnposted() && tryLock()) {
      try {
        ring();
      } finally {
        unlock();
      }
    }
  }

  /** Returns whether something waits for a doorbell. Any thread. */
  boolean hasUnposted() {
    return (long) QUEUED.getOpaque(this) != (long) POSTED.getOpaque(this);
  }

  /** Tells the peer its credits in a message of their own when that is due. */
  void returnCredits() {
    if (!owesCredits() || !tryLock()) {
      return;
    }
    try {
      if (shut || !owesCredits()) {
        return;
      }
      if (lastHeader != NO_HEADER) {
        ring(); // a message that goes anyway tells them
      } else if (queued - (long) COMPLETED.getAcquire(this) < tokens.length - 1) {
        long toldBefore = creditsTold;
        queueControl(MessageHeader.CREDIT);
        receives.messageSent(toldBefore);
      }
    } finally {
      unlock();
    }
  }

  /**
   * Returns whether a message of credits is due. The number told may be an old one here, which is
   * too low; {@link #returnCredits} reads it again under the lock. Polling thread.
   */
  boolean owesCredits() {
    return receives.owesMessage(creditsTold);
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
      if (!shut && queued - completed < tokens.length) {
        queueControl(MessageHeader.GOODBYE);
      }
    } finally {
      shut = true;
      unlock();
    }
  }

  /** Control messages wait for nobody; what is queued goes with them, in its order. */
  private void queueControl(byte kind) {
    long at = slots.offset(nextSlot);
    start(at, kind, 0, 0, 0, NO_TOKEN).gather(slots.address(at), MessageHeader.BYTES, slots.lkey());
    queue(NO_TOKEN);
    ring();
  }

  private boolean hasRoom() {
    return hasCredit() && hasSlot();
  }

  private boolean hasCredit() {
    return dataQueued < (long) CREDIT_LIMIT.getAcquire(this);
  }

  private boolean hasSlot() {
    return !shut && queued - (long) COMPLETED.getAcquire(this) < dataSlots;
  }

  /** Returns whether a send would not be held back; by the sending thread. */
  boolean hasRoomOrEnd() {
    lock();
    try {
      return shut || hasRoom();
    } finally {
      unlock();
    }
  }

  private SendList start(
      long at, byte kind, int type, long correlationId, int lengthBytes, long token) {
    creditsTold = receives.credits();
    lastHeader = at;
    MessageHeader.write(memory, at, lengthBytes, (int) creditsTold, kind, type, correlationId);
    int flags = MessageHeader.BYTES + lengthBytes <= maxInlineBytes ? SendList.INLINE : 0;
    kinds[nextSlot] = MESSAGE;
    return batch.add(SendList.OP_SEND, queued, flags, token != NO_TOKEN);
  }

  private void queueData(long token) {
    dataQueued++;
    queue(token);
    ringWhenFull();
  }

  private void ringWhenFull() {
    if (batch.isFull()) {
      try {
        ring();
      } catch (PostRefusedException e) {
        takeBackLast();
        throw e;
      }
    }
  }

  private void queue(long token) {
    tokens[nextSlot] = token;
    nextSlot = nextSlot + 1 == tokens.length ? 0 : nextSlot + 1;
    QUEUED.setRelease(this, queued + 1);
  }

  /** The caller of a send that is refused keeps its memory. */
  private void takeBackLast() {
    batch.dropLast();
    nextSlot = nextSlot == 0 ? tokens.length - 1 : nextSlot - 1;
    QUEUED.setRelease(this, queued - 1);
  }

  /**
   * Rings the doorbell. Counts before: completions and the peer's credits may reach the polling
   * thread before this method returns.
   */
  private void ring() {
    if (batch.size() == 0 || shut) {
      return;
    }
    long credits = receives.credits();
    if (lastHeader != NO_HEADER) {
      if (credits != creditsTold) {
        creditsTold = credits;
        MessageHeader.setCredits(memory, lastHeader, (int) credits);
      }
      lastHeader = NO_HEADER;
    }
    DATA_SENT.setRelease(this, dataQueued);
    POSTED.setRelease(this, queued);
    int refused = batch.ring();
    if (refused > 0) {
      POSTED.setRelease(this, queued - refused);
      shut = true;
      throw new PostRefusedException(
          "ibv_post_send", batch.errno(), (int) (posted - completed), tokens.length);
    }
  }

  /**
   * Frees all slots up to a completed request.
   *
   * @return tokens given back
   */
  int complete(long sequence, EndpointListener listener) {
    return free(endBehind(sequence), OneSided.DONE, listener);
  }

  /**
   * Frees all slots up to a request that failed. Whether the ones before it took effect is not
   * certain on every device.
   *
   * @return tokens given back
   */
  int failed(long sequence, int status, EndpointListener listener) {
    long end = endBehind(sequence);
    int givenBack = free(end - 1, OneSided.UNKNOWN, listener);
    int outcome = status == REMOTE_ACCESS_ERROR ? OneSided.REFUSED : OneSided.UNKNOWN;
    return givenBack + free(end, outcome, listener);
  }

  private long endBehind(long sequence) {
    long posted = (long) POSTED.getAcquire(this);
    if (sequence >= posted) {
      if (!shut) {
        throw new IllegalStateException("completion of request " + sequence + ", never posted");
      }
      // siw may queue a request, refuse it all the same, and flush it later: it was not counted.
      return posted;
    }
    return sequence + 1;
  }

  private int free(long end, int outcome, EndpointListener listener) {
    int givenBack = 0;
    while (completed < end) {
      long token = tokens[completedSlot];
      byte kind = kinds[completedSlot];
      completedSlot = completedSlot + 1 == tokens.length ? 0 : completedSlot + 1;
      COMPLETED.setRelease(this, completed + 1);
      if (token != NO_TOKEN) {
        givenBack++;
        giveBack(kind, token, outcome, listener);
      }
    }
    return givenBack;
  }

  private void giveBack(byte kind, long token, int outcome, EndpointListener listener) {
    if (kind == MESSAGE) {
      listener.onSent(token);
      return;
    }
    if (kind == READ) {
      READS_ENDED.setRelease(this, readsEnded + 1);
    }
    listener.onRemoteEnd(token, outcome);
  }

  /**
   * Frees all slots, also of what was never posted; sends must be shut, and the queue pair
   * destroyed or drained.
   */
  int giveBackAll(EndpointListener listener) {
    long end = (long) QUEUED.getAcquire(this);
    int givenBack = 0;
    RuntimeException failure = null;
    while (completed < end) {
      try {
        givenBack += free(completed + 1, OneSided.UNKNOWN, listener);
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

  /** Gives back what was queued and never posted; sends must be shut. */
  int giveBackUnposted(EndpointListener listener) {
    int givenBack = 0;
    for (long sequence = posted; sequence < queued; sequence++) {
      int slot = (int) ((completedSlot + sequence - completed) % tokens.length);
      long token = tokens[slot];
      tokens[slot] = NO_TOKEN;
      if (token != NO_TOKEN) {
        givenBack++;
        giveBack(kinds[slot], token, OneSided.UNKNOWN, listener);
      }
    }
    return givenBack;
  }

  /** Returns how many requests the device has. */
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
    batch.close();
  }
}
