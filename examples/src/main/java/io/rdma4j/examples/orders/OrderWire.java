package io.rdma4j.examples.orders;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * Orders and answers as bytes, little endian: the same over both transports.
 *
 * <pre>
 *  order                      answer
 *   0  id            8         0  id     8
 *   8  price ticks   8         8  place  8
 *  16  quantity      4
 *  20  reserved      4
 * </pre>
 */
final class OrderWire {
  static final int ORDER_BYTES = 24;
  static final int ANSWER_BYTES = 16;

  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private OrderWire() {}

  static void writeOrder(MemorySegment to, long id, long priceTicks, int quantity) {
    to.set(LONG, 0, id);
    to.set(LONG, 8, priceTicks);
    to.set(INT, 16, quantity);
    to.set(INT, 20, 0);
  }

  /** Reads an order, has the book decide, and writes the answer. */
  static void answer(OrderBook book, MemorySegment order, long offset, MemorySegment answer) {
    answer.set(LONG, 0, order.get(LONG, offset));
    answer.set(LONG, 8, book.accept(order.get(LONG, offset + 8), order.get(INT, offset + 16)));
  }

  /** Returns the place that an answer gives to the order. */
  static long place(MemorySegment answer, long id) {
    if (answer.get(LONG, 0) != id) {
      throw new IllegalStateException(
          "the answer is for order " + answer.get(LONG, 0) + ", not " + id);
    }
    return answer.get(LONG, 8);
  }
}
