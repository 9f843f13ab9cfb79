package io.rdma4j.provider.shm;

import static io.rdma4j.provider.shm.RecordLayout.CORRELATION_ID;
import static io.rdma4j.provider.shm.RecordLayout.HEADER_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.LINE_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.WORD;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;

/**
 * The producing end of a ring.
 *
 * <p>Single thread only: the sender. The memory is owned by the endpoint.
 *
 * <p>What the consumer has given back starts with a zero in each line, so the consumer finds
 * nothing behind the last record. The line behind a record therefore has to be free as well.
 */
final class RingWriter extends Padded {
  /** The record was published. */
  static final int WRITTEN = 0;

  /** The consumer has not read far enough. */
  static final int FULL = 1;

  /** The consumer's position makes no sense; nothing can be written any more. */
  static final int CORRUPT = 2;

  private final MemorySegment ring;
  private final MemorySegment consumer;
  private final long capacity;
  private long position;
  private long consumerPosition;

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

  /** Publishes a message whose record is at most a quarter of the ring. */
  int write(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    long recordBytes = RecordLayout.recordBytes(lengthBytes);
    long index = position & capacity - 1;
    long paddingBytes = recordBytes > capacity - index ? capacity - index : 0;
    long end = position + paddingBytes + recordBytes;
    long freeEnd = end + LINE_BYTES;
    if (freeEnd - consumerPosition > capacity) {
      int room = refreshConsumerPosition(freeEnd);
      if (room != WRITTEN) {
        return room;
      }
    }
    long start = index;
    if (paddingBytes != 0) {
      start = 0;
    }
    try {
      MemorySegment.copy(source, offset, ring, start + HEADER_BYTES, lengthBytes);
    } catch (InternalError e) { // a mapped source whose file has shrunk; some of it is here
      wipe(start, recordBytes);
      throw e;
    }
    ring.set(JAVA_LONG, start + CORRELATION_ID, correlationId);
    WORD.setRelease(ring, start, RecordLayout.commitWord(RecordLayout.MESSAGE, type, lengthBytes));
    if (paddingBytes != 0) {
      // After the record: the consumer gets to that through the padding.
      WORD.setRelease(ring, index, RecordLayout.commitWord(RecordLayout.PADDING, 0, paddingBytes));
    }
    position = end;
    return WRITTEN;
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
