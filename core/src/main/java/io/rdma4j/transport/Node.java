package io.rdma4j.transport;

import io.rdma4j.Availability;
import io.rdma4j.Rdma4jException;
import io.rdma4j.concurrent.IdleStrategy;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.StatusRegistry;
import io.rdma4j.transport.Bootstrap.Established;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.NodeConfig.Waiting;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * One member of the cluster: it owns a pool of registered memory, the pollers, and every connection
 * it accepts or makes.
 *
 * <p>Safe for use by several threads, except {@link #poll()}, which one thread at a time calls on a
 * node with {@link Threading#INVOKER}. {@link #close()} closes connections, then pollers, then the
 * pool, then the providers.
 */
public final class Node implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Node.class.getName());

  private static final AtomicInteger NODES = new AtomicInteger();

  private final NodeConfig config;
  private final NanoClock clock;
  private final NodeEvents events;
  private final int number;
  private final List<Provider> providers;
  private final List<MemoryRegistrar> registrars;
  private final RegisteredBufferPool pool;
  private final Handshakes handshakes;
  private final Poller[] pollers;
  private final Conductor conductor;
  private final List<Connection> connections = new CopyOnWriteArrayList<>();
  private final AtomicLong connectionIds = new AtomicLong();
  private final AtomicLong lateReplies = new AtomicLong();
  private final ExportTable exports;
  private final AtomicLong pathChanges = new AtomicLong();
  private final EnumCounts<Kind> ended = new EnumCounts<>(Kind.class);
  private final NodeTraffic traffic = new NodeTraffic();
  private final RequestTimes requestTimes;
  private final StatusRegistry metrics = new StatusRegistry();
  private final List<StatusRegistry.Registration> metricSources = new ArrayList<>();
  private final AtomicBoolean closed = new AtomicBoolean();

  /**
   * Starts a node: finds the paths this machine has, makes the pool, starts pollers, listens.
   *
   * @throws Rdma4jException when the only path asked for is not there, the pool cannot be made, or
   *     the address is taken; nothing is left behind
   */
  public static Node start(NodeConfig config) {
    NodeEvents events = NodeEvents.open(config, NanoClock.SYSTEM);
    Node node;
    try {
      List<Provider> providers = Providers.create(config, events.journal());
      node = make(config, providers, NanoClock.SYSTEM, events);
    } catch (RuntimeException e) {
      events.close();
      throw e;
    }
    node.conductor.start();
    events.startWatch(node, "rdma4j-watch-" + node.number);
    return node;
  }

  /**
   * Makes a node without any thread of its own, on a clock that the caller moves: who drives it
   * calls {@link #poll()}, and {@link Connection#housekeep} and {@link Conductor#readSocket} for
   * each connection in place of the conductor.
   *
   * @param config with {@link Threading#INVOKER}, and without an address to listen on
   * @param providers owned by the node from here on, also when this fails
   */
  static Node driven(NodeConfig config, List<Provider> providers, NanoClock clock) {
    return make(config, providers, clock, new NodeEvents(EventJournal.inMemory(clock), clock));
  }

  private static Node make(
      NodeConfig config, List<Provider> providers, NanoClock clock, NodeEvents events) {
    try {
      return new Node(config, providers, clock, events, NODES.incrementAndGet());
    } catch (RuntimeException e) {
      Providers.close(providers, e);
      throw e;
    } catch (IOException e) {
      Rdma4jException failure = new Rdma4jException("the node cannot start: " + e.getMessage(), e);
      Providers.close(providers, failure);
      throw failure;
    }
  }

  private Node(
      NodeConfig config, List<Provider> providers, NanoClock clock, NodeEvents events, int number)
      throws IOException {
    this.config = config;
    this.clock = clock;
    this.requestTimes = new RequestTimes(clock);
    this.events = events;
    this.number = number;
    Memory memory = makePool(config, providers);
    this.providers = memory.providers;
    this.registrars = Providers.registrars(memory.providers);
    this.exports = new ExportTable(this, registrars);
    this.pool = memory.pool;
    for (Provider provider : memory.providers) {
      provider.receiveInto(pool.receiveMemory(config.endpoint().maxMessageBytes()));
    }
    try {
      handshakes = new Handshakes(this, new Bootstrap(memory.providers, config));
      conductor =
          new Conductor(
              this, config.listenAddress(), "rdma4j-conductor-" + number, handshakes::accept);
    } catch (IOException | RuntimeException e) {
      pool.close();
      throw e;
    }
    pollers = makePollers(number);
    metricSources.add(metrics.register("pool", pool.metrics()));
    metricSources.add(metrics.register("node", new NodeMetrics(this)));
    metricSources.add(metrics.register(new ConnectionTable(this)));
    metricSources.add(metrics.register(new PathTable(this)));
    metricSources.add(metrics.register(pool.heatTable()));
    metricSources.add(metrics.register("events", events.journal()));
    warnOfUnusable();
  }

  private Poller[] makePollers(int number) {
    if (config.threading() == Threading.INVOKER) {
      return new Poller[] {new Poller()};
    }
    List<Poller> made = new ArrayList<>();
    try {
      for (int i = 0; i < config.pollers(); i++) {
        made.add(new Poller("rdma4j-poller-" + number + "-" + i, idleStrategy()));
      }
      return made.toArray(new Poller[0]);
    } catch (RuntimeException e) {
      // No descriptors left for their wait sets, for example.
      for (Poller poller : made) {
        poller.close(config.closeTimeoutNs());
      }
      attempt(e, conductor::close);
      attempt(e, pool::close);
      throw e;
    }
  }

  private record Memory(RegisteredBufferPool pool, List<Provider> providers) {}

  /**
   * Makes the pool. When a device refuses its memory, the paths that need none carry on without it,
   * and the refusal becomes the reason why that path is not used.
   */
  private static Memory makePool(NodeConfig config, List<Provider> providers) {
    requireOneUsable(providers);
    try {
      List<MemoryRegistrar> registrars = Providers.registrars(providers);
      return new Memory(RegisteredBufferPool.create(config.pool(), registrars), providers);
    } catch (Rdma4jException e) {
      List<Provider> rest = Providers.withoutRegistrars(providers, e);
      requireOneUsable(rest);
      return new Memory(RegisteredBufferPool.create(config.pool(), List.of()), rest);
    }
  }

  private static void requireOneUsable(List<Provider> providers) {
    Map<String, String> reasons = new LinkedHashMap<>();
    for (Provider provider : providers) {
      if (!provider.availability().usable()) {
        reasons.put(provider.name(), provider.availability().reason());
      }
    }
    if (reasons.size() == providers.size()) {
      throw new Rdma4jException("none of the paths asked for can be used here: " + reasons);
    }
  }

  private void warnOfUnusable() {
    for (Provider provider : providers) {
      if (!provider.availability().usable()) {
        LOG.log(
            Level.WARNING,
            "path " + provider.name() + " is not used: " + provider.availability().reason());
      }
    }
  }

  private IdleStrategy idleStrategy() {
    return config.waiting() == Waiting.SPIN
        ? IdleStrategy.busySpin()
        : IdleStrategy.spinThenSleep(NanoClock.SYSTEM, config.spinNs());
  }

  // ---- what users call -------------------------------------------------------------------------

  /**
   * Connects to a node. A virtual thread holds its carrier while rdma_cm is waited for.
   *
   * @param hostAndPort for example {@code db-2:7400} or {@code [::1]:7400}
   * @param handler receives what the peer sends
   * @throws ConnectFailedException with each path tried and its reason
   */
  public Connection connect(String hostAndPort, ConnectionHandler handler) {
    int colon = hostAndPort.lastIndexOf(':');
    if (colon <= 0) {
      throw new IllegalArgumentException("expected host:port, got '" + hostAndPort + "'");
    }
    String host = hostAndPort.substring(0, colon).replaceAll("^\\[|\\]$", "");
    try {
      int port = Integer.parseInt(hostAndPort.substring(colon + 1));
      return connect(new InetSocketAddress(host, port), handler);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("no port number in '" + hostAndPort + "'", e);
    }
  }

  /** Connects to a node; see {@link #connect(String, ConnectionHandler)}. */
  public Connection connect(InetSocketAddress peer, ConnectionHandler handler) {
    requireOpen();
    if (peer.isUnresolved()) {
      throw new ConnectFailedException("host " + peer.getHostString() + " is not known", null);
    }
    try {
      return handshakes.connect(peer, handler);
    } catch (IOException e) {
      throw new ConnectFailedException("no connection to " + peer + ": " + e.getMessage(), e);
    }
  }

  /**
   * Connects to a node that may not be there yet. Between attempts it waits for a random part of a
   * bound that doubles from {@link NodeConfig#backoffBaseNs} to {@link NodeConfig#backoffCapNs}, so
   * that many clients of a server that restarts do not come back in step.
   *
   * @param patience for waits between attempts; an attempt that has begun is not cut short
   * @throws ConnectFailedException of the last attempt
   * @throws io.rdma4j.Rdma4jException when interrupted between attempts
   */
  public Connection connect(InetSocketAddress peer, ConnectionHandler handler, Duration patience) {
    return new PatientConnect(this, patience).connect(peer, handler);
  }

  /** Returns the pool whose buffers connections of this node send without copying. */
  public RegisteredBufferPool pool() {
    return pool;
  }

  /**
   * Lets peers reach memory by one-sided operations, until the region is closed. They get the
   * rights given here and no others, to this memory and no other; whoever has the region's {@link
   * ExportedRegion#descriptor() descriptor} has them, over any connection of this node. The memory
   * is pinned for each device that can serve peers; where one refuses that, peers reach it by
   * messages.
   *
   * @param memory native; must stay valid until the region is closed
   * @param access bits of {@link io.rdma4j.provider.MemoryAccess}, at least one for peers
   * @return owned by the caller
   * @throws IllegalArgumentException for memory on the heap, read-only memory that peers may write,
   *     or rights that do not go together
   */
  public ExportedRegion export(MemorySegment memory, int access) {
    requireOpen();
    return exports.add(memory, access);
  }

  ExportTable exports() {
    return exports;
  }

  /** Returns the address this node listens on, or null when it does not. */
  public @Nullable InetSocketAddress listenAddress() {
    return conductor.listenAddress();
  }

  /**
   * Makes progress on all connections of a node without pollers of its own: delivers messages,
   * gives sent buffers back. Never blocks.
   *
   * @return the work done, 0 when idle
   */
  public int poll() {
    return pollers[0].poll();
  }

  /** Returns the configuration. */
  public NodeConfig config() {
    return config;
  }

  /**
   * Returns the registry of this node's metrics: those of its pool, connections and handshakes; and
   * of its tables {@code connections}, {@code paths} and {@code pool}. Others may be added. The
   * node's own leave it when the node is closed.
   */
  public StatusRegistry metrics() {
    return metrics;
  }

  /**
   * Returns what happened to this node, its connections and its devices: events, incidents and
   * their causes, and who listens to them.
   */
  public EventJournal journal() {
    return events.journal();
  }

  NodeEvents events() {
    return events;
  }

  /** Returns the state of paths, connections and pool. */
  public NodeStatus status() {
    Map<String, Availability> paths = new LinkedHashMap<>();
    for (Provider provider : providers) {
      paths.put(provider.name(), provider.availability());
    }
    List<ConnectionStatus> states = new ArrayList<>();
    for (Connection connection : connections) {
      states.add(connection.status());
    }
    return new NodeStatus(
        paths,
        List.copyOf(states),
        pool.statistics(),
        handshakes.failed(),
        handshakes.proofsRefused(),
        lateReplies.get());
  }

  /** Closes everything in order; idempotent. Must not be called from a handler. */
  @Override
  public void close() {
    if (isPollingThread()) {
      throw new IllegalStateException("Node.close() must not be called from a handler");
    }
    synchronized (connections) {
      if (!closed.compareAndSet(false, true)) {
        return;
      }
    }
    // An interrupt must not cut the order short: what is freed here may still be in use by a
    // poller.
    boolean interrupted = Thread.interrupted();
    try {
      closeInOrder();
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void closeInOrder() {
    Rdma4jException failure = new Rdma4jException("closing the node failed in part");
    conductor.stopListening();
    attempt(failure, handshakes::end);
    for (Connection connection : connections) {
      connection.startClosing();
    }
    for (Connection connection : connections) {
      attempt(failure, connection::awaitClosedInAnyCase);
    }
    boolean quiet = true;
    for (Poller poller : pollers) {
      quiet &= poller.close(config.closeTimeoutNs());
    }
    attempt(failure, conductor::close);
    attempt(failure, events::close);
    if (quiet) {
      EndpointFailure reason = new EndpointFailure(Kind.DEVICE, "the node was closed");
      for (Connection connection : connections) {
        attempt(failure, () -> connection.abandon(reason));
      }
      attempt(failure, exports::closeAll);
      metricSources.forEach(source -> attempt(failure, source::close));
      attempt(failure, pool::close);
      Providers.close(providers, failure);
    } else {
      failure.addSuppressed(
          new Rdma4jException(
              "a poller is stuck in a handler; pool and devices stay open, since it may use them"));
    }
    if (failure.getSuppressed().length > 0) {
      throw failure;
    }
  }

  private static void attempt(RuntimeException failure, Runnable step) {
    try {
      step.run();
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
    }
  }

  // ---- connections -----------------------------------------------------------------------------

  Conductor conductor() {
    return conductor;
  }

  Handshakes handshakes() {
    return handshakes;
  }

  ControlSocket controlOf(Established established, PathChoice path) {
    return new ControlSocket(
        established.socket(),
        established.channel().stream(),
        path.name().equals("tcp"),
        config.heartbeatIntervalNs(),
        clockNs());
  }

  /** Makes a connection of an established path; {@code peer} is null at the end that accepted. */
  Connection add(
      Established established,
      PathChoice path,
      ConnectionHandler handler,
      @Nullable InetSocketAddress peer)
      throws IOException {
    long id = connectionIds.incrementAndGet();
    Poller poller = pollers[(int) (id % pollers.length)];
    ControlSocket control = controlOf(established, path);
    Connection connection = connection(established, poller, id, control, path, handler, peer);
    handshakes.leave(established.socket());
    synchronized (connections) {
      if (closed.get()) {
        connection.discard();
        throw new IOException("the node is closed");
      }
      connections.add(connection);
      events.opened(connection);
      Resumption resumption = connection.resumption();
      if (resumption != null) {
        handshakes.sessions().remember(resumption);
      }
      connection.poller().add(connection);
    }
    conductor.watch(connection);
    return connection;
  }

  private Connection connection(
      Established established,
      Poller poller,
      long id,
      ControlSocket control,
      PathChoice path,
      ConnectionHandler handler,
      @Nullable InetSocketAddress peer) {
    Endpoint first = established.result().endpoint();
    byte[] session = established.session();
    if (session == null) {
      return new Connection(this, poller, id, first, control, path, handler);
    }
    AtomicReference<@Nullable Connection> made = new AtomicReference<>();
    ResumableEndpoint endpoint =
        new ResumableEndpoint(
            first,
            established.sizes(),
            config.resumeTimeoutNs(),
            cause -> Objects.requireNonNull(made.get()).current().ended(cause),
            () -> Objects.requireNonNull(made.get()).wakePeer());
    Connection connection = new Connection(this, poller, id, endpoint, control, path, handler);
    connection
        .current()
        .resumeWith(
            new Resumption(this, connection, endpoint, session, established.peerNode(), peer));
    made.set(connection);
    return connection;
  }

  void watch(Connection connection) {
    conductor.watch(connection);
  }

  void forget(Connection connection, Kind why) {
    ended.increment(why);
    traffic.leave(connection, connection.path().name(), true, () -> connections.remove(connection));
    Resumption resumption = connection.resumption();
    if (resumption != null) {
      handshakes.sessions().forget(resumption);
    }
    connection.poller().remove(connection);
  }

  // ---- for connections and agents --------------------------------------------------------------

  List<Connection> connectionsNow() {
    return connections;
  }

  /** Has providers look for trouble of their devices. Conductor. */
  void housekeepProviders(long nowNs) {
    for (Provider provider : providers) {
      provider.housekeep(nowNs);
    }
  }

  long clockNs() {
    return clock.nanoTime();
  }

  int registrarIndex(@Nullable MemoryRegistrar registrar) {
    return registrar == null ? -1 : registrars.indexOf(registrar);
  }

  RequestTimes requestTimes() {
    return requestTimes;
  }

  NodeTraffic traffic() {
    return traffic;
  }

  long opened() {
    return connectionIds.get();
  }

  long ended(Kind why) {
    return ended.get(why);
  }

  List<Provider> providers() {
    return providers;
  }

  void countPathChange() {
    pathChanges.incrementAndGet();
  }

  long pathChanges() {
    return pathChanges.get();
  }

  long lateReplies() {
    return lateReplies.get();
  }

  boolean isUsable(String path) {
    return providers.stream()
        .anyMatch(provider -> provider.name().equals(path) && provider.availability().usable());
  }

  void countLateReply() {
    lateReplies.incrementAndGet();
  }

  boolean isPollingThread() {
    for (Poller poller : pollers) {
      if (poller.isPollingThread()) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether this node has no threads that poll. */
  boolean isPolledByCallers() {
    return !pollers[0].hasThread();
  }

  boolean isClosed() {
    return closed.get();
  }

  private void requireOpen() {
    if (isClosed()) {
      throw new IllegalStateException("the node is closed");
    }
  }
}
