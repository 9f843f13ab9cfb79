package io.rdma4j.verbs.ffi;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.PortAddress;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the addresses of this machine that belong to ports of RDMA devices. The kernel answers for
 * InfiniBand, RoCE and iWARP alike, bonds and VLANs included, when an identifier is bound to one.
 */
final class PortAddresses {
  private PortAddresses() {}

  static List<PortAddress> find(NativeVerbs verbs) {
    List<PortAddress> found = new ArrayList<>();
    try {
      for (NetworkInterface netdev : NetworkInterface.networkInterfaces().toList()) {
        for (InterfaceAddress address : isUp(netdev) ? netdev.getInterfaceAddresses() : none()) {
          PortAddress port = portAt(verbs, address.getAddress(), address.getNetworkPrefixLength());
          if (port != null) {
            found.add(port);
          }
        }
      }
    } catch (SocketException e) {
      throw new VerbsException(
          "getifaddrs", 0, "the addresses of this machine can not be read: " + e.getMessage());
    }
    return List.copyOf(found);
  }

  private static List<InterfaceAddress> none() {
    return List.of();
  }

  /** An interface may go while it is looked at. */
  private static boolean isUp(NetworkInterface netdev) {
    try {
      return netdev.isUp();
    } catch (SocketException gone) {
      return false;
    }
  }

  private static @Nullable PortAddress portAt(
      NativeVerbs verbs, InetAddress address, int prefixBits) {
    try (NativeCmId id = NativeCmId.create(verbs)) {
      try {
        id.bind(new InetSocketAddress(address, 0));
      } catch (VerbsException noDeviceThere) {
        return null;
      }
      String device = id.deviceName();
      return device == null ? null : new PortAddress(address, prefixBits, device, id.devicePort());
    }
  }
}
