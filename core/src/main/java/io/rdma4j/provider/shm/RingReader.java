package io.rdma4j.provider.shm;

import static io.rdma4j.provider.shm.RecordLayout.CORRELATION_ID;
import static io.rdma4j.provider.shm.RecordLayout.HEADER_BYTES;
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
 * <p>This end only reads the ring: a store would take the line away from the producer's cache. The
 * position is published at the first poll that finds nothing, or when {@link #RECLAIM_BYTES} have
 * come together.
 */
final class RingReader extends Padded {
  /** Long enough to spare the producer a refresh per message, short enough not to be felt. */
  private static final long RECLAIM_BYTES = 8 * 1024;

  private final MemorySegment ring;
  private final MemorySegment consumer;
  private final long capacity;
  private final int maxMessageBytes;
  private final long reclaimBytes;
  private long position;
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
    this.reclaimBytes = Math.min(capacity / 4, RECLAIM_BYTES);
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

  /** Returns whether no record lies ahead. */
  boolean isEmpty() {
    return (long) WORD.getAcquire(ring, position & capacity - 1) == 0;
  }

  /** Gives all consumed lines back to the producer. */
  void reclaim() {
    if (reclaimedPosition != position) {
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
