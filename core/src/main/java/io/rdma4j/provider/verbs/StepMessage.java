package io.rdma4j.provider.verbs;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The messages of the set-up, 12 bytes each, big endian.
 *
 * <pre>
 *  0  step              1   LISTENING (acceptor), READY (initiator), DONE (both)
 *  1  version           1
 *  2  port              2   rdma_cm port of the acceptor in LISTENING, else 0
 *  4  window            4   data messages each end has receives for
 *  8  maxMessageBytes   4   payload each receive has room for
 * </pre>
 *
 * The sizes have been agreed on before; they travel again because receives of another size or
 * number than the peer believes would end in device errors that name no cause.
 */
final class StepMessage {
  static final byte LISTENING = 1;
  static final byte READY = 2;
  static final byte DONE = 3;

  private static final int BYTES = 12;
  private static final byte VERSION = 1;

  private StepMessage() {}

  static void send(Handshake handshake, byte step, int port, EndpointConfig config)
      throws IOException {
    handshake.send(
        ByteBuffer.allocate(BYTES)
            .put(step)
            .put(VERSION)
            .putShort((short) port)
            .putInt(config.window())
            .putInt(config.maxMessageBytes())
            .array());
  }

  /**
   * Waits for a step of the peer.
   *
   * @return the port
   */
  static int expect(Handshake handshake, byte step, EndpointConfig config) throws IOException {
    byte[] bytes = handshake.receive();
    if (bytes.length != BYTES) {
      throw new IOException(
          "verbs set-up message of " + bytes.length + " bytes, expected " + BYTES);
    }
    ByteBuffer message = ByteBuffer.wrap(bytes);
    byte peerStep = message.get();
    byte version = message.get();
    int port = Short.toUnsignedInt(message.getShort());
    int window = message.getInt();
    int maxMessageBytes = message.getInt();
    if (peerStep != step || version != VERSION) {
      throw new IOException(
          String.format(
              "verbs set-up: peer is at step %d of version %d, expected step %d of version %d",
              peerStep, version, step, VERSION));
    }
    if (window != config.window() || maxMessageBytes != config.maxMessageBytes()) {
      throw new IOException(
          String.format(
              "verbs set-up: peer has %d receives of %d bytes, this end %d of %d",
              window, maxMessageBytes, config.window(), config.maxMessageBytes()));
    }
    if ((step == LISTENING) == (port == 0)) {
      throw new IOException("verbs set-up: port " + port + " in step " + step);
    }
    return port;
  }
}
