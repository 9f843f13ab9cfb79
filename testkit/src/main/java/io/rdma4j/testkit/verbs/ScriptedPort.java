package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.PortAddress;
import io.rdma4j.verbs.PortAttributes;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A port of a scripted device: active, on Ethernet, with an MTU of 4096 and no address, unless set
 * otherwise.
 */
public final class ScriptedPort {
  private static final int GID_BYTES = 16;

  final ScriptedDevice device;
  private final int number;
  private final Map<InetAddress, Integer> prefixBits = new LinkedHashMap<>();
  private final SortedMap<Integer, byte[]> gids = new TreeMap<>();
  private PortAttributes.State state = PortAttributes.State.ACTIVE;
  private PortAttributes.LinkLayer linkLayer = PortAttributes.LinkLayer.ETHERNET;
  private int mtuBytes = 4096;
  private boolean prefersLater = true;

  ScriptedPort(ScriptedDevice device, int number) {
    this.device = device;
    this.number = number;
  }

  /** Gives it an IP address, by which rdma_cm finds it, and an entry for that in its GID table. */
  public ScriptedPort address(InetAddress address, int prefix) {
    synchronized (device.wire) {
      prefixBits.put(address, prefix);
      int index = 0;
      while (gids.containsKey(index)) {
        index++;
      }
      gids.put(index, gidOf(address));
      return this;
    }
  }

  /** Puts an entry into its GID table, 16 bytes in network order. */
  public ScriptedPort gid(int index, byte[] gid) {
    synchronized (device.wire) {
      gids.put(index, gid.clone());
      return this;
    }
  }

  /** Empties its GID table. */
  public ScriptedPort forgetGids() {
    synchronized (device.wire) {
      gids.clear();
      return this;
    }
  }

  /** Sets the state it reports. */
  public ScriptedPort state(PortAttributes.State reported) {
    synchronized (device.wire) {
      state = reported;
      return this;
    }
  }

  /** Sets the link layer it reports. */
  public ScriptedPort linkLayer(PortAttributes.LinkLayer reported) {
    synchronized (device.wire) {
      linkLayer = reported;
      return this;
    }
  }

  /** Sets the largest payload of a packet that it lets through; larger packets are lost. */
  public ScriptedPort mtuBytes(int bytes) {
    synchronized (device.wire) {
      mtuBytes = bytes;
      return this;
    }
  }

  /** Has rdma_cm take the first of an address's entries, v1 in the kernel's tables. */
  public ScriptedPort prefersRoceV1() {
    synchronized (device.wire) {
      prefersLater = false;
      return this;
    }
  }

  int number() {
    return number;
  }

  int mtuBytes() {
    return mtuBytes;
  }

  boolean hasAddress(InetAddress address) {
    return prefixBits.containsKey(address);
  }

  Iterable<PortAddress> addresses() {
    return prefixBits.entrySet().stream()
        .map(entry -> new PortAddress(entry.getKey(), entry.getValue(), device.name(), number))
        .toList();
  }

  PortAttributes attributes(long maxMessageBytes) {
    int tableLength = gids.isEmpty() ? 1 : gids.lastKey() + 1;
    return new PortAttributes(state, mtuBytes, maxMessageBytes, tableLength, 0, linkLayer);
  }

  byte[] gid(int index) {
    return gids.getOrDefault(index, new byte[GID_BYTES]).clone();
  }

  /**
   * Returns the entry that rdma_cm takes for an address: on Ethernet the last of its protocols,
   * since v2 comes after v1 in the kernel's tables and is its default; on InfiniBand the first.
   */
  int gidIndexOf(InetAddress address) {
    if (linkLayer == PortAttributes.LinkLayer.INFINIBAND) {
      return 0;
    }
    int found = -1;
    for (Map.Entry<Integer, byte[]> gid : gids.entrySet()) {
      if (Arrays.equals(gid.getValue(), gidOf(address)) && (found < 0 || prefersLater)) {
        found = gid.getKey();
      }
    }
    return found;
  }

  private static byte[] gidOf(InetAddress address) {
    byte[] bytes = address.getAddress();
    if (!(address instanceof Inet4Address)) {
      return bytes;
    }
    byte[] mapped = new byte[GID_BYTES];
    mapped[10] = (byte) 0xff;
    mapped[11] = (byte) 0xff;
    System.arraycopy(bytes, 0, mapped, 12, bytes.length);
    return mapped;
  }

  @Override
  public String toString() {
    return device + " port " + number;
  }
}
