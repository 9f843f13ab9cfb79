package io.rdma4j.transport;

import io.rdma4j.provider.Endpoint;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Messages that were sent and that the peer has not acknowledged, in order, to be sent again over
 * another path. Copied ones lie in a ring of bytes; registered ones stay where they are, and their
 * token is kept.
 *
 * <pre>
 *  field        written by                        read by
 *  head         sender, after the entry           poller
 *  tail         poller, when entries are let go   sender
 *  bytesTail    poller, before tail               sender
 * </pre>
 *
 * All are written with release and read as volatile: what was written before is seen with them, and
 * a message costs no fence. One may leave once it is both acknowledged and out of the device's
 * hands; the numbers start with 0 and never wrap.
 *
 * <p>Owns the bytes; {@link #close} frees them.
 */
final class RetainedMessages {
  /** Gets the tokens of messages that have left. */
  interface Tokens {
    void onSent(long token);
  }

  private static final long COPIED = -1;
  private static final VarHandle HEAD;
  private static final VarHandle TAIL;
  private static final VarHandle BYTES_TAIL;

  static {
    try {
      Lookup lookup = MethodHandles.lookup();
      HEAD = lookup.findVarHandle(RetainedMessages.class, "head", long.class);
      TAIL = lookup.findVarHandle(RetainedMessages.class, "tail", long.class);
      BYTES_TAIL = lookup.findVarHandle(RetainedMessages.class, "bytesTail", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Arena arena = Arena.ofShared();
  private final MemorySegment bytes;
  private final int mask;
  private final int[] types;
  private final int[] lengths;
  private final long[] correlationIds;
  private final long[] tokens;

  /**
   * Where a copied message starts in the endless sequence of bytes, or a registered one in its
   * memory.
   */
  private final long[] positions;

  private final @Nullable MemorySegment[] sources;
  private volatile long head;
  private volatile long tail;
  private volatile long bytesTail;

  /** By the sender: end of the last copy. */
  private long bytesHead;

  /** By the poller: all registered messages before this number are out of the device's hands. */
  private long done;

  /** By the poller: the peer has had all messages before this number. */
  private long acknowledged;

  /**
   * Makes room.
   *
   * @param messages a power of two
   * @param capacityBytes for copies
   */
  RetainedMessages(int messages, long capacityBytes) {
    mask = messages - 1;
    types = new int[messages];
    lengths = new int[messages];
    correlationIds = new long[messages];
    tokens = new long[messages];
    positions = new long[messages];
    sources = new MemorySegment[messages];
    try {
      bytes = arena.allocate(capacityBytes, 64);
    } catch (OutOfMemoryError e) {
      arena.close();
      throw e;
    }
  }

  /** Returns whether one more message fits; by the sender. */
  boolean hasRoom(int copiedBytes) {
    return head - tail <= mask && place(copiedBytes) + copiedBytes - bytesTail <= bytes.byteSize();
  }

  /** Returns where a copy would start: never across the end of the ring. */
  private long place(int lengthBytes) {
    long left = bytes.byteSize() - bytesHead % bytes.byteSize();
    return lengthBytes <= left ? bytesHead : bytesHead + left;
  }

  /** Keeps a copy; by the sender, when there is room. */
  void addCopy(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    long start = place(lengthBytes);
    MemorySegment.copy(source, offset, bytes, start % bytes.byteSize(), lengthBytes);
    bytesHead = start + lengthBytes;
    add(type, correlationId, COPIED, start, lengthBytes, null);
  }

  /** Keeps a registered message and its token; by the sender, when there is room. */
  void addRegistered(
      int type,
      long correlationId,
      MemorySegment source,
      long offset,
      int lengthBytes,
      long token) {
    add(type, correlationId, token, offset, lengthBytes, source);
  }

  private void add(
      int type,
      long correlationId,
      long token,
      long position,
      int lengthBytes,
      @Nullable MemorySegment source) {
    long number = head;
    int slot = (int) number & mask;
    types[slot] = type;
    correlationIds[slot] = correlationId;
    tokens[slot] = token;
    positions[slot] = position;
    lengths[slot] = lengthBytes;
    sources[slot] = source;
    HEAD.setRelease(this, number + 1);
  }

  /** Takes back the registered message added last, which was not sent; by the sender. */
  void undoRegistered() {
    long number = head - 1;
    sources[(int) number & mask] = null;
    HEAD.setRelease(this, number);
  }

  /** Returns how many messages were sent in all. */
  long sent() {
    return head;
  }

  /** Returns the number of the oldest message kept. */
  long oldest() {
    return tail;
  }

  /** Returns whether the peer can have had that many of the messages, and no fewer than it said. */
  boolean mayHaveHad(long count) {
    return count >= acknowledged && count <= head;
  }

  /** Lets go what the peer has had; by the poller. */
  void acknowledge(long count, Tokens listener) {
    acknowledged = Math.max(acknowledged, count);
    letGo(listener);
  }

  /** The device has done with the oldest registered message that it had; by the poller. */
  void deviceDone(Tokens listener) {
    while (done < head && tokens[(int) done & mask] == COPIED) {
      done++;
    }
    if (done < head) {
      done++;
    }
    letGo(listener);
  }

  /** The path is closed, so no device has any message; by the poller, with senders kept out. */
  void pathClosed() {
    done = head;
  }

  private void letGo(Tokens listener) {
    long number = tail;
    long end = Math.min(acknowledged, head);
    while (number < end) {
      int slot = (int) number & mask;
      long token = tokens[slot];
      if (token != COPIED && number >= done) {
        break;
      }
      long copyEnd = positions[slot] + lengths[slot];
      number++;
      if (token == COPIED) {
        BYTES_TAIL.setRelease(this, copyEnd);
        TAIL.setRelease(this, number);
      } else {
        sources[slot] = null;
        TAIL.setRelease(this, number);
        listener.onSent(token);
      }
    }
  }

  /** Sends a message again; the result is that of the endpoint. By the poller, senders kept out. */
  long sendAgain(long number, Endpoint endpoint) {
    int slot = (int) number & mask;
    MemorySegment source = sources[slot];
    return source == null
        ? endpoint.send(
            types[slot],
            correlationIds[slot],
            bytes,
            positions[slot] % bytes.byteSize(),
            lengths[slot])
        : endpoint.send(types[slot], correlationIds[slot], source, positions[slot], lengths[slot]);
  }

  /** Gives back all tokens and the memory. */
  void close(Tokens listener) {
    done = head;
    acknowledged = head;
    letGo(listener);
    arena.close();
  }
}
