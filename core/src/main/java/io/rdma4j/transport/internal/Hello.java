package io.rdma4j.transport.internal;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.transport.internal.BootstrapChannel.ProtocolException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * First frame of each side: who it is, what it wants, which paths it offers.
 *
 * <pre>
 *   0  magic "RDMA4J"      6
 *   6  version             2   big endian, like all numbers here
 *   8  node id            16   random, one per node
 *  24  token              16   random, chosen by the initiator; the acceptor repeats it
 *  40  max message bytes   4
 *  44  window              4
 *  48  ring bytes          4
 *  52  path count          1   at most {@link #MAX_PATHS}
 *  53  paths: name length 1, name, offer length 2, offer
 * </pre>
 *
 * @param nodeId random id of the sender's node
 * @param token random id of the connection
 * @param config sizes the sender would take
 * @param offers paths the sender has, by name, in its order
 */
public record Hello(
    byte[] nodeId, byte[] token, EndpointConfig config, Map<String, byte[]> offers) {
  /** Version spoken here. */
  public static final short VERSION = 1;

  /** Bytes of node ids and tokens. */
  public static final int ID_BYTES = 16;

  private static final byte[] MAGIC = "RDMA4J".getBytes(StandardCharsets.US_ASCII);
  private static final int MAX_PATHS = 8;
  private static final int MAX_NAME_BYTES = 16;
  private static final int MAX_OFFER_BYTES = 256;

  /** Encodes the frame's payload. */
  public byte[] encode() {
    ByteBuffer out = ByteBuffer.allocate(BootstrapChannel.MAX_PAYLOAD_BYTES);
    out.put(MAGIC).putShort(VERSION).put(nodeId).put(token);
    out.putInt(config.maxMessageBytes()).putInt(config.window()).putInt(config.ringBytes());
    out.put((byte) offers.size());
    offers.forEach(
        (name, offer) -> {
          byte[] nameBytes = name.getBytes(StandardCharsets.US_ASCII);
          if (nameBytes.length > MAX_NAME_BYTES || offer.length > MAX_OFFER_BYTES) {
            throw new IllegalArgumentException(
                "path " + name + " offers " + offer.length + " bytes, limit " + MAX_OFFER_BYTES);
          }
          out.put((byte) nameBytes.length).put(nameBytes);
          out.putShort((short) offer.length).put(offer);
        });
    return Arrays.copyOf(out.array(), out.position());
  }

  /** Decodes and checks the frame's payload. */
  public static Hello decode(byte[] payload) throws ProtocolException {
    ByteBuffer in = ByteBuffer.wrap(payload);
    try {
      if (!Arrays.equals(take(in, MAGIC.length), MAGIC)) {
        throw new ProtocolException("not an rdma4j peer: wrong magic");
      }
      short version = in.getShort();
      if (version != VERSION) {
        throw new ProtocolException("peer speaks version " + version + ", this end " + VERSION);
      }
      byte[] nodeId = take(in, ID_BYTES);
      byte[] token = take(in, ID_BYTES);
      EndpointConfig config = new EndpointConfig(in.getInt(), in.getInt(), in.getInt());
      Map<String, byte[]> offers = new LinkedHashMap<>();
      int count = checked("path count", in.get() & 0xff, MAX_PATHS);
      for (int i = 0; i < count; i++) {
        int nameLength = checked("path name length", in.get() & 0xff, MAX_NAME_BYTES);
        String name = new String(take(in, nameLength), StandardCharsets.US_ASCII);
        offers.put(name, take(in, checked("offer length", in.getShort(), MAX_OFFER_BYTES)));
      }
      if (in.hasRemaining()) {
        throw new ProtocolException("hello has " + in.remaining() + " bytes too many");
      }
      return new Hello(nodeId, token, config, offers);
    } catch (BufferUnderflowException e) {
      throw new ProtocolException("hello of " + payload.length + " bytes is cut short");
    } catch (IllegalArgumentException e) {
      throw new ProtocolException("hello has impossible sizes: " + e.getMessage());
    }
  }

  private static byte[] take(ByteBuffer in, int length) {
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static int checked(String what, int value, int limit) throws ProtocolException {
    if (value < 0 || value > limit) {
      throw new ProtocolException("hello has " + what + " " + value + ", limit " + limit);
    }
    return value;
  }
}
