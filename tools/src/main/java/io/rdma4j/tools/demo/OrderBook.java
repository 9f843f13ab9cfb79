package io.rdma4j.tools.demo;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * The database node's side of the orders: checks each one and counts what is wrong.
 *
 * <p>Single thread only, except that {@link #tally()} may be read by others once the stream is
 * over.
 */
final class OrderBook {
  /** Bytes of an acknowledgement: sequence number 8, verdict 8, big endian. */
  static final int ACK_BYTES = 16;

  static final long ACCEPTED = 0;
  static final long DUPLICATE = 1;
  static final long GAP_BEFORE = 2;
  static final long CORRUPT = 3;

  /** What was counted. */
  record Tally(long received, long duplicated, long corrupted) {
    /** Returns how many of the orders sent never came, in whatever state. */
    long lostOf(long sent) {
      return Math.max(0, sent - (received - duplicated));
    }
  }

  private final byte[] scratch;
  private final ByteBuffer view;
  private final CRC32C checksum = new CRC32C();
  private long expected;
  private long received;
  private long duplicated;
  private long corrupted;
  private long lastSequence;

  OrderBook(int maxOrderBytes) {
    scratch = new byte[maxOrderBytes];
    view = ByteBuffer.wrap(scratch);
  }

  /** Returns where to put an order before {@link #check}. */
  byte[] scratch() {
    return scratch;
  }

  /** Checks the order in {@link #scratch()} and returns the verdict. */
  long check(int length) {
    received++;
    if (length < Orders.HEADER_BYTES
        || view.getInt(8) != length
        || view.getInt(12) != Orders.checksumOf(checksum, scratch, length)) {
      corrupted++;
      // Its number is not to be believed; it most likely is the next one.
      lastSequence = expected++;
      return CORRUPT;
    }
    long sequence = view.getLong(0);
    lastSequence = sequence;
    if (sequence < expected) {
      duplicated++;
      return DUPLICATE;
    }
    long gap = sequence - expected;
    expected = sequence + 1;
    return gap == 0 ? ACCEPTED : GAP_BEFORE;
  }

  /** Returns the sequence number of the order checked last. */
  long lastSequence() {
    return lastSequence;
  }

  Tally tally() {
    return new Tally(received, duplicated, corrupted);
  }
}
