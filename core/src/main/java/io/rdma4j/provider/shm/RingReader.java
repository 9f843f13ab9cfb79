package io.rdma4j.provider.shm;

import static io.rdma4j.provider.shm.RecordLayout.CORRELATION_ID;
import static io.rdma4j.provider.shm.RecordLayout.HEADER_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.LINE_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.WORD;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.provider.EndpointListener;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The consuming end of a ring.
 *
 * <p>Single thread only: the poller. The memory is owned by the endpoint.
 *
 * <p>Three positions follow each other through the ring:
 *
 * <pre>
 *      given back          zeroed              read           the producer's
 *  ---------+-----------------+------------------+----------------+-------
 *   producer|  each line      |  the record that |  records       | zeros
 *   may use |  starts with 0  |  is delivered    |  to read       |
 * </pre>
 *
 * The word at the start of each line of a record is zeroed, so that nothing of it can be taken for
 * a record in the next round; behind its delivery, and behind whatever the listener sends in it.
 * The stores serve another end as well: they make this core the only owner of the lines. A line of
 * which both cores have a copy costs the producer several times as much to write to as one that the
 * consumer alone has.
 *
 * <p>The position is published at the first poll that finds nothing, or when a sixteenth of the
 * ring has come together.
 */
final class RingReader extends Padded {
  /** Part of the ring that goes back at once: seldom enough for a producer that is never full. */
  private static final int RECLAIM_PARTS = 16;

  private final MemorySegment ring;
  private final MemorySegment consumer;
  private final long capacity;
  private final int maxMessageBytes;
  private final long reclaimBytes;
  private long position;
  private long clearedPosition;
  private long reclaimedPosition;
  private boolean stopped;
  private @Nullable String corruption;

  /**
   * Starts at position 0.
   *
   * @param ring zeros, a power of two long
   * @param consumer 8 bytes, the position up to which this end is done
   */
  RingReader(MemorySegment ring, MemorySegment consumer, int maxMessageBytes) {
    this.ring = ring;
    this.consumer = consumer;
    this.capacity = ring.byteSize();
    this.maxMessageBytes = maxMessageBytes;
    this.reclaimBytes = capacity / RECLAIM_PARTS;
  }

  /** Delivers up to {@code messageLimit} messages and returns how many there were. */
  int poll(EndpointListener listener, int messageLimit) {
    int messages = 0;
    while (messages < messageLimit && !stopped) {
      long index = position & capacity - 1;
      long word = (long) WORD.getAcquire(ring, index);
      if (word == 0) {
        break;
      }
      long lengthBytes = RecordLayout.lengthBytes(word);
      if (RecordLayout.tag(word) == RecordLayout.MESSAGE
          && lengthBytes <= maxMessageBytes
          && HEADER_BYTES + lengthBytes <= capacity - index) {
        clear();
        position += RecordLayout.recordBytes(lengthBytes);
        messages++;
        listener.onMessage(
            RecordLayout.type(word),
            ring.get(JAVA_LONG, index + CORRELATION_ID),
            ring,
            index + HEADER_BYTES,
            (int) lengthBytes);
      } else if (RecordLayout.tag(word) == RecordLayout.PADDING
          && lengthBytes == capacity - index
          && index != 0) {
        position += lengthBytes;
      } else {
        corruption = describe(index, word);
        stopped = true;
      }
      if (position - reclaimedPosition >= reclaimBytes && !stopped) {
        reclaim();
      }
    }
    return messages;
  }

  /**
   * Zeroes the starts of all lines that were read: those of one record, and of padding before the
   * ring's end, so they are in one piece.
   */
  private void clear() {
    long from = clearedPosition & capacity - 1;
    long end = from + position - clearedPosition;
    for (long line = from; line < end; line += LINE_BYTES) {
      ring.set(JAVA_LONG, line, 0L);
    }
    clearedPosition = position;
  }

  /** Returns whether no record lies ahead. */
  boolean isEmpty() {
    return (long) WORD.getAcquire(ring, position & capacity - 1) == 0;
  }

  /** Gives all lines that were left behind back to the producer. */
  void reclaim() {
    if (reclaimedPosition != position) {
      clear();
      WORD.setRelease(consumer, 0L, position);
      reclaimedPosition = position;
    }
  }

  /** Makes every later poll find nothing, also one that is under way further up the stack. */
  void stop() {
    stopped = true;
  }

  /** Returns what is wrong with the ring, or null. */
  @Nullable String corruption() {
    return corruption;
  }

  private String describe(long index, long word) {
    return "ring of "
        + capacity
        + " bytes, position "
        + position
        + ": commit word 0x"
        + Long.toHexString(word)
        + " at offset "
        + index
        + " is neither a message of at most "
        + maxMessageBytes
        + " bytes nor padding to the end";
  }
}
