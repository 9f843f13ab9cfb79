package io.rdma4j.provider.verbs;

import io.rdma4j.Rdma4jException;
import io.rdma4j.VerbsException;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.verbs.PortFacts.Link;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.Verbs;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Sets up one connection through rdma_cm.
 *
 * <pre>
 *  initiator                                   acceptor
 *                        -- PORTS --&gt;          choose a pair of ports, and who listens
 *                       &lt;-- CHOICE --
 *
 *  who connects (the initiator, mostly)        who listens
 *                                              bind to its port's address, listen
 *                     &lt;-- LISTENING(port) --
 *  resolve address and route
 *  queue pair, slots, receives
 *                        -- READY --&gt;
 *  rdma_connect(token) ==================&gt;     request with the right token?
 *                                              queue pair, slots, receives
 *  ESTABLISHED         &lt;==================     rdma_accept; ESTABLISHED
 *                     &lt;-- DONE -- DONE --&gt;
 * </pre>
 *
 * {@link PortMessage} and {@link StepMessage} draw the messages, {@link PortPair} has the choice.
 * The last exchange makes sure that neither end takes up a connection the other one has given up.
 * Whatever fails gives everything back.
 */
final class ConnectionSetup {
  private static final Logger LOG = System.getLogger(ConnectionSetup.class.getName());
  private static final int TOKEN_BYTES = 16;
  private static final int RESOLVE_TIMEOUT_MS = 2000;
  private static final int BACKLOG = 8;
  private static final int EADDRINUSE = 98;
  private static final int PORT_ATTEMPTS = 8;
  private static final byte[] NO_DATA = new byte[0];

  /**
   * The transport retries of a lost packet: one less than the most there is, which Linux's rxe
   * takes for endless (drivers/infiniband/sw/rxe/rxe_comp.c), so that a path that carries nothing
   * would never fail.
   */
  private static final int RETRY_COUNT = 6;

  /** Receives are always there; finite, so that a broken peer shows as an error and not a hang. */
  private static final int RNR_RETRY_COUNT = 6;

  private final Verbs verbs;
  private final LocalPorts ports;
  private final Function<String, DeviceContext> contexts;
  private final Handshake handshake;
  private final EndpointConfig config;
  private final int firstCredits;
  private int peerFirstCredits;
  private boolean readySent;

  /**
   * Prepares a set-up.
   *
   * @param ports tells what this machine has
   * @param contexts finds an opened device by its name, or throws
   * @param firstCredits data messages that the peer may send at once
   */
  ConnectionSetup(
      Verbs verbs,
      LocalPorts ports,
      Function<String, DeviceContext> contexts,
      Handshake handshake,
      EndpointConfig config,
      int firstCredits) {
    this.verbs = verbs;
    this.ports = ports;
    this.contexts = contexts;
    this.handshake = handshake;
    this.config = config;
    this.firstCredits = firstCredits;
  }

  VerbsEndpoint initiate() throws IOException {
    List<LocalPort> usable = usablePorts();
    PortMessage.sendPorts(handshake, usable);
    PortPair pair = PortMessage.receiveChoice(handshake, usable);
    return pair.acceptorListens() ? connectOver(pair) : listenOn(pair);
  }

  VerbsEndpoint accept() throws IOException {
    List<LocalPort> usable = usablePorts();
    List<PortFacts> peers = PortMessage.receivePorts(handshake);
    var bootstrap =
        new PortPair.Bootstrap(
            handshake.localAddress().getAddress(), handshake.peerAddress().getAddress());
    PortPair pair = PortPair.choose(usable, peers, bootstrap);
    PortMessage.sendChoice(handshake, pair, peers);
    return pair.acceptorListens() ? listenOn(pair) : connectOver(pair);
  }

  private List<LocalPort> usablePorts() throws IOException {
    try {
      return ports.usable(handshake.localAddress().getAddress());
    } catch (Rdma4jException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private VerbsEndpoint connectOver(PortPair pair) throws IOException {
    int port = expectStep(StepMessage.LISTENING);
    InetAddress bootstrap = handshake.peerAddress().getAddress();
    InetAddress peer = pair.peer().address();
    // The same address, but a link-local one has its scope there.
    var target = new InetSocketAddress(peer.equals(bootstrap) ? bootstrap : peer, port);
    return withFreePort(() -> connect(pair, target));
  }

  private VerbsEndpoint listenOn(PortPair pair) throws IOException {
    try (CmId listener = withFreePort(() -> listen(pair))) {
      sendStep(StepMessage.LISTENING, listener.localAddress().getPort());
      expectStep(StepMessage.READY);
      return acceptFrom(listener, pair);
    } catch (Rdma4jException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private void sendStep(byte step, int port) throws IOException {
    StepMessage.send(handshake, step, port, config, firstCredits);
  }

  /** Waits for a step of the peer and returns its port. */
  private int expectStep(byte step) throws IOException {
    StepMessage.Received received = StepMessage.expect(handshake, step, config);
    peerFirstCredits = received.firstCredits();
    return received.port();
  }

  /** A step that takes a local port chosen by rdma_cm. */
  private interface Step<T> {
    T run() throws IOException;
  }

  /**
   * Runs a step again while its port turns out to be taken. On iWARP a port of rdma_cm is a TCP
   * port as well, and rdma_cm does not know which of those other sockets hold.
   */
  private static <T> T withFreePort(Step<T> step) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        return step.run();
      } catch (VerbsException e) {
        if (e.errno() != EADDRINUSE || attempt == PORT_ATTEMPTS) {
          throw new IOException(e.getMessage(), e);
        }
      } catch (Rdma4jException | PostRefusedException e) {
        throw new IOException(e.getMessage(), e);
      }
    }
  }

  private VerbsEndpoint connect(PortPair pair, InetSocketAddress target) throws IOException {
    try (var undo = new Undo()) {
      CmId id = undo.stack.own(verbs.createCmId());
      var source = new InetSocketAddress(pair.own().facts().address(), 0);
      id.resolveAddress(source, target, resolveTimeoutMs());
      expect(id, CmEvent.Type.ADDR_RESOLVED, "resolving " + target);
      id.resolveRoute(resolveTimeoutMs());
      expect(id, CmEvent.Type.ROUTE_RESOLVED, "resolving the route to " + target);
      VerbsEndpoint endpoint = open(id, pair, undo.stack);
      if (!readySent) {
        sendStep(StepMessage.READY, 0);
        readySent = true;
      }
      int reads = endpoint.context().mostReadsStarted();
      id.connect(parameters(handshake.token(), endpoint.context(), reads));
      CmEvent answer = expect(id, CmEvent.Type.ESTABLISHED, "connecting to " + target);
      endpoint.offerOneSided(Math.min(reads, answer.initiatorDepth()), pathId());
      return undo.keep(finish(endpoint, pair));
    }
  }

  private CmId listen(PortPair pair) {
    try (var undo = new Undo()) {
      CmId listener = undo.stack.own(verbs.createCmId());
      listener.bind(new InetSocketAddress(pair.own().facts().address(), 0));
      listener.listen(BACKLOG);
      return undo.keep(listener);
    }
  }

  private VerbsEndpoint acceptFrom(CmId listener, PortPair pair) throws IOException {
    try (var undo = new Undo()) {
      CmEvent request = awaitRequest(listener);
      CmId id = undo.stack.own(Objects.requireNonNull(request.newId()));
      VerbsEndpoint endpoint = open(id, pair, undo.stack);
      int reads = Math.min(endpoint.context().mostReadsStarted(), request.initiatorDepth());
      id.accept(parameters(NO_DATA, endpoint.context(), reads));
      expect(id, CmEvent.Type.ESTABLISHED, "accepting");
      endpoint.offerOneSided(reads, pathId());
      return undo.keep(finish(endpoint, pair));
    } catch (PostRefusedException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  private VerbsEndpoint open(CmId id, PortPair pair, ResourceStack stack) throws IOException {
    DeviceContext context = contexts.apply(id.device().name());
    String peer = pair.peer().address().getHostAddress();
    return QueuePairSetup.open(context, id, config, peerFirstCredits, peer, stack);
  }

  /**
   * Returns what the queue pair was connected with.
   *
   * @throws IOException when its packets are larger than one of the ports carries: small messages
   *     would get through, and large ones be lost
   */
  private static ConnectedPath path(VerbsEndpoint endpoint, PortPair pair) throws IOException {
    if (pair.peer().link() == Link.IWARP) {
      return new ConnectedPath(0, -1, 1, 1); // TCP cuts the stream as it likes
    }
    ConnectedPath path = endpoint.devicesQueuePair().path();
    if (pair.peer().link() == Link.ROCE && path.mtuBytes() > pair.mtuBytes()) {
      throw new IOException(
          String.format(
              "rdma_cm has set an MTU of %d, but the port here carries %d and the peer's %d: give"
                  + " both network devices the same MTU",
              path.mtuBytes(), pair.own().facts().mtuBytes(), pair.peer().mtuBytes()));
    }
    return path;
  }

  /** The token is new for each attempt, and both ends have it. */
  private long pathId() {
    return ByteBuffer.wrap(handshake.token()).getLong();
  }

  private VerbsEndpoint finish(VerbsEndpoint endpoint, PortPair pair) throws IOException {
    ConnectedPath path = path(endpoint, pair);
    endpoint.facts().connected(path, pair);
    String doubt = ports.doubt(pair.own(), path.gidIndex());
    if (!doubt.isEmpty()) {
      endpoint.facts().add(doubt);
      LOG.log(Level.WARNING, endpoint.description());
    }
    endpoint.peerMaySend();
    sendStep(StepMessage.DONE, 0);
    expectStep(StepMessage.DONE);
    endpoint.startWatching();
    return endpoint;
  }

  /** Waits for the request that carries our token; strangers are refused, and the wait goes on. */
  private CmEvent awaitRequest(CmId listener) throws IOException {
    int strangers = 0;
    for (CmEvent event; (event = listener.awaitEvent(handshake.remainingNs())) != null; ) {
      CmId id = event.newId();
      if (event.type() != CmEvent.Type.CONNECT_REQUEST || id == null) {
        throw new IOException(
            "listening for the peer's request: " + event.type() + ", status " + event.status());
      }
      byte[] token = Arrays.copyOf(event.privateData(), TOKEN_BYTES);
      if (MessageDigest.isEqual(token, handshake.token())) {
        return event;
      }
      strangers++;
      try (id) {
        id.reject(NO_DATA);
      } catch (VerbsException e) {
        // A stranger that has gone already must not cost our peer its connection.
        LOG.log(Level.DEBUG, "a stranger's connect request could not be refused", e);
      }
    }
    throw new IOException(
        "no connect request of the peer until the deadline, " + strangers + " of strangers");
  }

  private CmEvent expect(CmId id, CmEvent.Type expected, String step) throws IOException {
    CmEvent event = id.awaitEvent(handshake.remainingNs());
    if (event == null) {
      throw new IOException(step + ": no answer of rdma_cm until the deadline");
    }
    if (event.type() != expected) {
      throw new IOException(
          step + ": expected " + expected + ", got " + event.type() + ", status " + event.status());
    }
    return event;
  }

  private int resolveTimeoutMs() {
    long leftMs = TimeUnit.NANOSECONDS.toMillis(handshake.remainingNs());
    return Math.clamp(leftMs, 1, RESOLVE_TIMEOUT_MS);
  }

  private static CmParameters parameters(byte[] privateData, DeviceContext context, int reads) {
    return new CmParameters(
        privateData, context.mostReadsServed(), reads, RETRY_COUNT, RNR_RETRY_COUNT);
  }

  /** Gives back what was made unless the set-up was completed. */
  private static final class Undo implements AutoCloseable {
    private final ResourceStack stack = new ResourceStack();
    private boolean kept;

    <T> T keep(T completed) {
      kept = true;
      return completed;
    }

    @Override
    public void close() {
      if (!kept) {
        stack.close();
      }
    }
  }
}
