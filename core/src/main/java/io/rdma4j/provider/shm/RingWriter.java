package io.rdma4j.provider.shm;

import static io.rdma4j.provider.shm.RecordLayout.CORRELATION_ID;
import static io.rdma4j.provider.shm.RecordLayout.FIRST_LINE_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.HEADER_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.LINE_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.WORD;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The producing end of a ring.
 *
 * <p>Single thread only: the sender. The memory is owned by the endpoint.
 *
 * <p>What the consumer has given back starts with a zero in each line, so the consumer finds
 * nothing behind the last record. The line behind a record therefore has to be free as well.
 *
 * <p>A record is held until {@link #publish}, or until some have come together: its first commit
 * word is written last, and the consumer then finds all of them.
 *
 * <pre>
 *  consumer finds    held: commit word is 0        complete, out of sight
 *  -- records ------+------------------------------+-----------------------+-- zeros
 *                   ^ heldIndex                                            ^ position
 * </pre>
 */
final class RingWriter extends Padded {
  /** The record was written. */
  static final int WRITTEN = 0;

  /** The consumer has not read far enough. */
  static final int FULL = 1;

  /** The consumer's position makes no sense; nothing can be written any more. */
  static final int CORRUPT = 2;

  /** The consumer should neither find each record by itself nor wait for the last of many. */
  private static final int MOST_HELD = 4;

  private static final int MOST_HELD_BYTES = 1024;
  private static final VarHandle HELD;

  static {
    try {
      HELD = MethodHandles.lookup().findVarHandle(RingWriter.class, "held", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final MemorySegment ring;
  private final MemorySegment consumer;
  private final long capacity;
  private long position;
  private long consumerPosition;

  /** Records held; 0 when the consumer sees all. */
  private int held;

  private long heldPosition;
  private long heldIndex;
  private long heldWord;

  /**
   * Starts at position 0.
   *
   * @param ring zeros, a power of two long
   * @param consumer 8 bytes, the position up to which the consumer is done
   */
  RingWriter(MemorySegment ring, MemorySegment consumer) {
    this.ring = ring;
    this.consumer = consumer;
    this.capacity = ring.byteSize();
  }

  /** Writes a message whose record is at most a quarter of the ring. */
  int write(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    long recordBytes = RecordLayout.recordBytes(lengthBytes);
    long index = position & capacity - 1;
    long paddingBytes = recordBytes > capacity - index ? capacity - index : 0;
    long end = position + paddingBytes + recordBytes;
    long freeEnd = end + LINE_BYTES;
    if (freeEnd - consumerPosition > capacity) {
      int room = refreshConsumerPosition(freeEnd);
      if (room != WRITTEN) {
        publish(); // what the consumer does not find makes no room
        return room;
      }
    }
    long start = paddingBytes != 0 ? 0 : index;
    try {
      copy(source, offset, start, lengthBytes);
    } catch (InternalError e) { // a mapped source whose file has shrunk; some of it is here
      wipe(start, recordBytes);
      throw e;
    }
    ring.set(JAVA_LONG, start + CORRELATION_ID, correlationId);
    long word = RecordLayout.commitWord(RecordLayout.MESSAGE, type, lengthBytes);
    if (paddingBytes != 0) {
      // The consumer gets to the record through the padding.
      WORD.setRelease(ring, start, word);
      word = RecordLayout.commitWord(RecordLayout.PADDING, 0, paddingBytes);
    }
    hold(index, word);
    position = end;
    if (held == MOST_HELD || end - heldPosition >= MOST_HELD_BYTES) {
      publish();
    }
    return WRITTEN;
  }

  /**
   * Copies a payload, the line of the commit word last: a consumer that waits there takes the line
   * back at once, and would do so between this line's first store and the commit word if the stores
   * to other lines, which this core has yet to get hold of, were in between.
   */
  private void copy(MemorySegment source, long offset, long start, int lengthBytes) {
    long payload = start + HEADER_BYTES;
    if (lengthBytes <= FIRST_LINE_BYTES) {
      MemorySegment.copy(source, offset, ring, payload, lengthBytes);
      return;
    }
    int restBytes = lengthBytes - FIRST_LINE_BYTES;
    MemorySegment.copy(
        source, offset + FIRST_LINE_BYTES, ring, payload + FIRST_LINE_BYTES, restBytes);
    for (int at = 0; at < FIRST_LINE_BYTES; at += Long.BYTES) {
      ring.set(JAVA_LONG, payload + at, source.get(JAVA_LONG_UNALIGNED, offset + at));
    }
  }

  /** Ends a record by its first commit word, which waits when no other one does. */
  private void hold(long index, long word) {
    if (held == 0) {
      heldPosition = position;
      heldIndex = index;
      heldWord = word;
    } else {
      WORD.setRelease(ring, index, word);
    }
    HELD.setOpaque(this, held + 1);
  }

  /** Lets the consumer find all that was written. */
  void publish() {
    if (held != 0) {
      WORD.setRelease(ring, heldIndex, heldWord);
      HELD.setOpaque(this, 0);
    }
  }

  /** Returns whether something waits for {@link #publish}. Any thread. */
  boolean holds() {
    return (int) HELD.getOpaque(this) != 0;
  }

  /** Leaves a record that was not published as it was found, as far as the consumer sees. */
  private void wipe(long start, long recordBytes) {
    for (long line = start; line < start + recordBytes; line += LINE_BYTES) {
      ring.set(JAVA_LONG, line, 0L);
    }
  }

  /** Returns whether a message of this length would not find the ring full, wherever it starts. */
  boolean hasRoom(int lengthBytes) {
    // The worst padding is a little less than the record itself.
    long freeEnd = position + 2 * RecordLayout.recordBytes(lengthBytes) + LINE_BYTES;
    return freeEnd - consumerPosition <= capacity || refreshConsumerPosition(freeEnd) != FULL;
  }

  /** Reads how far the consumer is; the peer wrote it, so it is checked before it is believed. */
  private int refreshConsumerPosition(long end) {
    long seen = (long) WORD.getAcquire(consumer, 0L);
    if (seen < consumerPosition || seen > position || (seen & LINE_BYTES - 1) != 0) {
      return CORRUPT;
    }
    consumerPosition = seen;
    return end - seen > capacity ? FULL : WRITTEN;
  }

  /** Returns what is wrong after {@link #CORRUPT}. */
  String corruption() {
    return "consumer position "
        + (long) WORD.getAcquire(consumer, 0L)
        + " is not a multiple of "
        + LINE_BYTES
        + " between "
        + consumerPosition
        + " and the producer position "
        + position;
  }
}
