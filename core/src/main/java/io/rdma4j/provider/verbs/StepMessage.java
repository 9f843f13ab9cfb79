package io.rdma4j.provider.verbs;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * The messages of the set-up, 16 bytes each, big endian.
 *
 * <pre>
 *  0  step              1   LISTENING (who listens), READY (who connects), DONE (both)
 *  1  version           1
 *  2  port              2   rdma_cm port of who listens in LISTENING, else 0
 *  4  window            4   most data messages under way in one direction
 *  8  maxMessageBytes   4   payload each receive has room for
 * 12  firstCredits      4   data messages the sender of this has receives for at the start
 * </pre>
 *
 * Window and size have been agreed on before; they travel again because receives of another size or
 * number than the peer believes would end in device errors that name no cause.
 */
final class StepMessage {
  static final byte LISTENING = 1;
  static final byte READY = 2;
  static final byte DONE = 3;

  private static final int BYTES = 16;
  static final byte VERSION = 3;

  private StepMessage() {}

  /** What a step of the peer says. */
  record Received(int port, int firstCredits) {}

  static void send(
      Handshake handshake, byte step, int port, EndpointConfig config, int firstCredits)
      throws IOException {
    handshake.send(
        ByteBuffer.allocate(BYTES)
            .put(step)
            .put(VERSION)
            .putShort((short) port)
            .putInt(config.window())
            .putInt(config.maxMessageBytes())
            .putInt(firstCredits)
            .array());
  }

  /** Waits for a step of the peer. */
  static Received expect(Handshake handshake, byte step, EndpointConfig config) throws IOException {
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
    int firstCredits = message.getInt();
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
    if (firstCredits < 1 || firstCredits > window) {
      throw new IOException(
          "verbs set-up: " + firstCredits + " credits at the start, of a window of " + window);
    }
    return new Received(port, firstCredits);
  }
}
