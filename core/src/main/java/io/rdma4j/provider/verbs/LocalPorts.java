package io.rdma4j.provider.verbs;

import io.rdma4j.os.SystemRoot;
import io.rdma4j.provider.verbs.PortFacts.Link;
import io.rdma4j.verbs.PortAddress;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.Verbs;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The ports of this machine that a connection can use at a moment: with an address, active, of an
 * open device, and not left out by the settings.
 *
 * <p>Safe for use by several threads.
 */
final class LocalPorts {
  private final Verbs verbs;
  private final Map<String, DeviceContext> devices;
  private final PortRestriction restriction;
  private final GidIndex gidIndex;

  /** Connections made at the same moment start at different ports of equals. */
  private final AtomicInteger turn = new AtomicInteger();

  /**
   * Looks at devices.
   *
   * @param devices open ones by their names
   * @param host tells the types of GIDs
   */
  LocalPorts(
      Verbs verbs,
      Map<String, DeviceContext> devices,
      PortRestriction restriction,
      SystemRoot host) {
    this.verbs = verbs;
    this.devices = devices;
    this.restriction = restriction;
    gidIndex = new GidIndex(host, restriction.gidIndex());
  }

  /**
   * Returns the ports as they are now, those on the network of an address first.
   *
   * @throws IOException naming each port that can not be used, when none can
   */
  List<LocalPort> usable(InetAddress bootstrap) throws IOException {
    List<LocalPort> ports = new ArrayList<>();
    List<String> refused = new ArrayList<>();
    boolean bootstrapHasPort = false;
    for (PortAddress port : verbs.portAddresses()) {
      bootstrapHasPort |= port.address().equals(bootstrap);
      DeviceContext device = devices.get(port.device());
      if (device == null || !restriction.allows(port.device(), port.port())) {
        refused.add(name(port) + " is not among " + leftOver());
        continue;
      }
      PortAttributes attributes = device.device().port(port.port());
      String refusal = refusal(port, device, attributes);
      if (refusal.isEmpty()) {
        ports.add(local(port, device, attributes));
      } else {
        refused.add(refusal);
      }
    }
    if (!bootstrapHasPort) {
      refused.add(
          "the address of the bootstrap, "
              + bootstrap.getHostAddress()
              + ", belongs to no RDMA device");
    }
    if (ports.isEmpty()) {
      throw new IOException("no RDMA port can be used: " + String.join("; ", refused));
    }
    Collections.rotate(ports, Math.floorMod(turn.getAndIncrement(), ports.size()));
    ports.sort(Comparator.comparing(port -> !port.facts().isOnNetworkOf(bootstrap)));
    return ports;
  }

  private String leftOver() {
    return restriction.ports().isEmpty()
        ? "the open devices, " + devices.keySet()
        : VerbsSettings.DEVICES + ", " + restriction.ports();
  }

  private static String name(PortAddress port) {
    return port.device() + " port " + port.port();
  }

  /** Returns why a port is left out, empty when it is not. */
  private String refusal(PortAddress port, DeviceContext device, PortAttributes attributes) {
    if (!carriesData(attributes.state())) {
      return name(port) + " is " + attributes.state();
    }
    Link link = Link.of(device.isIwarp(), attributes.linkLayer());
    return gidIndex.refusal(device.device(), port, link);
  }

  /** Returns what is doubtful about the GID that a connection runs from, empty for nothing. */
  String doubt(LocalPort port, int usedGidIndex) {
    return gidIndex.doubt(port, usedGidIndex);
  }

  private static boolean carriesData(PortAttributes.State state) {
    return state == PortAttributes.State.ACTIVE || state == PortAttributes.State.ACTIVE_DEFER;
  }

  private static LocalPort local(
      PortAddress address, DeviceContext device, PortAttributes attributes) {
    int port = address.port();
    return new LocalPort(
        address.device(),
        port,
        new PortFacts(
            address.address(),
            address.prefixBits(),
            Link.of(device.isIwarp(), attributes.linkLayer()),
            attributes.activeMtuBytes(),
            device.distance(),
            device.connections(port),
            attributes.state() == PortAttributes.State.ACTIVE_DEFER || device.isSettling(port)));
  }
}
