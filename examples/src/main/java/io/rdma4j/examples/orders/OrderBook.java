package io.rdma4j.examples.orders;

import java.util.concurrent.atomic.AtomicLong;

/** The application: it knows nothing of how orders arrive. Any thread. */
final class OrderBook {
  /** Answer to an order that nobody could fill. */
  static final long REFUSED = -1;

  private final AtomicLong accepted = new AtomicLong();

  /** Returns the order's place in the book, from 1, or {@link #REFUSED}. */
  long accept(long priceTicks, int quantity) {
    return priceTicks > 0 && quantity > 0 ? accepted.incrementAndGet() : REFUSED;
  }

  long accepted() {
    return accepted.get();
  }
}
