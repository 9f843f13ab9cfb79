package io.rdma4j.lab.pair;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;

/**
 * What the two programs of the pair test say to each other.
 *
 * <pre>
 *  0   8  kind
 *  8   8  number: of a DATA message, from 0 on; else what the kind says
 * 16   8  CRC32C of all other bytes
 * 24      DATA: bytes and a length that follow from the number; TALLY: three counts
 * </pre>
 */
final class PairMessage {
  /** To the receiver: one of the numbered messages. */
  static final long DATA = 1;

  /** To the receiver: do what the {@link Order} with this code says. */
  static final long ORDER = 2;

  /** To the sender, first on a new connection: the DATA message to go on with. */
  static final long WELCOME = 3;

  /** To the sender: all DATA messages below this number are delivered and noted on disk. */
  static final long DELIVERED = 4;

  /** To the sender, the answer to {@link Order#END}: messages lost, duplicated and corrupted. */
  static final long TALLY = 5;

  static final int HEADER_BYTES = 24;
  static final int MAX_BYTES = 48 * 1024;
  private static final int USUAL_BYTES = 2 * 1024;

  /** One message in so many is of any length up to the maximum. */
  private static final int LONG_EACH = 32;

  private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED;

  private PairMessage() {}

  /** Writes the DATA message of a number and returns its length. */
  static int writeData(MemorySegment to, long number) {
    SplittableRandom random = new SplittableRandom(number);
    int lengthBytes = lengthBytes(number, random);
    byte[] bytes = new byte[lengthBytes - HEADER_BYTES];
    random.nextBytes(bytes);
    MemorySegment.copy(bytes, 0, to, ValueLayout.JAVA_BYTE, HEADER_BYTES, bytes.length);
    return seal(to, DATA, number, lengthBytes);
  }

  private static int lengthBytes(long number, SplittableRandom random) {
    return random.nextInt(HEADER_BYTES, number % LONG_EACH == 0 ? MAX_BYTES : USUAL_BYTES);
  }

  /** Writes a message without further bytes and returns its length. */
  static int write(MemorySegment to, long kind, long number) {
    return seal(to, kind, number, HEADER_BYTES);
  }

  /** Writes a TALLY and returns its length. */
  static int writeTally(MemorySegment to, Tally tally) {
    to.set(WORD, HEADER_BYTES, tally.lost());
    to.set(WORD, HEADER_BYTES + 8, tally.duplicated());
    to.set(WORD, HEADER_BYTES + 16, tally.corrupted());
    return seal(to, TALLY, 0, HEADER_BYTES + 24);
  }

  static Tally tally(MemorySegment message) {
    return new Tally(
        message.get(WORD, HEADER_BYTES),
        message.get(WORD, HEADER_BYTES + 8),
        message.get(WORD, HEADER_BYTES + 16));
  }

  private static int seal(MemorySegment to, long kind, long number, int lengthBytes) {
    to.set(WORD, 0, kind);
    to.set(WORD, 8, number);
    to.set(WORD, 16, checksum(to.asSlice(0, lengthBytes)));
    return lengthBytes;
  }

  /** Returns whether a message is what was sent, as far as it can tell by itself. */
  static boolean isIntact(MemorySegment message) {
    if (message.byteSize() < HEADER_BYTES || message.get(WORD, 16) != checksum(message)) {
      return false;
    }
    long number = number(message);
    return kind(message) != DATA
        || message.byteSize() == lengthBytes(number, new SplittableRandom(number));
  }

  private static long checksum(MemorySegment message) {
    CRC32C sum = new CRC32C();
    sum.update(message.asSlice(0, 16).asByteBuffer());
    sum.update(message.asSlice(HEADER_BYTES).asByteBuffer());
    return sum.getValue();
  }

  static long kind(MemorySegment message) {
    return message.get(WORD, 0);
  }

  static long number(MemorySegment message) {
    return message.get(WORD, 8);
  }
}
