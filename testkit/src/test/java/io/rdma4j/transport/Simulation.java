package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.Provider;
import io.rdma4j.testkit.simulation.DeviceSteps;
import io.rdma4j.testkit.simulation.SimulatedClock;
import io.rdma4j.testkit.simulation.SimulatedHandshake;
import io.rdma4j.testkit.simulation.SimulatedSocket;
import io.rdma4j.testkit.simulation.Turns;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.transport.internal.BootstrapChannel;
import io.rdma4j.transport.internal.PathNegotiation;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Two nodes on one scripted device, driven step by step by a seed: who polls, what the application
 * does, which send the device executes, which completion shows, how time passes.
 *
 * <p>Everything runs on the calling thread, apart from the set-up of a connection, whose two ends
 * take turns. So a seed is a run.
 */
final class Simulation implements AutoCloseable {
  /** A property that has to hold did not. */
  static final class Violation extends AssertionError {
    private static final long serialVersionUID = 1L;

    Violation(String message) {
      super(message);
    }
  }

  /** What happened, over many runs. */
  static final class Statistics {
    long runs;
    long steps;
    long connections;
    long refusedConnects;
    long sent;
    long lost;
    long replies;
    long cancelled;
    long exhausted;
    long kept;
    long handedOver;

    @Override
    public String toString() {
      return "%d runs, %d steps, %d connections (%d refused), %d messages accepted, %d lost with"
              .formatted(runs, steps, connections, refusedConnects, sent, lost)
          + " their path, %d replies, %d requests cancelled, %d times without a buffer, %d"
              .formatted(replies, cancelled, exhausted, kept)
          + " messages kept, %d payloads handed over".formatted(handedOver);
    }
  }

  private static final InetAddress ADDRESS = InetAddress.getLoopbackAddress();
  private static final long START_NS = Long.MAX_VALUE - 50_000_000L;
  private static final long HANDSHAKE_NS = 5_000_000_000L;
  private static final int PATIENCE_STEPS = 40_000;
  private static final int IDLE_STEPS = 400;

  final long seed;
  final Statistics statistics;
  final SplittableRandom random;
  final ScriptedVerbs verbs = new ScriptedVerbs();
  final ScriptedDevice device;
  final SimulatedClock clock;
  final DeviceSteps steps;
  final SimulatedNode[] nodes = new SimulatedNode[2];
  final EndpointConfig sizes;
  private final Turns turns;
  private final int[] weights = new int[5];
  private final @Nullable List<String> trace;
  private long connectionNumber;
  private long stepNumber;

  /** Steps during which a node stands still; index as {@link #nodes}. */
  final int[] pausedSteps = new int[2];

  /** True while the device does nothing. */
  boolean deviceStuck;

  Simulation(
      long seed,
      Statistics statistics,
      @Nullable List<String> trace,
      Consumer<ScriptedVerbs> spoiling,
      UnaryOperator<Provider> wrapping) {
    this.seed = seed;
    this.statistics = statistics;
    this.trace = trace;
    random = new SplittableRandom(seed);
    device = verbs.addDevice("simulated0").address(ADDRESS);
    device.limits().maxInlineBytes = random.nextInt(3) * 100;
    device.limits().maxSge = 2 + random.nextInt(3);
    steps = new DeviceSteps(device, random);
    clock = new SimulatedClock(START_NS, this::worldGoesOn);
    turns = new Turns(random, clock);
    verbs.takeSteps(turns);
    spoiling.accept(verbs);
    int maxMessageBytes = new int[] {40, 200, 1000}[random.nextInt(3)];
    int window = new int[] {4, 5, 7, 16, 33}[random.nextInt(5)];
    sizes = new EndpointConfig(maxMessageBytes, window, 4 * maxMessageBytes);
    for (int i = 0; i < weights.length; i++) {
      weights[i] = 1 + random.nextInt(8);
    }
    for (int i = 0; i < nodes.length; i++) {
      nodes[i] =
          new SimulatedNode("node " + i, this, verbs, clock, sizes, random.split(), wrapping);
    }
    statistics.runs++;
  }

  /** What goes on while a node waits in a loop: the device works. */
  private void worldGoesOn() {
    if (!deviceStuck && random.nextInt(4) == 0) {
      steps.execute();
      steps.complete();
    }
  }

  void check(boolean holds, Supplier<String> otherwise) {
    if (!holds) {
      throw new Violation(otherwise.get());
    }
  }

  void trace(Supplier<String> what) {
    if (trace != null) {
      trace.add(stepNumber + " " + what.get());
    }
  }

  // ---- connecting ----------------------------------------------------------------------------

  /** Connects the nodes; null when that was refused, by both ends and without a trace left. */
  SimulatedEnd @Nullable [] connect() {
    long number = ++connectionNumber;
    int initiator = random.nextInt(2);
    SimulatedSocket[] sockets =
        SimulatedSocket.pair(
            new InetSocketAddress(ADDRESS, (int) (10_000 + number % 10_000)),
            new InetSocketAddress(ADDRESS, 7400));
    byte[] token = new byte[16];
    random.nextBytes(token);
    SimulatedHandshake[] handshakes =
        SimulatedHandshake.pair(clock, turns, sockets, token, HANDSHAKE_NS);
    Endpoint[] endpoints = new Endpoint[2];
    String[] failures = new String[2];
    turns.run(
        () -> setUp(initiator, 0, handshakes[0], endpoints, failures),
        () -> setUp(1 - initiator, 1, handshakes[1], endpoints, failures));
    if (failures[0] != null || failures[1] != null) {
      for (Endpoint endpoint : endpoints) {
        if (endpoint != null) {
          endpoint.close(PathNegotiation.discarding());
        }
      }
      trace(() -> "connect " + number + " refused: " + failures[0] + " / " + failures[1]);
      statistics.refusedConnects++;
      return null;
    }
    SimulatedEnd[] ends = new SimulatedEnd[2];
    for (int i = 0; i < 2; i++) {
      SimulatedNode node = nodes[i == 0 ? initiator : 1 - initiator];
      ends[i] = new SimulatedEnd(node, sockets[i], number, i, random.split());
    }
    for (int i = 0; i < 2; i++) {
      open(ends[i], ends[1 - i], endpoints[i]);
    }
    trace(() -> "connect " + number + " from " + nodes[initiator]);
    statistics.connections++;
    return ends;
  }

  private void setUp(
      int node,
      int side,
      SimulatedHandshake handshake,
      Endpoint[] endpoints,
      @Nullable String[] failures) {
    Provider provider = nodes[node].provider;
    try {
      endpoints[side] =
          side == 0 ? provider.initiate(handshake, sizes) : provider.accept(handshake, sizes);
    } catch (IOException | Rdma4jException e) {
      failures[side] = String.valueOf(e.getMessage());
      handshake.giveUp(String.valueOf(e.getMessage()));
    }
  }

  private void open(SimulatedEnd end, SimulatedEnd peer, Endpoint endpoint) {
    var result = new PathNegotiation.Result("verbs", endpoint, Map.of());
    var path = new PathChoice("verbs", endpoint.device(), endpoint.description(), Map.of());
    var channel = new BootstrapChannel(end.socket, Long.MAX_VALUE);
    var established = new Bootstrap.Established(channel, result, null, new byte[0], sizes);
    try {
      Connection connection = end.node.node.add(established, path, end, null);
      end.open(connection, peer);
      end.node.ends.add(end);
    } catch (IOException e) {
      throw new Violation("an established connection was not taken up: " + e);
    }
  }

  // ---- steps ---------------------------------------------------------------------------------

  /** One step of anybody; the application of the given ends takes part when {@code busy}. */
  void step(List<SimulatedEnd> ends, boolean busy) {
    stepNumber++;
    statistics.steps++;
    clock.advance(random.nextInt(20_000));
    int draw = random.nextInt(weights[0] + weights[1] + weights[2] + weights[3] + weights[4]);
    int who = random.nextInt(2);
    if ((draw -= weights[0]) < 0) {
      if (isAwake(who)) {
        nodes[who].poll();
      }
    } else if ((draw -= weights[1]) < 0) {
      for (int i = random.nextInt(4); i >= 0 && !deviceStuck; i--) {
        steps.execute();
      }
    } else if ((draw -= weights[2]) < 0) {
      for (int i = random.nextInt(4); i >= 0 && !deviceStuck; i--) {
        steps.complete();
      }
    } else if ((draw -= weights[3]) < 0) {
      SimulatedEnd end = ends.get(random.nextInt(ends.size()));
      if (busy) {
        for (int i = random.nextInt(4); i >= 0; i--) {
          end.node.act(end);
        }
      } else if (!end.owed.isEmpty()) {
        end.node.answer(end);
      }
    } else if (random.nextInt(4) == 0 && isAwake(who)) {
      nodes[who].housekeep();
    }
  }

  private boolean isAwake(int who) {
    if (pausedSteps[who] > 0) {
      pausedSteps[who]--;
      return false;
    }
    return true;
  }

  void run(int count, List<SimulatedEnd> ends) {
    for (int i = 0; i < count; i++) {
      step(ends, true);
    }
  }

  /**
   * Goes on without new messages until something is so.
   *
   * @param timeFlies whether the clock jumps when it takes long
   */
  void runUntil(String what, List<SimulatedEnd> ends, boolean timeFlies, BooleanSupplier done) {
    for (int i = 0; !done.getAsBoolean(); i++) {
      check(i < PATIENCE_STEPS, () -> "stuck, waiting until " + what + ": " + describe(ends));
      step(ends, false);
      if (timeFlies && i % IDLE_STEPS == IDLE_STEPS - 1) {
        clock.advance(50_000_000);
      }
    }
  }

  private static String describe(List<SimulatedEnd> ends) {
    List<String> all = new ArrayList<>();
    for (SimulatedEnd end : ends) {
      all.add(end + " " + end.connection().status() + ", missing " + end.missing());
    }
    return all.toString();
  }

  /** Returns the kinds of ends that the connections came to. */
  static List<EndpointFailure.Kind> kinds(List<SimulatedEnd> ends) {
    return ends.stream().map(end -> end.reason().kind()).toList();
  }

  /** Closes the nodes; nothing of theirs may be left anywhere. */
  @Override
  public void close() {
    deviceStuck = false;
    verbs.faults().clear();
    for (SimulatedNode node : nodes) {
      node.close();
    }
    check(
        verbs.ledger().receiverNotReady() == 0,
        () -> verbs.ledger().receiverNotReady() + " messages found no receive posted");
    check(verbs.ledger().stalePosts() == 0, () -> "a request named memory that was gone");
    check(device.pinnedBytes() == 0, () -> device.pinnedBytes() + " bytes are pinned still");
    try {
      verbs.ledger().assertNothingLeft();
    } catch (AssertionError e) {
      throw new Violation(String.valueOf(e.getMessage()));
    }
    for (SimulatedNode node : nodes) {
      for (SimulatedEnd end : node.ends) {
        check(!end.socket.isOpen(), () -> end + ": its socket is open still");
      }
    }
  }
}
