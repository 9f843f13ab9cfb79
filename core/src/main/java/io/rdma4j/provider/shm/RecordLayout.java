package io.rdma4j.provider.shm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.invoke.VarHandle;

/**
 * A record of a ring. It starts on a cache line, its payload is contiguous.
 *
 * <pre>
 *   0        8                 16
 *   +--------+-----------------+---------------------+- - - - - - - - - - - -+
 *   | commit | correlation id  | payload             | unused, to next line  |
 *   +--------+-----------------+---------------------+- - - - - - - - - - - -+
 *   | first cache line: up to 48 bytes of payload    |
 *
 *  commit word   63          48 47   40 39   32 31                       0
 *                | 0x5264       | kind  | type  | length in bytes          |
 *  kind 1        message; length of the payload
 *  kind 2        padding up to the end of the ring; length of the whole record
 *  0             nothing here yet
 * </pre>
 */
final class RecordLayout {
  static final int LINE_BYTES = 64;
  static final int HEADER_BYTES = 16;
  static final int CORRELATION_ID = 8;

  /** Payload in the line of the commit word. */
  static final int FIRST_LINE_BYTES = LINE_BYTES - HEADER_BYTES;

  /** Top 24 bits of the commit word of a message. */
  static final int MESSAGE = 0x526401;

  /** Top 24 bits of the commit word of padding. */
  static final int PADDING = 0x526402;

  /** Access to commit words and positions: (segment, offset). */
  static final VarHandle WORD = JAVA_LONG.varHandle().withInvokeExactBehavior();

  private RecordLayout() {}

  static long commitWord(int tag, int type, long lengthBytes) {
    return (long) tag << 40 | (long) type << 32 | lengthBytes;
  }

  static int tag(long commitWord) {
    return (int) (commitWord >>> 40);
  }

  static int type(long commitWord) {
    return (int) (commitWord >>> 32) & 0xFF;
  }

  /** Returns the length, 0 to 2^32 - 1: the peer wrote it. */
  static long lengthBytes(long commitWord) {
    return commitWord & 0xFFFF_FFFFL;
  }

  /** Returns the bytes a message takes in the ring. */
  static long recordBytes(long payloadBytes) {
    return HEADER_BYTES + payloadBytes + LINE_BYTES - 1 & -LINE_BYTES;
  }
}
