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
 * <p>The consumer looks for the next record in a word that may hold anything from the round before,
 * so this end clears: when a record is committed, the word behind it is zero already. Words further
 * ahead are cleared after the commit, off the reader's path; that also brings their lines into this
 * core's cache before the payloads are written.
 */
final class RingWriter extends Padded {
  /** The record was published. */
  static final int WRITTEN = 0;

  /** The consumer has not read far enough. */
  static final int FULL = 1;

  /** The consumer's position makes no sense; nothing can be written any more. */
  static final int CORRUPT = 2;

  /** Two pages: enough to keep ahead of a burst of small messages. */
  private static final long CLEAR_AHEAD_BYTES = 8 * 1024;

  private final MemorySegment ring;
  private final MemorySegment consumer;
  private final long capacity;
  private final long clearAheadBytes;
  private long position;

  /** Line starts from {@link #position} up to here are zero. */
  private long clearedPosition;

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
    this.clearAheadBytes = Math.min(CLEAR_AHEAD_BYTES, capacity / 4);
    this.clearedPosition = capacity; // a new ring is all zeros
  }

  /** Publishes a message whose record is at most a quarter of the ring. */
  int write(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    long recordBytes = RecordLayout.recordBytes(lengthBytes);
    long index = position & capacity - 1;
    long paddingBytes = recordBytes > capacity - index ? capacity - index : 0;
    long end = position + paddingBytes + recordBytes;
    long clearedEnd = end + LINE_BYTES;
    if (clearedEnd - consumerPosition > capacity) {
      int room = refreshConsumerPosition(clearedEnd);
      if (room != WRITTEN) {
        return room;
      }
    }
    long start = index;
    if (paddingBytes != 0) {
      start = 0;
    }
    MemorySegment.copy(source, offset, ring, start + HEADER_BYTES, lengthBytes);
    ring.set(JAVA_LONG, start + CORRELATION_ID, correlationId);
    if (clearedPosition < clearedEnd) {
      ring.set(JAVA_LONG, end & capacity - 1, 0L);
      clearedPosition = clearedEnd;
    }
    WORD.setRelease(ring, start, RecordLayout.commitWord(RecordLayout.MESSAGE, type, lengthBytes));
    if (paddingBytes != 0) {
      // After the record: the consumer gets to that through the padding.
      WORD.setRelease(ring, index, RecordLayout.commitWord(RecordLayout.PADDING, 0, paddingBytes));
    }
    position = end;
    if (clearedPosition - end < clearAheadBytes / 2) {
      clearAhead();
    }
    return WRITTEN;
  }

  /** Returns whether a message of this length would not find the ring full, wherever it starts. */
  boolean hasRoom(int lengthBytes) {
    // The worst padding is a little less than the record itself.
    long clearedEnd = position + 2 * RecordLayout.recordBytes(lengthBytes) + LINE_BYTES;
    return clearedEnd - consumerPosition <= capacity || refreshConsumerPosition(clearedEnd) != FULL;
  }

  private void clearAhead() {
    long to = Math.min(position + clearAheadBytes, consumerPosition + capacity);
    for (long p = clearedPosition; p < to; p += LINE_BYTES) {
      ring.set(JAVA_LONG, p & capacity - 1, 0L);
    }
    clearedPosition = Math.max(clearedPosition, to);
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
