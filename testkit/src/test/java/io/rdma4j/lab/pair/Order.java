package io.rdma4j.lab.pair;

/** What the sender has the receiver do. */
enum Order {
  /** Lose packets on the way back. */
  LOSE(1),
  /** Reorder packets on the way back. */
  REORDER(2),
  /** No longer lose or reorder packets. */
  PASS(3),
  /** Be stopped, for as long as {@link Fault#RECEIVER_STOPPED} lasts. */
  STAND_STILL(4),
  /** Tell what was wrong, and end. */
  END(5);

  private final long code;

  Order(long code) {
    this.code = code;
  }

  /** Returns the number in a message. */
  long code() {
    return code;
  }

  static Order of(long code) {
    for (Order order : values()) {
      if (order.code == code) {
        return order;
      }
    }
    throw new IllegalArgumentException("no order has the code " + code);
  }
}
