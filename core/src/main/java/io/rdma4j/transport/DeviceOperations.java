package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.provider.OneSided;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Operations on the peer's memory that this side's device carries out, by slot. Each is a request
 * of the {@link RequestTable} as well, and ends like one that was sent as a message: what the
 * device brings is put into a block of the pool, behind the header that the peer would have
 * answered with.
 *
 * <pre>
 *  block    0 .. 15  header of the answer, written at the end; the old word of an atomic lies in it
 *          16 ..     what is written, or was read
 * </pre>
 *
 * A read whose target is pooled memory goes there straight. Such a request is held: whoever gives
 * it up leaves a mark, and it ends when the device has let go of the target.
 *
 * <p>When the path ends, a read is asked again by message over the next one. A write or an atomic
 * may have been carried out, and ends with OUTCOME_UNKNOWN.
 *
 * <p>{@link #start} under the lock of {@link RemoteRequests}; {@link #ended} and {@link #settle} by
 * the polling thread. Makes no garbage.
 */
final class DeviceOperations {
  /** The device can not do it now: it has to go by message. */
  static final long BY_MESSAGE = Long.MIN_VALUE;

  private static final int SLOTS = 64;
  private static final long VALUE_OFFSET = 8;

  private static final int FREE = 0;
  private static final int UNDER_WAY = 1;

  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Slot.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** One operation; fields are written before the state says that it is under way. */
  private static final class Slot {
    final RegisteredBuffer block;
    int state;
    int outcome;
    long requestId;
    int opcode;
    long regionId;
    long regionOffset;
    int lengthBytes;
    boolean inPlace;
    @Nullable RemoteKey key;
    @Nullable RemoteOperation operation;

    Slot(RegisteredBuffer block) {
      this.block = block;
    }
  }

  private final RegisteredBufferPool pool;
  private final Sender sender;
  private final RemoteRequests requests;
  private final RequestTable table;
  private final RemoteKeys keys;
  private final Slot[] slots = new Slot[SLOTS];
  private final MemorySegment header = MemorySegment.ofArray(new long[2]);
  private int nextSlot;

  // Polling thread.
  private final int[] ended = new int[SLOTS];
  private int endedCount;
  private final int[] again = new int[SLOTS];
  private volatile int againCount;

  DeviceOperations(
      RegisteredBufferPool pool,
      Sender sender,
      RemoteRequests requests,
      RequestTable table,
      RemoteKeys keys) {
    this.pool = pool;
    this.sender = sender;
    this.requests = requests;
    this.table = table;
    this.keys = keys;
    for (int i = 0; i < SLOTS; i++) {
      slots[i] = new Slot(pool.newLease());
    }
  }

  /**
   * Starts an operation whose bounds and rights the key grants.
   *
   * @return the request's id, 0 when it has ended already, a negative {@link SendResult}, or {@link
   *     #BY_MESSAGE}
   */
  long start(
      int opcode,
      RemoteKey key,
      long regionOffset,
      long operand,
      long desired,
      MemorySegment source,
      long sourceOffset,
      int lengthBytes,
      long deadlineNs,
      RemoteOperation operation) {
    int index = freeSlot();
    if (index < 0) {
      return SendResult.BACK_PRESSURED;
    }
    Slot slot = slots[index];
    long targetAddress = opcode == OneSided.READ ? operation.pooledTarget(pool, lengthBytes) : 0;
    slot.inPlace = targetAddress != 0;
    if (!slot.inPlace && !pool.tryAllocate(RemoteWire.DONE_BYTES + lengthBytes, slot.block)) {
      return BY_MESSAGE;
    }
    if (!key.enter()) {
      slot.block.close();
      return BY_MESSAGE;
    }
    long id = table.open(deadlineNs, 0, operation.end(), slot.inPlace);
    long result = id < 0 ? id : SendResult.CLOSED;
    try {
      if (id > 0) {
        if (opcode == OneSided.WRITE || opcode == OneSided.WRITE_IMMEDIATE) {
          MemorySegment.copy(
              source, sourceOffset, slot.block.segment(), RemoteWire.DONE_BYTES, lengthBytes);
        }
        slot.requestId = id;
        slot.opcode = opcode;
        slot.regionId = key.regionId();
        slot.regionOffset = regionOffset;
        slot.lengthBytes = lengthBytes;
        slot.key = key;
        slot.operation = operation;
        operation.readsInPlace(slot.inPlace);
        STATE.setRelease(slot, UNDER_WAY);
        result =
            sender.startRemote(
                null,
                key.pathId(),
                opcode,
                key.addressOf(regionOffset),
                key.rkey(),
                slot.inPlace ? targetAddress : blockAddress(slot),
                lengthBytes,
                operand,
                desired,
                index);
      }
    } finally {
      if (result < 0) {
        undo(slot, key);
        if (id > 0 && !table.withdraw(id)) {
          result = SendResult.OK; // it has ended meanwhile, which the handler was told
        }
      }
    }
    return result < 0 ? result : id;
  }

  private int freeSlot() {
    for (int i = 0; i < SLOTS; i++) {
      int index = (nextSlot + i) % SLOTS;
      if ((int) STATE.getAcquire(slots[index]) == FREE) {
        nextSlot = index + 1;
        return index;
      }
    }
    return -1;
  }

  private static long blockAddress(Slot slot) {
    boolean atomic = slot.opcode == OneSided.FETCH_ADD || slot.opcode == OneSided.COMPARE_AND_SWAP;
    return slot.block.address() + (atomic ? VALUE_OFFSET : RemoteWire.DONE_BYTES);
  }

  private void undo(Slot slot, RemoteKey key) {
    keys.leave(key);
    slot.block.close();
    free(slot);
  }

  private static void free(Slot slot) {
    slot.key = null;
    slot.operation = null;
    STATE.setRelease(slot, FREE);
  }

  /**
   * Notes the end of an operation. What follows from it waits for {@link #settle}: this may be
   * called with senders kept out, and the application must not be.
   */
  void ended(long token, int outcome) {
    int index = (int) token;
    slots[index].outcome = outcome;
    ended[endedCount++] = index;
  }

  /** Returns whether reads wait for a path that takes them. */
  boolean keepsSome() {
    return againCount > 0;
  }

  /** Tells how operations have ended, and asks again for reads; returns the work done. */
  int settle(Receiver receiver) {
    int count = endedCount;
    if (count > 0) {
      for (int i = 0; i < count; i++) {
        settle(ended[i], receiver);
      }
      // More may have come: handlers start operations, but only polls end them.
      System.arraycopy(ended, count, ended, 0, endedCount - count);
      endedCount -= count;
    }
    return count + (againCount > 0 ? readAgain() : 0);
  }

  private void settle(int index, Receiver receiver) {
    Slot slot = slots[index];
    RemoteKey key = slot.key;
    if (key != null) {
      keys.leave(key);
    }
    if (slot.outcome == OneSided.UNKNOWN && slot.opcode == OneSided.READ) {
      slot.block.close();
      int waiting = againCount;
      again[waiting] = index;
      againCount = waiting + 1;
      return;
    }
    long id = slot.requestId;
    try {
      if (slot.inPlace && !table.unhold(id)) {
        return; // it was given up meanwhile, and its handler has heard
      }
      switch (slot.outcome) {
        case OneSided.DONE -> answer(slot, receiver);
        case OneSided.REFUSED ->
            table.fail(
                id,
                Cause.REMOTE_ACCESS,
                "the peer's device refused, and ended the path with it: the memory is not known to"
                    + " it any more");
        default ->
            table.fail(
                id,
                Cause.OUTCOME_UNKNOWN,
                "the path ended first; the peer's memory may have been changed or not");
      }
    } finally {
      slot.block.close();
      free(slot);
    }
  }

  private void answer(Slot slot, Receiver receiver) {
    boolean reads = slot.opcode == OneSided.READ;
    MemorySegment answer = slot.inPlace ? header : slot.block.segment();
    int readBytes = reads && !slot.inPlace ? slot.lengthBytes : 0;
    boolean atomic = slot.opcode == OneSided.FETCH_ADD || slot.opcode == OneSided.COMPARE_AND_SWAP;
    long value = atomic ? answer.get(ValueLayout.JAVA_LONG, VALUE_OFFSET) : 0;
    RemoteWire.writeDone(answer, RemoteWire.DONE, readBytes, value);
    receiver.answered(
        MessageType.REMOTE_DONE, slot.requestId, answer, 0, RemoteWire.DONE_BYTES + readBytes);
  }

  /** Asks by message for what a device was reading when its path ended. */
  private int readAgain() {
    int asked = 0;
    for (int left = againCount; left > 0 && readAgain(slots[again[left - 1]]); left--) {
      againCount = left - 1;
      asked++;
    }
    return asked;
  }

  /** Returns false when there is no room. */
  private boolean readAgain(Slot slot) {
    RemoteOperation operation = slot.operation;
    if (slot.inPlace) {
      slot.inPlace = false;
      if (operation != null) {
        operation.readsInPlace(false);
      }
      if (!table.unhold(slot.requestId)) {
        free(slot);
        return true;
      }
    }
    if (table.isWaiting(slot.requestId)
        && !requests.readByMessage(
            slot.requestId, slot.regionId, slot.regionOffset, slot.lengthBytes)) {
      return false;
    }
    free(slot);
    return true;
  }

  /** Gives everything back: the connection has ended, and the device has let go. */
  void end(Receiver receiver) {
    settle(receiver);
    for (int i = 0; i < againCount; i++) {
      Slot slot = slots[again[i]];
      if (slot.inPlace) {
        boolean ignored = table.unhold(slot.requestId);
      }
      free(slot);
    }
    againCount = 0;
  }
}
