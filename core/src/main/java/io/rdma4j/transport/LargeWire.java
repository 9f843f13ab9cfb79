package io.rdma4j.transport;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.CodingErrorAction;

/**
 * The messages of a large transfer, little endian. The correlation id is the sender's number of it.
 *
 * <pre>
 *  LARGE_OFFER  S → R    0  length     8     8  tag       8
 *  LARGE_ACCEPT S ← R    0  path id    8     whose device reads; 0 for messages only
 *  LARGE_DATA   S → R    the next bytes
 *  LARGE_KEY    S → R    0  path id    8     8  address   8    16  length  8    24  rkey  4
 *  LARGE_TAKEN  S ← R    0  position   8     all before it has arrived
 *  LARGE_AGAIN  S ← R    0  position   8     8  path id   8    keys are of no use: start there
 *  LARGE_FROM   S → R    0  position   8     the answer: what follows starts there
 *  LARGE_CANCEL S → R    as LARGE_END
 *  LARGE_END    S ← R    0  status     4     4  reason, UTF-8
 * </pre>
 */
final class LargeWire {
  static final int OFFER_BYTES = 16;
  static final int ACCEPT_BYTES = 8;
  static final int KEY_BYTES = 28;
  static final int POSITION_BYTES = 8;
  static final int AGAIN_BYTES = 16;
  static final int END_BYTES = 4;
  static final int MAX_REASON_BYTES = 512;

  static final int DONE = 0;
  static final int REFUSED = 1;
  static final int CANCELLED = 2;

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private LargeWire() {}

  static void putLong(MemorySegment to, long at, long value) {
    to.set(LONG, at, value);
  }

  static long getLong(MemorySegment from, long at) {
    return from.get(LONG, at);
  }

  static void putInt(MemorySegment to, long at, int value) {
    to.set(INT, at, value);
  }

  static int getInt(MemorySegment from, long at) {
    return from.get(INT, at);
  }

  /** Writes an end and returns its length. */
  static int writeEnd(MemorySegment to, int status, String reason) {
    putInt(to, 0, status);
    byte[] text = reason.getBytes(UTF_8);
    int length = Math.min(text.length, Math.min(MAX_REASON_BYTES, (int) to.byteSize() - END_BYTES));
    MemorySegment.copy(text, 0, to, ValueLayout.JAVA_BYTE, END_BYTES, length);
    return END_BYTES + length;
  }

  /** Reads the reason of an end; a character that was cut is left out. */
  static String reason(MemorySegment from, long at, int lengthBytes) {
    var text = from.asSlice(at + END_BYTES, lengthBytes - END_BYTES).asByteBuffer();
    try {
      return UTF_8.newDecoder().onMalformedInput(CodingErrorAction.IGNORE).decode(text).toString();
    } catch (java.nio.charset.CharacterCodingException e) {
      return "";
    }
  }

  /** Returns the length of what follows a position, cut at a limit. */
  static int nextBytes(long position, long endPosition, int limitBytes) {
    return (int) Math.min(limitBytes, endPosition - position);
  }
}
