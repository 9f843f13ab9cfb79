package io.rdma4j.examples.replication;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * An append-only log in one piece of memory, which is what goes over the wire too: positions here
 * are offsets in every replica's memory.
 *
 * <pre>
 *  record, a multiple of 64 bytes, little endian
 *   0  payload length  4
 *   4  CRC-32C of it   4
 *   8  payload         padded with what was there
 * </pre>
 *
 * <p>Records are whole units, so that a position fits into the 32 bits of immediate data up to 256
 * GiB. One thread at a time appends or advances; any thread may read below the end.
 */
final class CommitLog {
  static final int UNIT_BYTES = 64;
  private static final int HEADER_BYTES = 8;
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);

  private final MemorySegment memory;
  private volatile long end;

  CommitLog(MemorySegment memory) {
    this.memory = memory;
  }

  MemorySegment memory() {
    return memory;
  }

  /** Returns where the next record will begin. */
  long end() {
    return end;
  }

  /**
   * Appends a record.
   *
   * @return the log's end after it
   * @throws IllegalStateException when the log is full
   */
  long append(byte[] payload) {
    long start = end;
    long newEnd = start + unitsOf(payload.length) * (long) UNIT_BYTES;
    if (newEnd > memory.byteSize()) {
      throw new IllegalStateException(
          "a record of %d bytes does not fit behind position %d of a log of %d bytes"
              .formatted(payload.length, start, memory.byteSize()));
    }
    MemorySegment.copy(
        payload, 0, memory, ValueLayout.JAVA_BYTE, start + HEADER_BYTES, payload.length);
    memory.set(INT, start, payload.length);
    memory.set(INT, start + 4, checksum(start, payload.length));
    end = newEnd;
    return newEnd;
  }

  /** Takes note of records that somebody else has written into the memory. */
  void advance(long newEnd) {
    end = newEnd;
  }

  /**
   * Returns the number of records, each of which has been checked.
   *
   * @throws IllegalStateException for the first one that is damaged
   */
  long verify() {
    long records = 0;
    for (long at = 0; at < end; records++) {
      int length = memory.get(INT, at);
      if (length < 0
          || length > end - at - HEADER_BYTES
          || memory.get(INT, at + 4) != checksum(at, length)) {
        throw new IllegalStateException("the record at position " + at + " is damaged");
      }
      at += unitsOf(length) * (long) UNIT_BYTES;
    }
    return records;
  }

  private static int unitsOf(int payloadBytes) {
    return Math.toIntExact((payloadBytes + (long) HEADER_BYTES + UNIT_BYTES - 1) / UNIT_BYTES);
  }

  private int checksum(long start, int payloadBytes) {
    CRC32C checksum = new CRC32C();
    checksum.update(memory.asSlice(start + HEADER_BYTES, payloadBytes).asByteBuffer());
    return (int) checksum.getValue();
  }

  /** Returns the position as immediate data. */
  static int toImmediate(long position) {
    return (int) (position / UNIT_BYTES);
  }

  static long ofImmediate(int immediate) {
    return Integer.toUnsignedLong(immediate) * UNIT_BYTES;
  }
}
