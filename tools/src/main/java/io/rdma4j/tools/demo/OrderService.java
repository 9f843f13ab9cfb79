package io.rdma4j.tools.demo;

import java.io.IOException;

/**
 * The database node's end of one way: listens, serves one gateway, ends when the gateway closes.
 *
 * <p>Single thread only, except {@link #stop()}.
 */
interface OrderService extends AutoCloseable {
  /** Returns the port it listens on. */
  int port();

  /** Serves until the gateway has closed or {@link #stop()} is called. */
  void serve() throws IOException;

  /** Makes {@link #serve()} return soon. Any thread. */
  void stop();

  /** Returns what was counted, once {@link #serve()} has returned. */
  OrderBook.Tally tally();

  @Override
  void close() throws IOException;
}
