package io.rdma4j.testkit.verbs;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.verbs.PortRestriction;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.status.EventSink;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Two hosts on one wire, each with its own devices. Devices and ports are set up first; {@link
 * #start} opens them. Closing checks that nothing is left.
 */
final class TwoHosts implements AutoCloseable {
  static final EndpointConfig SIZES = new EndpointConfig(8192, 16, 4 * 8192);
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Path NO_TREE = Path.of("/nonexistent");

  final ScriptedVerbs verbs = new ScriptedVerbs();
  private final Map<String, ScriptedDevice> devices = new HashMap<>();
  private final List<String> left = new ArrayList<>();
  private final List<String> right = new ArrayList<>();
  private final List<EndpointPair> pairs = new ArrayList<>();
  private @Nullable VerbsProvider leftProvider;
  private @Nullable VerbsProvider rightProvider;

  /** Two devices with two ports each at both hosts: port 1 in 10.1.0.0/24, port 2 in 10.2.0.0. */
  static TwoHosts withTwoDevicesEach() {
    var hosts = new TwoHosts();
    for (int i = 0; i < 2; i++) {
      hosts.wire(hosts.addLeft("left" + i), i + 1);
      hosts.wire(hosts.addRight("right" + i), i + 11);
    }
    return hosts;
  }

  private void wire(ScriptedDevice device, int host) {
    for (int port = 1; port <= 2; port++) {
      device.scriptedPort(port).address(address("10." + port + ".0." + host), 24);
    }
  }

  static InetAddress address(String literal) {
    try {
      return InetAddress.getByName(literal);
    } catch (UnknownHostException e) {
      throw new IllegalArgumentException(literal, e);
    }
  }

  ScriptedDevice addLeft(String name) {
    left.add(name);
    return add(name);
  }

  ScriptedDevice addRight(String name) {
    right.add(name);
    return add(name);
  }

  private ScriptedDevice add(String name) {
    ScriptedDevice device = verbs.addDevice(name);
    devices.put(name, device);
    return device;
  }

  ScriptedDevice device(String name) {
    return Objects.requireNonNull(devices.get(name), name);
  }

  TwoHosts start() {
    return start(new PortRestriction(left, PortRestriction.GID_BY_ADDRESS), NO_TREE);
  }

  /** Opens the devices, at the left as the settings say, with sysfs and procfs below a folder. */
  TwoHosts start(PortRestriction ofLeft, Path root) {
    leftProvider = provider(ofLeft, root);
    rightProvider = provider(new PortRestriction(right, PortRestriction.GID_BY_ADDRESS), NO_TREE);
    return this;
  }

  private VerbsProvider provider(PortRestriction ports, Path root) {
    var settings = new VerbsSettings(16, 0, 0).withPorts(ports);
    return new VerbsProvider(
        verbs, settings, NanoClock.SYSTEM, EventSink.NONE, SystemRoot.at(root));
  }

  VerbsProvider left() {
    return Objects.requireNonNull(leftProvider, "not started");
  }

  VerbsProvider right() {
    return Objects.requireNonNull(rightProvider, "not started");
  }

  /** Connects the left to the right, with the bootstrap between two addresses. */
  EndpointPair connect(String leftAddress, String rightAddress) throws IOException {
    return connect(leftAddress, rightAddress, true);
  }

  /**
   * Connects the two.
   *
   * @param fromLeft which one is the initiator; the left is that of the pair too, or its acceptor
   */
  EndpointPair connect(String leftAddress, String rightAddress, boolean fromLeft)
      throws IOException {
    InetAddress atLeft = address(leftAddress);
    InetAddress atRight = address(rightAddress);
    VerbsProvider from = fromLeft ? left() : right();
    VerbsProvider to = fromLeft ? right() : left();
    InetAddress near = fromLeft ? atLeft : atRight;
    InetAddress far = fromLeft ? atRight : atLeft;
    EndpointPair pair =
        EndpointPair.connect(
            (handshake, sizes) -> from.initiate(new At(handshake, near, far), sizes),
            (handshake, sizes) -> to.accept(new At(handshake, far, near), sizes),
            InetAddress.getLoopbackAddress(),
            SIZES,
            PATIENCE);
    pairs.add(pair);
    return pair;
  }

  /** Sends a message of the longest length from each end to the other. */
  static void exchange(EndpointPair pair) {
    MemorySegment longest = MemorySegment.ofArray(new byte[SIZES.maxMessageBytes()]);
    var atInitiator = new Inbox();
    var atAcceptor = new Inbox();
    pair.initiator().send(1, 1, longest, 0, SIZES.maxMessageBytes());
    pair.acceptor().send(1, 2, longest, 0, SIZES.maxMessageBytes());
    pair.initiator().flush();
    pair.acceptor().flush();
    ScriptedLink.pollUntil(pair.acceptor(), atAcceptor, () -> !atAcceptor.messages().isEmpty());
    ScriptedLink.pollUntil(pair.initiator(), atInitiator, () -> !atInitiator.messages().isEmpty());
  }

  @Override
  public void close() throws IOException {
    for (EndpointPair pair : pairs) {
      pair.close();
    }
    left().close();
    right().close();
    verbs.ledger().assertNothingLeft();
  }

  /** A bootstrap that runs between other addresses than it does. */
  private record At(Handshake actual, InetAddress local, InetAddress peer) implements Handshake {
    @Override
    public InetSocketAddress localAddress() {
      return new InetSocketAddress(local, actual.localAddress().getPort());
    }

    @Override
    public InetSocketAddress peerAddress() {
      return new InetSocketAddress(peer, actual.peerAddress().getPort());
    }

    @Override
    public byte[] token() {
      return actual.token();
    }

    @Override
    public void send(byte[] message) throws IOException {
      actual.send(message);
    }

    @Override
    public byte[] receive() throws IOException {
      return actual.receive();
    }

    @Override
    public long remainingNs() {
      return actual.remainingNs();
    }

    @Override
    public SocketChannel socket() {
      return actual.socket();
    }
  }
}
