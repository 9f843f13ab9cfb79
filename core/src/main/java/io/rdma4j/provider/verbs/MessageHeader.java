package io.rdma4j.provider.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * The 16 bytes in front of every payload, little endian.
 *
 * <pre>
 *   0  payload length   4
 *   4  credits          2   low bits of the number of data messages whose receive the sender of
 *                           this header has posted again since the connection was made
 *   6  kind             1   DATA, CREDIT or GOODBYE; the last two carry no payload
 *   7  type             1   of the application, 0 unless DATA
 *   8  correlation id   8   of the application, 0 unless DATA
 * </pre>
 */
final class MessageHeader {
  static final int BYTES = 16;

  /** A message of the application. */
  static final byte DATA = 1;

  /** Returns credits, nothing else. */
  static final byte CREDIT = 2;

  /** The sender closes in good order; nothing follows. */
  static final byte GOODBYE = 3;

  /** Largest window for which the 16 bits of the credits are unambiguous. */
  static final int MAX_WINDOW = 1 << 14;

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private MessageHeader() {}

  static void write(
      MemorySegment memory,
      long at,
      int lengthBytes,
      int credits,
      byte kind,
      int type,
      long correlationId) {
    long second = (credits & 0xffff) | kind << 16 | type << 24;
    memory.set(LONG, at, second << 32 | lengthBytes);
    memory.set(LONG, at + 8, correlationId);
  }

  /** Replaces the credits of a header that was written before. */
  static void setCredits(MemorySegment memory, long at, int credits) {
    memory.set(SHORT, at + 4, (short) credits);
  }

  /** Reads the first half, which has all but the correlation id. */
  static long first(MemorySegment memory, long at) {
    return memory.get(LONG, at);
  }

  static int lengthBytes(long first) {
    return (int) first;
  }

  static short credits(long first) {
    return (short) (first >> 32);
  }

  static byte kind(long first) {
    return (byte) (first >> 48);
  }

  static int type(long first) {
    return (int) (first >>> 56);
  }

  static long correlationId(MemorySegment memory, long at) {
    return memory.get(LONG, at + 8);
  }
}
