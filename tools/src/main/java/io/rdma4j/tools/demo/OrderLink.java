package io.rdma4j.tools.demo;

import java.io.IOException;

/**
 * The gateway's end of one way to reach the database node.
 *
 * <p>Single thread only.
 */
interface OrderLink extends AutoCloseable {
  /** Takes an order for sending; false when there is no room now. */
  boolean offer(byte[] order, int length) throws IOException;

  /** Sends what was taken, where sending happens in bulk, and counts acknowledgements. */
  void progress() throws IOException;

  /** Returns the acknowledgements that accepted their order, so far. */
  long acknowledged();

  /** Returns the acknowledgements that found something wrong, so far. */
  long refused();

  /** Returns the acknowledgements that came out of order, twice or for no order, so far. */
  long misordered();

  /** Returns the path in words. */
  String description();

  /** Returns the device, empty when there is none. */
  String device();

  /** Returns the share of allocations served by the pool without registering, or NaN. */
  double poolHitRate();

  @Override
  void close() throws IOException;
}
