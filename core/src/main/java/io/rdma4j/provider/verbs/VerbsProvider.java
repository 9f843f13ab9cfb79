package io.rdma4j.provider.verbs;

import io.rdma4j.Availability;
import io.rdma4j.Rdma4jException;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import io.rdma4j.provider.ReceiveMemory;
import io.rdma4j.provider.verbs.PortFacts.Link;
import io.rdma4j.status.EventSink;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceInfo;
import io.rdma4j.verbs.Verbs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The provider of messages over RDMA devices.
 *
 * <p>It opens every device that can be opened, once, and skips the others with a reason each. The
 * offer is two bytes:
 *
 * <pre>
 *  0  version     1
 *  1  transports  1   bit 0 InfiniBand, bit 1 RoCE, bit 2 iWARP
 * </pre>
 *
 * Each endpoint pins about {@code window * maxMessageBytes} bytes for what it sends by copy. What
 * it receives into is taken from {@link ReceiveMemory}: as much again for each endpoint, or {@link
 * VerbsSettings#sharedReceives} for all. A provider that was given no such memory pins its own, and
 * then hands no message over.
 *
 * <p>Two ends can try when they have a transport in common; whether there is a path between them
 * shows in the set-up.
 */
public final class VerbsProvider implements Provider {
  private static final byte VERSION = 3;

  private final Verbs verbs;
  private final VerbsSettings settings;
  private final NanoClock clock;
  private final EventSink events;
  private final Map<String, DeviceContext> contexts = new LinkedHashMap<>();
  private final List<String> skipped = new ArrayList<>();
  private final int transports;
  private final LocalPorts ports;

  /** Opens the usable devices of a stack, with the settings in the system properties. */
  public VerbsProvider(Verbs verbs) {
    this(verbs, VerbsSettings.fromProperties(), NanoClock.SYSTEM);
  }

  /**
   * Opens the usable devices of a stack.
   *
   * @param clock for the bounds of an endpoint's closing; read by its polling thread
   */
  public VerbsProvider(Verbs verbs, VerbsSettings settings, NanoClock clock) {
    this(verbs, settings, clock, EventSink.NONE);
  }

  /**
   * Opens the usable devices of a stack.
   *
   * @param clock for the bounds of an endpoint's closing; read by its polling thread
   * @param events hears what the devices announce, and what fails on them
   */
  public VerbsProvider(Verbs verbs, VerbsSettings settings, NanoClock clock, EventSink events) {
    this(verbs, settings, clock, events, SystemRoot.host());
  }

  /**
   * Opens the usable devices of a stack.
   *
   * @param host tells on which NUMA nodes devices and processors are
   */
  public VerbsProvider(
      Verbs verbs, VerbsSettings settings, NanoClock clock, EventSink events, SystemRoot host) {
    this.verbs = verbs;
    this.settings = settings;
    this.clock = clock;
    this.events = events;
    ports = new LocalPorts(verbs, contexts, settings.ports(), host);
    DeviceDistances distances = DeviceDistances.read(host);
    Set<String> missing = settings.ports().devices();
    int found = 0;
    for (DeviceInfo info : verbs.devices()) {
      missing.remove(info.name());
      if (!settings.ports().allows(info.name())) {
        skipped.add(info.name() + " (not among " + VerbsSettings.DEVICES + ")");
        continue;
      }
      if (!info.availability().usable()) {
        skipped.add(info.name() + " (" + info.availability().reason() + ")");
        continue;
      }
      try {
        found |= open(info, distances.of(info.name()));
      } catch (Rdma4jException e) {
        skipped.add(info.name() + " (" + e.getMessage() + ")");
      }
    }
    for (String name : missing) {
      skipped.add(name + " (among " + VerbsSettings.DEVICES + ", but there is no such device)");
    }
    transports = found;
  }

  /** Opens a device and returns its transports. */
  private int open(DeviceInfo info, int distance) {
    boolean iwarp = info.transport() == DeviceInfo.Transport.IWARP;
    DeviceContext context =
        new DeviceContext(verbs.open(info.name()), settings, clock, iwarp, distance, events);
    try {
      int found = transportsOf(context);
      contexts.put(info.name(), context);
      return found;
    } catch (RuntimeException e) {
      context.close();
      throw e;
    }
  }

  private static int transportsOf(DeviceContext context) {
    Device device = context.device();
    int found = 0;
    for (int port = 1; port <= device.attributes().physicalPorts(); port++) {
      found |= Link.of(context.isIwarp(), device.port(port).linkLayer()).bit();
    }
    return found;
  }

  @Override
  public String name() {
    return "verbs";
  }

  @Override
  public Availability availability() {
    String without = skipped.isEmpty() ? "" : "; skipped " + String.join(", ", skipped);
    if (!contexts.isEmpty()) {
      return Availability.usable("devices " + String.join(", ", contexts.keySet()) + without);
    }
    return Availability.unusable(
        skipped.isEmpty() ? verbs.availability().reason() : "no device can be used" + without);
  }

  @Override
  public List<MemoryRegistrar> registrars() {
    return List.copyOf(contexts.values());
  }

  /** Takes the events of every device, those without a connection as well. */
  @Override
  public void housekeep(long nowNs) {
    contexts.values().forEach(DeviceContext::housekeep);
  }

  @Override
  public void receiveInto(ReceiveMemory memory) {
    contexts.values().forEach(context -> context.receiveInto(memory));
  }

  @Override
  public byte[] offer() {
    return new byte[] {VERSION, (byte) transports};
  }

  @Override
  public Availability judge(byte[] peerOffer) {
    if (peerOffer.length != 2 || peerOffer[0] != VERSION) {
      return Availability.unusable("the peer speaks another version of the verbs provider");
    }
    if (contexts.isEmpty()) {
      return availability();
    }
    if (peerOffer[1] == 0) {
      return Availability.unusable("the peer has no usable RDMA device");
    }
    if ((peerOffer[1] & transports) == 0) {
      return Availability.unusable(
          String.format(
              "no transport in common: InfiniBand 1, RoCE 2, iWARP 4; here %d, at the peer %d",
              transports, peerOffer[1]));
    }
    return Availability.usable("both ends have RDMA devices of the same transport");
  }

  @Override
  public Endpoint initiate(Handshake handshake, EndpointConfig config) throws IOException {
    return setup(handshake, config).initiate();
  }

  @Override
  public Endpoint accept(Handshake handshake, EndpointConfig config) throws IOException {
    return setup(handshake, config).accept();
  }

  private ConnectionSetup setup(Handshake handshake, EndpointConfig config) {
    int firstCredits =
        settings.sharedReceives() == 0
            ? config.window()
            : SharedReceives.leastCredits(config.window());
    return new ConnectionSetup(verbs, ports, this::context, handshake, config, firstCredits);
  }

  private DeviceContext context(String deviceName) {
    DeviceContext context = contexts.get(deviceName);
    if (context == null) {
      throw new Rdma4jException(
          "rdma_cm chose device " + deviceName + ", which is not open; " + availability().reason());
    }
    return context;
  }

  @Override
  public void close() {
    try (var stack = new ResourceStack()) {
      contexts.values().forEach(stack::own);
    }
    contexts.clear();
  }
}
