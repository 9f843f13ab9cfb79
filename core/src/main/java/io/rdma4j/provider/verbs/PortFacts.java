package io.rdma4j.provider.verbs;

import io.rdma4j.verbs.PortAttributes;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A port as the two ends tell each other of it, 32 bytes, big endian:
 *
 * <pre>
 *  0  link           1   1 InfiniBand, 2 RoCE, 4 iWARP
 *  1  settling       1   1 when its link came up a moment ago, else 0
 *  2  mtuBytes       2   payload of a packet that it can carry
 *  4  distance       2   from its processors to the device, 10 within a NUMA node, 255 unknown
 *  6  prefixBits     1   of its network
 *  7  addressBytes   1   4 or 16
 *  8  connections    4   that it has already
 * 12  reserved       4
 * 16  address       16   the last 12 bytes 0 with IPv4
 * </pre>
 *
 * @param address by which rdma_cm finds it
 */
record PortFacts(
    InetAddress address,
    int prefixBits,
    Link link,
    int mtuBytes,
    int distance,
    int connections,
    boolean settling) {
  static final int BYTES = 32;

  /** Stands for a distance that is not known; within ACPI's SLIT it means that there is no way. */
  static final int UNKNOWN_DISTANCE = 255;

  private static final int ADDRESS_BYTES = 16;

  /** What a port speaks. */
  enum Link {
    INFINIBAND("InfiniBand", 1),
    ROCE("RoCE", 1 << 1),
    IWARP("iWARP", 1 << 2);

    private final String label;
    private final int bit;

    Link(String label, int bit) {
      this.label = label;
      this.bit = bit;
    }

    /** Returns the bit by which peers know it. */
    int bit() {
      return bit;
    }

    private static @Nullable Link ofBit(int bit) {
      for (Link link : values()) {
        if (link.bit == bit) {
          return link;
        }
      }
      return null;
    }

    static Link of(boolean iwarp, PortAttributes.LinkLayer layer) {
      if (iwarp) {
        return IWARP;
      }
      return layer == PortAttributes.LinkLayer.ETHERNET ? ROCE : INFINIBAND;
    }

    @Override
    public String toString() {
      return label;
    }
  }

  void write(ByteBuffer to) {
    byte[] bytes = address.getAddress();
    to.put((byte) link.bit())
        .put((byte) (settling ? 1 : 0))
        .putShort((short) mtuBytes)
        .putShort((short) distance)
        .put((byte) prefixBits)
        .put((byte) bytes.length)
        .putInt(connections)
        .putInt(0)
        .put(bytes)
        .put(new byte[ADDRESS_BYTES - bytes.length]);
  }

  /**
   * Reads what the peer says.
   *
   * @throws IOException naming what it can not be
   */
  static PortFacts read(ByteBuffer from) throws IOException {
    int bit = from.get();
    boolean settling = from.get() != 0;
    int mtuBytes = Short.toUnsignedInt(from.getShort());
    int distance = Short.toUnsignedInt(from.getShort());
    int prefixBits = Byte.toUnsignedInt(from.get());
    int addressBytes = from.get();
    int connections = from.getInt();
    from.getInt();
    byte[] field = new byte[ADDRESS_BYTES];
    from.get(field);
    Link link = Link.ofBit(bit);
    if (link == null
        || (addressBytes != 4 && addressBytes != ADDRESS_BYTES)
        || prefixBits > 8 * addressBytes
        || connections < 0) {
      throw new ProtocolException(
          String.format(
              Locale.ROOT,
              "verbs set-up: the peer names a port of link %d with %d of %d address bytes",
              bit,
              prefixBits,
              addressBytes));
    }
    InetAddress address = InetAddress.getByAddress(Arrays.copyOf(field, addressBytes));
    return new PortFacts(address, prefixBits, link, mtuBytes, distance, connections, settling);
  }

  /** Returns whether another address is of this one's network; a link-local one never is. */
  boolean isOnNetworkOf(InetAddress other) {
    byte[] mine = address.getAddress();
    byte[] theirs = other.getAddress();
    if (mine.length != theirs.length || address.isLinkLocalAddress()) {
      return address.equals(other);
    }
    for (int bit = 0; bit < prefixBits; bit++) {
      if (((mine[bit >> 3] ^ theirs[bit >> 3]) & (0x80 >> (bit & 7))) != 0) {
        return false;
      }
    }
    return true;
  }
}
