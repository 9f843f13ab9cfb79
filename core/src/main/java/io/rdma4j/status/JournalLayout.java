package io.rdma4j.status;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * A journal file: a ring of slots of equal size behind a header, all numbers little endian.
 *
 * <pre>
 *  header, one slot
 *    0  magic        8   "rdma4jJL"
 *    8  version      4   1
 *   12  slot bytes   4   512
 *   16  slots        8   how many follow
 *   24  created      8   nanoseconds since the epoch
 *   32  checksum     4   CRC-32C of bytes 0 to 31
 *
 *  slot
 *    0  sequence     8   from 1, one more for each slot written; 0: never written
 *    8  checksum     4   CRC-32C of bytes 0 to 7, then 12 to the end of the payload
 *   12  type         2   EVENT 1, INCIDENT 2
 *   14  part         1   from 0
 *   15  parts        1   slots of this record, one behind the other
 *   16  length       4   payload bytes in this slot
 *   20  payload    492
 * </pre>
 *
 * <p>The slot of sequence s is slot {@code (s - 1) % slots}. A slot stands for itself: one that was
 * half written when its process was killed has a wrong checksum, and costs that record alone.
 */
final class JournalLayout {
  static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  static final long MAGIC = 0x4c4a_6a34_616d_6472L;
  static final int VERSION = 1;
  static final int SLOT_BYTES = 512;

  static final long HEADER_MAGIC = 0;
  static final long HEADER_VERSION = 8;
  static final long HEADER_SLOT_BYTES = 12;
  static final long HEADER_SLOTS = 16;
  static final long HEADER_CREATED = 24;
  static final long HEADER_CHECKSUM = 32;

  static final long SEQUENCE = 0;
  static final long CHECKSUM = 8;
  static final long TYPE = 12;
  static final long PART = 14;
  static final long PARTS = 15;
  static final long LENGTH = 16;
  static final int PAYLOAD = 20;
  static final int PAYLOAD_BYTES = SLOT_BYTES - PAYLOAD;

  static final short TYPE_EVENT = 1;
  static final short TYPE_INCIDENT = 2;

  /** The part number is a byte. */
  static final int MAX_RECORD_BYTES = 255 * PAYLOAD_BYTES;

  private JournalLayout() {}

  static int headerChecksum(MemorySegment header) {
    CRC32C crc = new CRC32C();
    crc.update(header.asSlice(0, HEADER_CHECKSUM).toArray(JAVA_BYTE));
    return (int) crc.getValue();
  }

  /** The checksum of a slot whose length has been checked. */
  static int checksum(MemorySegment slot, int lengthBytes) {
    CRC32C crc = new CRC32C();
    crc.update(slot.asSlice(SEQUENCE, 8).toArray(JAVA_BYTE));
    crc.update(slot.asSlice(TYPE, PAYLOAD - TYPE + lengthBytes).toArray(JAVA_BYTE));
    return (int) crc.getValue();
  }

  /** Whether a slot holds what was written into it, whole. */
  static boolean isWhole(MemorySegment slot) {
    int lengthBytes = slot.get(INT, LENGTH);
    return lengthBytes >= 0
        && lengthBytes <= PAYLOAD_BYTES
        && slot.get(INT, CHECKSUM) == checksum(slot, lengthBytes);
  }
}
