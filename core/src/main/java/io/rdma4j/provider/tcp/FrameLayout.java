package io.rdma4j.provider.tcp;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * A frame on the socket, big endian.
 *
 * <pre>
 *   0        4      5       6          8                16
 *   +--------+------+-------+----------+----------------+--------------
 *   | length | type | flags | reserved | correlation id | payload
 *   | u32    | u8   | u8    | u16, 0   | 8 bytes        | length bytes
 *   +--------+------+-------+----------+----------------+--------------
 *
 *  flags 0  message
 *  flags 1  close: the sender has closed in good order; all else is 0, nothing follows
 * </pre>
 */
final class FrameLayout {
  static final int HEADER_BYTES = 16;
  static final int CORRELATION_ID = 8;
  static final int MESSAGE = 0;
  static final int CLOSE = 1;
  static final ValueLayout.OfLong WORD = JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  private FrameLayout() {}

  /** Returns the first 8 bytes of a frame. */
  static long word(int lengthBytes, int type, int flags) {
    return (long) lengthBytes << 32 | (long) type << 24 | (long) flags << 16;
  }

  /** Returns the length, 0 to 2^32 - 1: the peer wrote it. */
  static long lengthBytes(long word) {
    return word >>> 32;
  }

  static int type(long word) {
    return (int) (word >>> 24) & 0xFF;
  }

  /**
   * Returns flags and reserved bits as one number, {@link #MESSAGE} or {@link #CLOSE} when valid.
   */
  static int kind(long word) {
    int bits = (int) word & 0xFFFFFF;
    return (bits & 0xFFFF) == 0 ? bits >>> 16 : -1;
  }
}
