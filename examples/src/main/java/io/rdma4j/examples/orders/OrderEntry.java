package io.rdma4j.examples.orders;

import java.io.IOException;

/** What the trading program sees. One thread at a time. */
interface OrderEntry extends AutoCloseable {
  /** Sends an order and returns its place in the book, or {@link OrderBook#REFUSED}. */
  long submit(long id, long priceTicks, int quantity) throws IOException;

  @Override
  void close() throws IOException;
}
