package io.rdma4j.tools.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;

/**
 * The orders that the gateway streams, over and over: made from a seed, or read from a user's file.
 *
 * <p>Single thread only; writing an order allocates nothing.
 *
 * <pre>
 *   0  sequence number   8   big endian, like all numbers here
 *   8  length            4   of the whole order
 *  12  checksum          4   CRC32C over everything else
 *  16  body
 * </pre>
 */
final class Orders {
  /** Bytes before the body. */
  static final int HEADER_BYTES = 16;

  /** Smallest and largest generated order, header included. */
  static final int MIN_BYTES = 48;

  /** See {@link #MIN_BYTES}. */
  static final int MAX_BYTES = 1024;

  /** Mean size of generated orders. */
  static final int MEAN_BYTES = 256;

  private static final int GENERATED = 4096;
  private static final int CHECKSUM_AT = 12;

  private final byte[][] orders;
  private final ByteBuffer[] views;
  private final int maxBytes;
  private final CRC32C checksum = new CRC32C();
  private int next;

  private Orders(List<byte[]> bodies) {
    orders = new byte[bodies.size()][];
    views = new ByteBuffer[bodies.size()];
    int longest = 0;
    for (int i = 0; i < orders.length; i++) {
      byte[] body = bodies.get(i);
      orders[i] = new byte[HEADER_BYTES + body.length];
      System.arraycopy(body, 0, orders[i], HEADER_BYTES, body.length);
      views[i] = ByteBuffer.wrap(orders[i]).putInt(8, orders[i].length);
      longest = Math.max(longest, orders[i].length);
    }
    maxBytes = longest;
  }

  /**
   * Makes orders of {@link #MIN_BYTES} to {@link #MAX_BYTES}, {@link #MEAN_BYTES} on average: sizes
   * are exponential above the minimum, drawn again when too large.
   */
  static Orders generate(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<byte[]> bodies = new ArrayList<>(GENERATED);
    for (int i = 0; i < GENERATED; i++) {
      byte[] body = new byte[orderBytes(random) - HEADER_BYTES];
      random.nextBytes(body);
      bodies.add(body);
    }
    return new Orders(bodies);
  }

  private static int orderBytes(SplittableRandom random) {
    // The cut at the top takes a little off the mean; this scale gives MEAN_BYTES after the cut.
    double scale = 220.0;
    while (true) {
      int bytes = MIN_BYTES + (int) (-scale * Math.log(1.0 - random.nextDouble()));
      if (bytes <= MAX_BYTES) {
        return bytes;
      }
    }
  }

  /**
   * Reads a user's orders.
   *
   * @param framing LINE: one order a line; LENGTH32: each order behind its length, 4 bytes big
   *     endian
   * @param maxOrderBytes largest order with its header
   * @throws IOException when the file cannot be read, holds no order, or one that is too long; the
   *     message gives the position
   */
  static Orders read(Path file, Framing framing, int maxOrderBytes) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    List<byte[]> bodies = framing == Framing.LINE ? lines(bytes) : framed(file, bytes);
    if (bodies.isEmpty()) {
      throw new IOException(file + " holds no order");
    }
    for (int i = 0; i < bodies.size(); i++) {
      if (bodies.get(i).length + HEADER_BYTES > maxOrderBytes) {
        throw new IOException(
            file
                + ": order "
                + (i + 1)
                + " has "
                + bodies.get(i).length
                + " bytes, allowed are "
                + (maxOrderBytes - HEADER_BYTES));
      }
    }
    return new Orders(bodies);
  }

  /** How a file separates orders. */
  enum Framing {
    /** One order a line. */
    LINE,
    /** Each order behind its length, 4 bytes big endian. */
    LENGTH32
  }

  private static List<byte[]> lines(byte[] bytes) {
    List<byte[]> bodies = new ArrayList<>();
    int start = 0;
    for (int i = 0; i <= bytes.length; i++) {
      if (i == bytes.length || bytes[i] == '\n') {
        int end = i > start && bytes[i - 1] == '\r' ? i - 1 : i;
        if (end > start) {
          bodies.add(java.util.Arrays.copyOfRange(bytes, start, end));
        }
        start = i + 1;
      }
    }
    return bodies;
  }

  private static List<byte[]> framed(Path file, byte[] bytes) throws IOException {
    List<byte[]> bodies = new ArrayList<>();
    ByteBuffer in = ByteBuffer.wrap(bytes);
    while (in.hasRemaining()) {
      int at = in.position();
      int length = in.remaining() < 4 ? -1 : in.getInt();
      if (length < 0 || length > in.remaining()) {
        throw new IOException(
            file + ": the order at byte " + at + " is cut short or has a wrong length");
      }
      byte[] body = new byte[length];
      in.get(body);
      bodies.add(body);
    }
    return bodies;
  }

  int count() {
    return orders.length;
  }

  int maxBytes() {
    return maxBytes;
  }

  double meanBytes() {
    long sum = 0;
    for (byte[] order : orders) {
      sum += order.length;
    }
    return (double) sum / orders.length;
  }

  /** Returns the next order, numbered and sealed; valid until the same order comes round again. */
  byte[] next(long sequence) {
    int at = next;
    next = at + 1 == orders.length ? 0 : at + 1;
    byte[] order = orders[at];
    views[at].putLong(0, sequence);
    views[at].putInt(CHECKSUM_AT, checksumOf(checksum, order, order.length));
    return order;
  }

  /** Returns the checksum that an order of {@code length} bytes should have. */
  static int checksumOf(CRC32C crc, byte[] order, int length) {
    crc.reset();
    crc.update(order, 0, CHECKSUM_AT);
    crc.update(order, HEADER_BYTES, length - HEADER_BYTES);
    return (int) crc.getValue();
  }
}
