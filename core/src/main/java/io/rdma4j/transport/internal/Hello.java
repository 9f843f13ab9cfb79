package io.rdma4j.transport.internal;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.transport.internal.BootstrapChannel.ProtocolException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * First frame of each side: who it is, what it speaks and wants, which paths it offers.
 *
 * <pre>
 *   0  magic "RDMA4J"      6
 *   6  newest version      2   spoken by the sender; big endian, like all numbers here
 *   8  oldest version      2   still spoken by it
 *  10  capabilities        4   bits of {@link Capability} that it has
 *  14  required            4   those it insists on, a part of its capabilities
 *  18  node id            16   random, one per node
 *  34  token              16   random, chosen by the initiator; the acceptor repeats it
 *  50  nonce              16   random, of the sender, for this handshake alone
 *  66  max message bytes   4
 *  70  window              4
 *  74  ring bytes          4
 *  78  path count          1   at most {@link #MAX_PATHS}
 *  79  paths: name length 1, name, offer length 2, offer
 * </pre>
 *
 * A hello of a newer version may be longer; one of a version spoken here ends with its paths.
 *
 * @param newestVersion newest version the sender speaks
 * @param oldestVersion oldest version the sender speaks
 * @param capabilities bits of what the sender can do
 * @param required bits of what the sender insists on
 * @param nodeId random id of the sender's node
 * @param token random id of the connection
 * @param nonce random bytes of the sender
 * @param config sizes the sender would take
 * @param offers paths the sender has, by name, in its order
 */
public record Hello(
    int newestVersion,
    int oldestVersion,
    int capabilities,
    int required,
    byte[] nodeId,
    byte[] token,
    byte[] nonce,
    EndpointConfig config,
    Map<String, byte[]> offers) {
  /** Newest version spoken here. */
  public static final int VERSION = 1;

  /** Oldest version spoken here. */
  public static final int OLDEST_VERSION = 1;

  /** Bytes of node ids, tokens and nonces. */
  public static final int ID_BYTES = 16;

  /** What a node can do beyond carrying messages. Bits not listed are a newer node's. */
  public enum Capability {
    /** Proves that it knows the cluster's secret, and has the peer prove it. */
    SECRET(1, "a shared secret"),
    /** Takes a connection up again over another path. */
    RESUME(1 << 1, "resumption");

    private final int bit;
    private final String words;

    Capability(int bit, String words) {
      this.bit = bit;
      this.words = words;
    }

    /** Returns the bit in a hello. */
    public int bit() {
      return bit;
    }
  }

  private static final byte[] MAGIC = "RDMA4J".getBytes(StandardCharsets.US_ASCII);
  private static final int MAX_PATHS = 8;
  private static final int MAX_NAME_BYTES = 16;
  private static final int MAX_OFFER_BYTES = 256;

  /** Encodes the frame's payload. */
  public byte[] encode() {
    ByteBuffer out = ByteBuffer.allocate(BootstrapChannel.MAX_PAYLOAD_BYTES);
    out.put(MAGIC).putShort((short) newestVersion).putShort((short) oldestVersion);
    out.putInt(capabilities).putInt(required);
    out.put(nodeId).put(token).put(nonce);
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
      int newest = Short.toUnsignedInt(in.getShort());
      int oldest = Short.toUnsignedInt(in.getShort());
      checkVersions(newest, oldest);
      int capabilities = in.getInt();
      int required = in.getInt();
      if ((required & ~capabilities) != 0) {
        throw new ProtocolException(
            "hello requires 0x%x of capabilities 0x%x".formatted(required, capabilities));
      }
      byte[] nodeId = take(in, ID_BYTES);
      byte[] token = take(in, ID_BYTES);
      byte[] nonce = take(in, ID_BYTES);
      EndpointConfig config = new EndpointConfig(in.getInt(), in.getInt(), in.getInt());
      Map<String, byte[]> offers = decodeOffers(in);
      if (in.hasRemaining() && newest <= VERSION) {
        throw new ProtocolException("hello has " + in.remaining() + " bytes too many");
      }
      return new Hello(
          newest, oldest, capabilities, required, nodeId, token, nonce, config, offers);
    } catch (BufferUnderflowException e) {
      throw new ProtocolException("hello of " + payload.length + " bytes is cut short");
    } catch (IllegalArgumentException e) {
      throw new ProtocolException("hello has impossible sizes: " + e.getMessage());
    }
  }

  private static void checkVersions(int newest, int oldest) throws ProtocolException {
    if (oldest < 1 || oldest > newest || oldest > VERSION || newest < OLDEST_VERSION) {
      throw new ProtocolException(
          "peer speaks versions %d to %d, this end %d to %d"
              .formatted(oldest, newest, OLDEST_VERSION, VERSION));
    }
  }

  private static Map<String, byte[]> decodeOffers(ByteBuffer in) throws ProtocolException {
    Map<String, byte[]> offers = new LinkedHashMap<>();
    int count = checked("path count", in.get() & 0xff, MAX_PATHS);
    for (int i = 0; i < count; i++) {
      String name = decodeName(in);
      int length = checked("offer length", Short.toUnsignedInt(in.getShort()), MAX_OFFER_BYTES);
      if (offers.put(name, take(in, length)) != null) {
        throw new ProtocolException("hello offers path " + name + " twice");
      }
    }
    return offers;
  }

  private static String decodeName(ByteBuffer in) throws ProtocolException {
    byte[] name = take(in, checked("path name length", in.get() & 0xff, MAX_NAME_BYTES));
    for (byte c : name) {
      // Names reach logs and reports, so nothing but letters and digits may be in them.
      if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) {
        throw new ProtocolException("hello has byte " + (c & 0xff) + " in the name of a path");
      }
    }
    if (name.length == 0) {
      throw new ProtocolException("hello offers a path without a name");
    }
    return new String(name, StandardCharsets.US_ASCII);
  }

  /** Returns whether the sender has a capability. */
  public boolean has(Capability capability) {
    return (capabilities & capability.bit) != 0;
  }

  /**
   * Returns what one end insists on and the other one has not, or null when nothing is missing.
   *
   * @param mine hello of this end
   * @param here how to call this end, {@code there} how to call the sender of this hello
   */
  public @Nullable String missing(Hello mine, String here, String there) {
    int missingThere = mine.required & ~capabilities;
    return missingThere != 0
        ? here + " requires " + words(missingThere) + ", " + there + " has none"
        : (required & ~mine.capabilities) != 0
            ? there
                + " requires "
                + words(required & ~mine.capabilities)
                + ", "
                + here
                + " has none"
            : null;
  }

  private static String words(int bits) {
    for (Capability capability : Capability.values()) {
      if ((bits & capability.bit) != 0) {
        return capability.words;
      }
    }
    return "capabilities 0x" + Integer.toHexString(bits);
  }

  private static byte[] take(ByteBuffer in, int length) {
    byte[] bytes = new byte[length];
    in.get(bytes);
    return bytes;
  }

  private static int checked(String what, int value, int limit) throws ProtocolException {
    if (value > limit) {
      throw new ProtocolException("hello has " + what + " " + value + ", limit " + limit);
    }
    return value;
  }
}
