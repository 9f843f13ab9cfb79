package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import io.rdma4j.VerbsException;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.Verbs;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.LinkedHashMap;
import java.util.Map;

/** All ways there are. */
final class Ways {
  private Ways() {}

  /** Returns every way by name, usable here or not. */
  static Map<String, Way> all() {
    Map<String, Way> byName = new LinkedHashMap<>();
    InetAddress loopback = InetAddress.getLoopbackAddress();
    add(byName, NodeWay.of("shm", loopback, Availability.usable("shared memory")));
    add(byName, NodeWay.largeRings(loopback));
    add(byName, NodeWay.requests(loopback));
    add(byName, LineWay.word());
    add(byName, LineWay.message());
    add(byName, new AeronWay());
    add(byName, new JucxWay());
    add(byName, new SocketWay("socket", false));
    add(byName, new SocketWay("socket_blocking", true));
    add(byName, new NettyWay());
    add(byName, verbs(loopback));
    return byName;
  }

  private static void add(Map<String, Way> byName, Way way) {
    byName.put(way.name(), way);
  }

  private static Way verbs(InetAddress loopback) {
    Verbs verbs = Verbs.system();
    if (!verbs.availability().usable()) {
      return NodeWay.of("verbs", loopback, verbs.availability());
    }
    try {
      for (NetworkInterface netdev : NetworkInterface.networkInterfaces().toList()) {
        for (InetAddress address : netdev.inetAddresses().toList()) {
          if (address instanceof Inet4Address && !address.isLoopbackAddress()) {
            String device = deviceOf(verbs, address);
            if (!device.isEmpty()) {
              return NodeWay.of("verbs", address, Availability.usable(device));
            }
          }
        }
      }
    } catch (IOException e) {
      return NodeWay.of("verbs", loopback, Availability.unusable("no network addresses: " + e));
    }
    return NodeWay.of(
        "verbs", loopback, Availability.unusable("no RDMA device has an IPv4 address here"));
  }

  /** Returns the device that rdma_cm finds for an address, or nothing. */
  private static String deviceOf(Verbs verbs, InetAddress address) {
    try (CmId id = verbs.createCmId()) {
      id.bind(new InetSocketAddress(address, 0));
      return id.device().name();
    } catch (VerbsException e) {
      System.getLogger(Ways.class.getName()).log(Level.DEBUG, address + " is on no RDMA device", e);
      return "";
    }
  }
}
