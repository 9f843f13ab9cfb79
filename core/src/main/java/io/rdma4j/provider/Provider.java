package io.rdma4j.provider;

import io.rdma4j.Availability;
import java.io.IOException;
import java.util.List;

/**
 * One way to move messages between two nodes: {@code shm}, {@code verbs} or {@code tcp}.
 *
 * <p>Both ends run a handshake at the same time, one as initiator and one as acceptor, over a
 * bootstrap connection that both have ({@link Handshake}). A step that fails throws; whatever was
 * made until then has been given back by the time the exception leaves, and the connection goes on
 * with the next provider.
 *
 * <p>Safe for use by several threads. Owned by the node, which closes all endpoints first.
 */
public interface Provider extends AutoCloseable {
  /** Returns the short name, unique among providers. */
  String name();

  /** Returns whether this machine can use it, with the reason. */
  Availability availability();

  /**
   * Returns the registrars of the devices this provider may use, empty when memory needs no
   * registration. {@link Endpoint#registrar()} is one of them.
   */
  List<MemoryRegistrar> registrars();

  /**
   * Lends memory that is registered with all of {@link #registrars()}, for receives. Called once,
   * before the first endpoint is made; the memory outlives all endpoints.
   */
  default void receiveInto(ReceiveMemory memory) {}

  /**
   * Returns what the peer must know to judge whether this way works between the two, at most 256
   * bytes; it travels in the hello message.
   */
  byte[] offer();

  /**
   * Judges the peer's offer.
   *
   * @param peerOffer bytes of the peer's {@link #offer()}
   */
  Availability judge(byte[] peerOffer);

  /**
   * Sets up the initiator's end.
   *
   * @throws IOException when this way does not work out; the message is the reason
   */
  Endpoint initiate(Handshake handshake, EndpointConfig config) throws IOException;

  /**
   * Sets up the acceptor's end.
   *
   * @throws IOException when this way does not work out; the message is the reason
   */
  Endpoint accept(Handshake handshake, EndpointConfig config) throws IOException;

  /**
   * Looks for trouble of devices, whether endpoints use them or not. Called by a background thread
   * some fifty times a second.
   */
  default void housekeep(long nowNs) {}

  @Override
  void close();
}
