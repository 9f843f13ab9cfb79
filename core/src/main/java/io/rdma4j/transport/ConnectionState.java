package io.rdma4j.transport;

/**
 * Where a connection is in its life.
 *
 * <pre>
 *  state      left when                                        who moves it
 *  OPEN       close() is called                                any thread -> CLOSING
 *             the peer says goodbye                            poller -> CLOSING
 *             the path fails or the peer is silent too long    poller -> CLOSED
 *  CLOSING    both goodbyes are through, or the deadline       poller -> CLOSED
 *  CLOSED     -
 * </pre>
 */
enum ConnectionState {
  OPEN,
  CLOSING,
  CLOSED
}
