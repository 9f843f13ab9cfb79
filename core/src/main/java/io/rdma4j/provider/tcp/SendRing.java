package io.rdma4j.provider.tcp;

import static io.rdma4j.provider.tcp.FrameLayout.CORRELATION_ID;
import static io.rdma4j.provider.tcp.FrameLayout.HEADER_BYTES;
import static io.rdma4j.provider.tcp.FrameLayout.WORD;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;

/**
 * Frames that wait for the socket: a ring of bytes, filled by the sender and emptied into the
 * socket by whichever of sender and poller holds the flush lock.
 *
 * <p>Nobody waits for that lock: who does not get it leaves its bytes to the holder, who looks for
 * more after giving it up. So no byte is stranded, and neither thread ever stops for the other.
 *
 * <pre>
 *  field      written by         mode
 *  tail       sender             release by the sender, acquire by the lock holder
 *  head       lock holder        release by the holder, acquire by the sender
 *  flushing   sender or poller   compare-and-set to take, volatile to give up
 * </pre>
 *
 * <p>Owned by the endpoint; the memory belongs to the arena given.
 */
final class SendRing {
  private static final VarHandle HEAD;
  private static final VarHandle TAIL;
  private static final VarHandle FLUSHING;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      HEAD = lookup.findVarHandle(SendRing.class, "head", long.class);
      TAIL = lookup.findVarHandle(SendRing.class, "tail", long.class);
      FLUSHING = lookup.findVarHandle(SendRing.class, "flushing", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final int MAX_ROUNDS = 4;

  private final MemorySegment memory;
  private final MemorySegment header;
  private final ByteBuffer view;
  private final int capacity;
  private long head;
  private long tail;
  private boolean flushing;

  /**
   * Creates an empty ring.
   *
   * @param capacity bytes, a power of two
   */
  SendRing(Arena arena, int capacity) {
    this.capacity = capacity;
    memory = arena.allocate(capacity, 64);
    header = arena.allocate(HEADER_BYTES, 8);
    view = memory.asByteBuffer();
  }

  /** Returns whether bytes wait; by any thread. */
  boolean isPending() {
    return (long) TAIL.getAcquire(this) != (long) HEAD.getAcquire(this);
  }

  /** Returns whether more than half is taken; by the sender. */
  boolean isCrowded() {
    return tail - (long) HEAD.getAcquire(this) > capacity >>> 1;
  }

  /** Returns whether a frame of this payload would find room; by the sender. */
  boolean hasRoom(int lengthBytes) {
    return tail + HEADER_BYTES + lengthBytes - (long) HEAD.getAcquire(this) <= capacity;
  }

  /** Appends a frame, or returns false when there is no room; by the sender. */
  boolean append(
      int type, int flags, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    long frameBytes = (long) HEADER_BYTES + lengthBytes;
    long end = tail + frameBytes;
    if (end - (long) HEAD.getAcquire(this) > capacity) {
      return false;
    }
    int index = (int) tail & capacity - 1;
    if (frameBytes <= capacity - index) {
      MemorySegment.copy(source, offset, memory, index + (long) HEADER_BYTES, lengthBytes);
      writeHeader(memory, index, type, flags, correlationId, lengthBytes);
    } else {
      writeHeader(header, 0, type, flags, correlationId, lengthBytes);
      copyIn(source, offset, tail + HEADER_BYTES, lengthBytes);
      copyIn(header, 0, tail, HEADER_BYTES);
    }
    TAIL.setRelease(this, end);
    return true;
  }

  private static void writeHeader(
      MemorySegment to, long at, int type, int flags, long correlationId, int lengthBytes) {
    to.set(WORD, at, FrameLayout.word(lengthBytes, type, flags));
    to.set(WORD, at + CORRELATION_ID, correlationId);
  }

  /** Copies to a position of the stream, around the end of the ring where need be. */
  private void copyIn(MemorySegment source, long offset, long position, int lengthBytes) {
    int index = (int) position & capacity - 1;
    int first = Math.min(lengthBytes, capacity - index);
    MemorySegment.copy(source, offset, memory, index, first);
    MemorySegment.copy(source, offset + first, memory, 0, lengthBytes - first);
  }

  /**
   * Writes what the socket takes now, unless the other thread is doing so. Returns after a few
   * rounds even when the sender keeps adding; the next flush goes on.
   */
  void flush(ByteChannel socket) throws IOException {
    boolean more = true;
    for (int round = 0; more && round < MAX_ROUNDS && isPending(); round++) {
      if (!FLUSHING.compareAndSet(this, false, true)) {
        return;
      }
      try {
        more = write(socket);
      } finally {
        // Volatile, so that giving up the lock comes before the next look at tail: a sender may
        // have appended and found the lock taken.
        FLUSHING.setVolatile(this, false);
      }
    }
  }

  /** Writes what is there at the start; returns false when the socket takes no more. */
  private boolean write(ByteChannel socket) throws IOException {
    long from = head;
    long end = (long) TAIL.getAcquire(this);
    while (from != end) {
      int index = (int) from & (capacity - 1);
      int chunk = (int) Math.min(end - from, capacity - index);
      view.limit(index + chunk).position(index);
      int written = socket.write(view);
      from += written;
      HEAD.setRelease(this, from);
      if (written < chunk) {
        return false;
      }
    }
    return true;
  }
}
