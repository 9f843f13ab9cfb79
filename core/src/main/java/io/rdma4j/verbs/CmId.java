package io.rdma4j.verbs;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * An rdma_cm identifier: the RDMA counterpart of a socket. It works on InfiniBand, RoCE and iWARP,
 * and lets the kernel pick device, GID, VLAN and MTU from the IP route.
 *
 * <p>One thread at a time, except that {@link #disconnect()} may be called by any. The creator owns
 * it; {@link #close()} destroys its queue pair, identifier and event channel.
 */
public interface CmId extends AutoCloseable {
  /** Binds to a local address; port 0 takes a free one (rdma_bind_addr(3)). */
  void bind(InetSocketAddress local);

  /** Starts to listen (rdma_listen(3)). */
  void listen(int backlog);

  /** Resolves the peer's address and binds to a device; answered by an event. */
  void resolveAddress(@Nullable InetSocketAddress local, InetSocketAddress peer, int timeoutMs);

  /** Resolves the route; answered by an event. */
  void resolveRoute(int timeoutMs);

  /**
   * Returns the next event, acknowledged, or null when none came in time.
   *
   * @param timeoutNs 0 does not wait
   */
  @Nullable CmEvent awaitEvent(long timeoutNs);

  /** Returns the device this identifier is bound to, the same object for every id and opener. */
  Device device();

  /** Returns the local port it is bound to on that device, counted from 1. */
  int devicePort();

  /** Returns the bound IP address and port. */
  InetSocketAddress localAddress();

  /** Creates the queue pair of this connection, in a domain of {@link #device()}. */
  QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config);

  /** Starts the connection; answered by an event. */
  void connect(CmParameters parameters);

  /** Accepts the request this identifier came from; answered by an event. */
  void accept(CmParameters parameters);

  /** Refuses the request this identifier came from. */
  void reject(byte[] privateData);

  /**
   * Disconnects, and puts the own queue pair in error, which flushes it. The peer gets DISCONNECTED
   * and answers with this call too: until then this side gets no event, and on InfiniBand and RoCE
   * the peer's queue pair stays as it was. Harmless when not connected.
   */
  void disconnect();

  @Override
  void close();
}
