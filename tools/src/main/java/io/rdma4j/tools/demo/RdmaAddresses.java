package io.rdma4j.tools.demo;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.Verbs;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Finds which of this host's IP addresses belong to which RDMA device, by asking the kernel. */
final class RdmaAddresses {
  private RdmaAddresses() {}

  /** Returns one IPv4 address for each device that rdma_cm can bind to, by device name. */
  static Map<String, InetAddress> find(Verbs verbs) throws SocketException {
    Map<String, InetAddress> byDevice = new LinkedHashMap<>();
    if (!verbs.availability().usable()) {
      return byDevice;
    }
    for (NetworkInterface netdev : NetworkInterface.networkInterfaces().toList()) {
      if (!netdev.isUp() || netdev.isLoopback()) {
        continue;
      }
      for (InetAddress address : netdev.inetAddresses().toList()) {
        if (address instanceof Inet4Address) {
          bind(verbs, address, byDevice);
        }
      }
    }
    return byDevice;
  }

  private static void bind(Verbs verbs, InetAddress address, Map<String, InetAddress> byDevice) {
    try (CmId id = verbs.createCmId()) {
      id.bind(new InetSocketAddress(address, 0));
      byDevice.putIfAbsent(id.device().name(), address);
    } catch (VerbsException e) {
      // ENODEV and the like: an ordinary address of this host.
      System.getLogger(RdmaAddresses.class.getName())
          .log(System.Logger.Level.DEBUG, address + " is on no RDMA device", e);
    }
  }
}
