package io.rdma4j.tools.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Orders and the book that checks them. */
final class OrdersTest {
  @Test
  void generatedOrdersHaveThePromisedSizes() {
    Orders orders = Orders.generate(42);
    assertEquals(Orders.MEAN_BYTES, orders.meanBytes(), 10.0);
    assertTrue(orders.maxBytes() <= Orders.MAX_BYTES);
    for (int i = 0; i < orders.count(); i++) {
      assertTrue(orders.next(i).length >= Orders.MIN_BYTES);
    }
  }

  @Test
  void theBookFindsWhatIsWrong() {
    Orders orders = Orders.generate(7);
    OrderBook book = new OrderBook(Orders.MAX_BYTES);
    assertEquals(OrderBook.ACCEPTED, put(book, orders.next(0)));
    assertEquals(OrderBook.ACCEPTED, put(book, orders.next(1)));
    assertEquals(OrderBook.DUPLICATE, put(book, orders.next(1)));
    assertEquals(OrderBook.GAP_BEFORE, put(book, orders.next(5)));
    byte[] bent = orders.next(6).clone();
    bent[bent.length - 1] ^= 1;
    assertEquals(OrderBook.CORRUPT, put(book, bent));
    assertEquals(OrderBook.CORRUPT, put(book, new byte[3]));
    assertEquals(new OrderBook.Tally(6, 1, 2), book.tally());
  }

  private static long put(OrderBook book, byte[] order) {
    System.arraycopy(order, 0, book.scratch(), 0, order.length);
    return book.check(order.length);
  }
}
