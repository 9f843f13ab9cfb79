package io.rdma4j.provider.verbs;

import io.rdma4j.provider.Handshake;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The messages by which two ends agree on a pair of ports, big endian.
 *
 * <pre>
 * PORTS, of the initiator               CHOICE, of the acceptor
 *  0  4                1                 0  5                     1
 *  1  version          1                 1  version               1
 *  2  count            1   1 to 16       2  initiator's port      1   index in PORTS
 *  3  reserved         5                 3  flags                 1   1 acceptor listens, 2 on the
 *  8  ports        32 each               4  pairs to choose from  2     bootstrap's network
 *                                        6  reserved              2
 *                                        8  acceptor's port      32
 * </pre>
 */
final class PortMessage {
  /** More have no room in a message of the handshake. */
  static final int MOST_PORTS = 16;

  private static final byte PORTS = 4;
  private static final byte CHOICE = 5;
  private static final int HEAD_BYTES = 8;
  private static final int ACCEPTOR_LISTENS = 1;
  private static final int ON_BOOTSTRAP_NETWORK = 2;

  private PortMessage() {}

  static void sendPorts(Handshake handshake, List<LocalPort> ports) throws IOException {
    int count = Math.min(ports.size(), MOST_PORTS);
    byte[] bytes = new byte[HEAD_BYTES + count * PortFacts.BYTES];
    ByteBuffer message = start(PORTS, bytes).put((byte) count).position(HEAD_BYTES);
    ports.stream().limit(count).forEach(port -> port.facts().write(message));
    handshake.send(bytes);
  }

  static List<PortFacts> receivePorts(Handshake handshake) throws IOException {
    ByteBuffer message = receive(handshake, PORTS);
    int count = message.get();
    if (count < 1
        || count > MOST_PORTS
        || message.capacity() != HEAD_BYTES + count * PortFacts.BYTES) {
      throw new ProtocolException(
          "verbs set-up: " + count + " ports in " + message.capacity() + " bytes");
    }
    message.position(HEAD_BYTES);
    List<PortFacts> ports = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      ports.add(PortFacts.read(message));
    }
    return ports;
  }

  /**
   * Tells the initiator what was chosen.
   *
   * @param ports the initiator's, of which the pair has one
   */
  static void sendChoice(Handshake handshake, PortPair pair, List<PortFacts> ports)
      throws IOException {
    int flags =
        (pair.acceptorListens() ? ACCEPTOR_LISTENS : 0)
            | (pair.onBootstrapNetwork() ? ON_BOOTSTRAP_NETWORK : 0);
    byte[] bytes = new byte[HEAD_BYTES + PortFacts.BYTES];
    ByteBuffer message =
        start(CHOICE, bytes)
            .put((byte) ports.indexOf(pair.peer()))
            .put((byte) flags)
            .putShort((short) pair.choices());
    pair.own().facts().write(message.position(HEAD_BYTES));
    handshake.send(bytes);
  }

  /**
   * Waits for the acceptor's choice.
   *
   * @param ports those that were sent
   */
  static PortPair receiveChoice(Handshake handshake, List<LocalPort> ports) throws IOException {
    ByteBuffer message = receive(handshake, CHOICE);
    int index = message.get();
    int flags = message.get();
    int choices = Short.toUnsignedInt(message.getShort());
    if (index < 0
        || index >= Math.min(ports.size(), MOST_PORTS)
        || message.capacity() != HEAD_BYTES + PortFacts.BYTES) {
      throw new ProtocolException(
          "verbs set-up: port " + index + " chosen of " + ports.size() + ", counted from 0");
    }
    message.position(HEAD_BYTES);
    return new PortPair(
        ports.get(index),
        PortFacts.read(message),
        (flags & ACCEPTOR_LISTENS) != 0,
        choices,
        (flags & ON_BOOTSTRAP_NETWORK) != 0);
  }

  private static ByteBuffer start(byte kind, byte[] message) {
    return ByteBuffer.wrap(message).put(kind).put(StepMessage.VERSION);
  }

  private static ByteBuffer receive(Handshake handshake, byte kind) throws IOException {
    ByteBuffer message = ByteBuffer.wrap(handshake.receive());
    if (message.capacity() < HEAD_BYTES
        || message.get() != kind
        || message.get() != StepMessage.VERSION) {
      throw new ProtocolException(
          "verbs set-up: the peer is at another step, or speaks another version than "
              + StepMessage.VERSION);
    }
    return message;
  }
}
