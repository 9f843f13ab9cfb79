package io.rdma4j.transport;

import static io.rdma4j.transport.RemoteWire.DONE_BYTES;
import static io.rdma4j.transport.RemoteWire.REQUEST_BYTES;
import static io.rdma4j.transport.RemoteWire.WORD_BYTES;

import io.rdma4j.SendResult;
import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Carries out the peer's operations on exported memory, after its own check of bounds, rights and
 * lifetime, and answers each. An answer that finds no room is kept: of a read what to read, of the
 * others the outcome, so that nothing is carried out twice.
 *
 * <p>Polling thread only. Makes no garbage, except to grow.
 */
final class RemoteExecutor {
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  /** A peer with more operations than slots is not one of ours. */
  private static final int MAX_KEPT = RequestTable.MAX_SLOTS;

  /** Words of a kept answer: id; read or status; length; region; offset or value. */
  private static final int KEPT_WORDS = 5;

  private static final int READ_LATER = -1;

  private final Sender sender;
  private final ExportTable exports;
  private final MemorySegment scratch;

  private long[] kept = new long[16 * KEPT_WORDS];
  private int keptFirst;
  private volatile int keptCount;

  private int status;
  private long value;
  private boolean immediate;
  private boolean wantsKey;

  RemoteExecutor(Sender sender, ExportTable exports) {
    this.sender = sender;
    this.exports = exports;
    scratch = MemorySegment.ofArray(new byte[Math.max(DONE_BYTES, sender.maxMessageBytes())]);
  }

  boolean keepsSome() {
    return keptCount != 0;
  }

  /** Returns the region whose key the peer wants, null when it wants none or may not have it. */
  @Nullable ExportedRegion wantedRegion(MemorySegment memory, long at) {
    return wantsKey ? exports.find(RemoteWire.regionId(memory, at)) : null;
  }

  /** Returns whether the operation carried out last has immediate data for the application. */
  boolean hasImmediate() {
    return immediate;
  }

  /**
   * Carries out one operation and answers it.
   *
   * @return null, or how the peer broke the protocol
   */
  @Nullable String execute(long id, MemorySegment memory, long at, int messageBytes) {
    immediate = false;
    if (messageBytes < REQUEST_BYTES) {
      return "an operation on memory in " + messageBytes + " bytes";
    }
    wantsKey = RemoteWire.wantsKey(memory, at);
    int opcode = RemoteWire.opcode(memory, at);
    int lengthBytes = RemoteWire.lengthBytes(memory, at);
    int payloadBytes = messageBytes - REQUEST_BYTES;
    if (!isWellFormed(opcode, lengthBytes, payloadBytes)) {
      return "operation " + opcode + " on " + lengthBytes + " bytes, with " + payloadBytes;
    }
    if (keptCount == MAX_KEPT) {
      return "more than " + MAX_KEPT + " operations on memory at a time";
    }
    long regionId = RemoteWire.regionId(memory, at);
    long regionOffset = RemoteWire.regionOffset(memory, at);
    if (opcode == RemoteWire.READ) {
      if (keptCount > 0 || !read(id, regionId, regionOffset, lengthBytes)) {
        keep(id, READ_LATER, lengthBytes, regionId, regionOffset);
      }
      return null;
    }
    modify(opcode, regionId, regionOffset, lengthBytes, memory, at);
    if (keptCount > 0 || !answer(id, status, value)) {
      keep(id, status, 0, 0, value);
    }
    return null;
  }

  private boolean isWellFormed(int opcode, int lengthBytes, int payloadBytes) {
    return switch (opcode) {
      case RemoteWire.READ ->
          payloadBytes == 0
              && lengthBytes >= 0
              && lengthBytes <= sender.maxMessageBytes() - DONE_BYTES;
      case RemoteWire.WRITE, RemoteWire.WRITE_IMMEDIATE -> lengthBytes == payloadBytes;
      case RemoteWire.FETCH_ADD, RemoteWire.COMPARE_AND_SWAP ->
          payloadBytes == 0 && lengthBytes == WORD_BYTES;
      default -> false;
    };
  }

  /** Reads and answers; false when there is no room for the answer. */
  private boolean read(long id, long regionId, long regionOffset, int lengthBytes) {
    ExportedRegion region = enter(regionId, regionOffset, lengthBytes, MemoryAccess.REMOTE_READ);
    if (region == null) {
      return answer(id, status, 0);
    }
    try {
      MemorySegment.copy(region.memory(), regionOffset, scratch, DONE_BYTES, lengthBytes);
    } catch (IllegalStateException | WrongThreadException e) {
      return answer(id, RemoteWire.NO_REGION, 0); // its arena was closed under it
    } finally {
      region.leave();
    }
    RemoteWire.writeDone(scratch, RemoteWire.DONE, lengthBytes, 0);
    return send(id, DONE_BYTES + lengthBytes);
  }

  private void modify(
      int opcode,
      long regionId,
      long regionOffset,
      int lengthBytes,
      MemorySegment memory,
      long at) {
    value = 0;
    boolean atomic = opcode == RemoteWire.FETCH_ADD || opcode == RemoteWire.COMPARE_AND_SWAP;
    int right = atomic ? MemoryAccess.REMOTE_ATOMIC : MemoryAccess.REMOTE_WRITE;
    ExportedRegion region = enter(regionId, regionOffset, lengthBytes, right);
    if (region == null) {
      return;
    }
    try {
      MemorySegment target = region.memory();
      if (atomic && (target.address() + regionOffset & WORD_BYTES - 1) != 0) {
        status = RemoteWire.NOT_ALIGNED;
      } else if (opcode == RemoteWire.FETCH_ADD) {
        value = (long) WORD.getAndAdd(target, regionOffset, RemoteWire.operand(memory, at));
      } else if (opcode == RemoteWire.COMPARE_AND_SWAP) {
        value =
            (long)
                WORD.compareAndExchange(
                    target,
                    regionOffset,
                    RemoteWire.operand(memory, at),
                    RemoteWire.desired(memory, at));
      } else {
        MemorySegment.copy(memory, at + REQUEST_BYTES, target, regionOffset, lengthBytes);
        immediate = opcode == RemoteWire.WRITE_IMMEDIATE;
      }
    } catch (IllegalStateException | WrongThreadException e) {
      status = RemoteWire.NO_REGION; // its arena was closed under it
    } finally {
      region.leave();
    }
  }

  /** Finds a region and keeps it open; null, with the status that says why, otherwise. */
  private @Nullable ExportedRegion enter(long id, long offset, int lengthBytes, int right) {
    ExportedRegion region = exports.find(id);
    status = RemoteWire.DONE;
    if (region == null) {
      status = RemoteWire.NO_REGION;
    } else if (offset < 0 || offset > region.descriptor().lengthBytes() - lengthBytes) {
      status = RemoteWire.OUT_OF_BOUNDS;
    } else if (!MemoryAccess.includes(region.descriptor().access(), right)) {
      status = RemoteWire.NO_RIGHT;
    } else if (!region.enter()) {
      status = RemoteWire.NO_REGION;
    }
    return status == RemoteWire.DONE ? region : null;
  }

  private boolean answer(long id, int outcome, long word) {
    RemoteWire.writeDone(scratch, outcome, 0, word);
    return send(id, DONE_BYTES);
  }

  private boolean send(long id, int lengthBytes) {
    return sender.sendCopy(MessageType.REMOTE_DONE, id, scratch, 0, lengthBytes)
        != SendResult.BACK_PRESSURED;
  }

  private void keep(long id, int outcome, int lengthBytes, long regionId, long offsetOrValue) {
    int count = keptCount;
    if ((count + 1) * KEPT_WORDS > kept.length) {
      grow();
    }
    int at = (keptFirst + count * KEPT_WORDS) % kept.length;
    kept[at] = id;
    kept[at + 1] = outcome;
    kept[at + 2] = lengthBytes;
    kept[at + 3] = regionId;
    kept[at + 4] = offsetOrValue;
    keptCount = count + 1;
  }

  private void grow() {
    long[] larger = Arrays.copyOf(kept, 2 * kept.length);
    // The part that had gone around the end goes behind the rest.
    System.arraycopy(kept, 0, larger, kept.length, keptFirst);
    kept = larger;
  }

  /** Answers what found no room before; returns how many. */
  int answerKept() {
    int answered = 0;
    for (int count = keptCount; count > 0 && answerFirst(); answered++) {
      keptFirst = (keptFirst + KEPT_WORDS) % kept.length;
      keptCount = --count;
    }
    return answered;
  }

  private boolean answerFirst() {
    int at = keptFirst;
    return kept[at + 1] == READ_LATER
        ? read(kept[at], kept[at + 3], kept[at + 4], (int) kept[at + 2])
        : answer(kept[at], (int) kept[at + 1], kept[at + 4]);
  }
}
