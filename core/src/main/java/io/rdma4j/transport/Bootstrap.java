package io.rdma4j.transport;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Provider;
import io.rdma4j.transport.internal.BootstrapChannel;
import io.rdma4j.transport.internal.BootstrapChannel.Frame;
import io.rdma4j.transport.internal.BootstrapChannel.Kind;
import io.rdma4j.transport.internal.BootstrapChannel.ProtocolException;
import io.rdma4j.transport.internal.BootstrapChannel.RefusedException;
import io.rdma4j.transport.internal.Hello;
import io.rdma4j.transport.internal.Hello.Capability;
import io.rdma4j.transport.internal.PathNegotiation;
import io.rdma4j.transport.internal.SecretProof;
import io.rdma4j.transport.internal.TlsStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * Turns a TCP connection into an established path: encryption where it is wanted, then both ends
 * say hello, prove the secret, agree on sizes, and negotiate the path. Everything happens under one
 * deadline; on failure the socket is closed.
 *
 * <p>Safe for use by several threads.
 */
final class Bootstrap {
  /**
   * An established path and the socket it was set up over.
   *
   * @param session names the connection when it is to be resumed later; null when one of the ends
   *     can not do that
   * @param peerNode id of the other node
   * @param sizes what both ends have agreed on
   */
  record Established(
      BootstrapChannel channel,
      PathNegotiation.Result result,
      byte @Nullable [] session,
      byte[] peerNode,
      EndpointConfig sizes) {
    SocketChannel socket() {
      return channel.socket();
    }
  }

  /** What the ends know once both have greeted. */
  private record Greeting(Hello theirs, byte[] pathToken) {}

  private static final byte[] NOTHING = new byte[0];

  private final List<Provider> providers;
  private final NodeConfig config;
  private final SecureRandom random = new SecureRandom();
  private final byte[] nodeId = randomId();
  private final AtomicLong proofsRefused = new AtomicLong();

  Bootstrap(List<Provider> providers, NodeConfig config) {
    this.providers = providers;
    this.config = config;
  }

  private byte[] randomId() {
    byte[] id = new byte[Hello.ID_BYTES];
    random.nextBytes(id);
    return id;
  }

  /** Returns how many peers could not prove that they belong here. */
  long proofsRefused() {
    return proofsRefused.get();
  }

  /**
   * Connects to a node and negotiates as the initiator.
   *
   * @param onOpen gets the socket at once, so that another thread can end the attempt by closing it
   */
  Established initiate(InetSocketAddress peer, Consumer<SocketChannel> onOpen) throws IOException {
    return initiate(peer, onOpen, null, providers);
  }

  /**
   * Connects to a node for a connection that exists already.
   *
   * @param session names the connection
   * @param paths what to try, in this order
   * @throws RefusedException when the peer does not have that connection
   */
  Established resume(
      InetSocketAddress peer, Consumer<SocketChannel> onOpen, byte[] session, List<String> paths)
      throws IOException {
    List<Provider> chosen = new ArrayList<>();
    for (String path : paths) {
      providers.stream().filter(p -> p.name().equals(path)).forEach(chosen::add);
    }
    return initiate(peer, onOpen, session, chosen);
  }

  private Established initiate(
      InetSocketAddress peer,
      Consumer<SocketChannel> onOpen,
      byte @Nullable [] session,
      List<Provider> paths)
      throws IOException {
    long timeoutNs = session == null ? config.handshakeTimeoutNs() : resumeAttemptNs();
    long deadlineNs = System.nanoTime() + timeoutNs;
    SocketChannel socket = SocketChannel.open();
    try {
      onOpen.accept(socket);
      socket.socket().connect(peer, (int) Math.max(1, timeoutNs / 1_000_000));
      BootstrapChannel channel = channel(socket, peer, deadlineNs);
      Greeting greeting = greet(channel);
      if (session != null) {
        channel.send(Kind.RESUME, session);
        channel.expect(Kind.RESUME);
      }
      var negotiation =
          new PathNegotiation(
              channel, paths, greeting.pathToken, agree(greeting.theirs), deadlineNs);
      return established(channel, greeting, negotiation.initiate(greeting.theirs.offers()));
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  /**
   * Returns how long an attempt to resume takes at most: a path that hangs must leave time for the
   * next one before the connection is given up. Both ends see to that, since each waits by itself.
   */
  private long resumeAttemptNs() {
    return Math.min(config.handshakeTimeoutNs(), config.resumeTimeoutNs());
  }

  /** What an incoming handshake has led to. */
  record Accepted(Established established, byte @Nullable [] resumedSession) {}

  /**
   * Negotiates as the acceptor on a socket just accepted.
   *
   * @param arrival gets the name of a new connection before the initiator can have it
   * @return null when a connection was to be resumed that is not here any more; the peer knows that
   *     then, and the socket is closed
   */
  @Nullable Accepted accept(SocketChannel socket, Sessions.Arrival arrival) throws IOException {
    try {
      long beginNs = System.nanoTime();
      long deadlineNs = beginNs + config.handshakeTimeoutNs();
      BootstrapChannel channel = channel(socket, null, deadlineNs);
      Greeting greeting = welcome(channel);
      long pathsUntilNs = deadlineNs;
      Frame first = channel.receive(deadlineNs);
      byte[] resumed = null;
      if (first.kind() == Kind.RESUME) {
        resumed = first.payload();
        pathsUntilNs = beginNs + resumeAttemptNs();
        if (!arrival.sessions().has(resumed, greeting.theirs.nodeId(), pathsUntilNs)) {
          channel.sendRefusal("no such connection");
          socket.close();
          return null;
        }
        channel.send(Kind.RESUME, NOTHING);
        first = channel.receive(deadlineNs);
      } else if (isResumable(greeting)) {
        arrival.announce(greeting.pathToken);
      }
      var negotiation =
          new PathNegotiation(
              channel, providers, greeting.pathToken, agree(greeting.theirs), pathsUntilNs);
      return new Accepted(established(channel, greeting, negotiation.accept(first)), resumed);
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  private Established established(
      BootstrapChannel channel, Greeting greeting, PathNegotiation.Result result) {
    return new Established(
        channel,
        result,
        isResumable(greeting) ? greeting.pathToken : null,
        greeting.theirs.nodeId(),
        agree(greeting.theirs));
  }

  private boolean isResumable(Greeting greeting) {
    return config.resumeTimeoutNs() > 0 && greeting.theirs.has(Capability.RESUME);
  }

  // ---- encryption ------------------------------------------------------------------------------

  /**
   * Opens the channel, encrypted where that is configured; {@code peer} is null for the acceptor.
   */
  private BootstrapChannel channel(
      SocketChannel socket, @Nullable InetSocketAddress peer, long deadlineNs) throws IOException {
    socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    TlsConfig tls = config.tls();
    if (tls == null) {
      return new BootstrapChannel(socket, deadlineNs);
    }
    TlsStream stream = new TlsStream(socket, engine(tls, peer));
    try {
      stream.handshake(deadlineNs);
    } catch (SSLException e) {
      proofsRefused.incrementAndGet();
      throw new RefusedException("TLS: " + e.getMessage());
    }
    return new BootstrapChannel(socket, stream, deadlineNs);
  }

  private static SSLEngine engine(TlsConfig tls, @Nullable InetSocketAddress peer) {
    SSLEngine engine =
        peer == null
            ? tls.context().createSSLEngine()
            : tls.context().createSSLEngine(peer.getHostString(), peer.getPort());
    SSLParameters parameters = engine.getSSLParameters();
    parameters.setProtocols(new String[] {"TLSv1.3"});
    if (peer == null) {
      parameters.setNeedClientAuth(true);
    } else if (tls.peerNames() == TlsConfig.PeerNames.VERIFY) {
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
    }
    engine.setUseClientMode(peer != null);
    engine.setSSLParameters(parameters);
    return engine;
  }

  // ---- hello and proof -------------------------------------------------------------------------

  private Greeting greet(BootstrapChannel channel) throws IOException {
    byte[] token = randomId();
    Hello mine = hello(token);
    byte[] mineSent = mine.encode();
    channel.send(Kind.HELLO, mineSent);
    byte[] theirsSent = channel.expect(Kind.HELLO);
    Hello theirs = Hello.decode(theirsSent);
    if (!Arrays.equals(theirs.token(), token)) {
      throw new ProtocolException("the peer answered with another connection's token");
    }
    String missing = theirs.missing(mine, "this node", "the peer");
    if (missing != null) {
      throw new RefusedException(missing);
    }
    SharedSecret secret = config.secret();
    if (secret == null) {
      return new Greeting(theirs, token);
    }
    SecretProof proof = new SecretProof(mineSent, theirsSent, binding(channel));
    channel.send(Kind.PROOF, proof.ofInitiator(secret.bytes()));
    if (!SecretProof.matches(proof.ofAcceptor(secret.bytes()), channel.expect(Kind.PROOF))) {
      proofsRefused.incrementAndGet();
      throw new RefusedException("the peer does not know the secret of this node");
    }
    return new Greeting(theirs, proof.pathToken(secret.bytes()));
  }

  private Greeting welcome(BootstrapChannel channel) throws IOException {
    byte[] theirsSent = channel.expect(Kind.HELLO);
    Hello theirs = Hello.decode(theirsSent);
    Hello mine = hello(theirs.token());
    String missing = theirs.missing(mine, "this node", "the peer");
    if (missing != null) {
      channel.sendRefusal(missing);
      throw new RefusedException(missing);
    }
    byte[] mineSent = mine.encode();
    channel.send(Kind.HELLO, mineSent);
    if (config.secret() == null) {
      return new Greeting(theirs, theirs.token());
    }
    SecretProof proof = new SecretProof(theirsSent, mineSent, binding(channel));
    // The initiator goes first: who only asks gets nothing to guess secrets with.
    byte[] shown = channel.expect(Kind.PROOF);
    SharedSecret known = known(proof, shown);
    if (known == null) {
      proofsRefused.incrementAndGet();
      channel.sendRefusal("the secret is not the one of this cluster");
      throw new RefusedException("the peer does not know the secret of this node");
    }
    channel.send(Kind.PROOF, proof.ofAcceptor(known.bytes()));
    return new Greeting(theirs, proof.pathToken(known.bytes()));
  }

  /** Returns which of the accepted secrets the initiator has shown, or null. */
  private @Nullable SharedSecret known(SecretProof proof, byte[] shown) {
    SharedSecret found = null;
    for (SharedSecret secret : config.acceptedSecrets()) {
      // All are computed, whichever fits, so that the time does not tell which.
      if (SecretProof.matches(proof.ofInitiator(secret.bytes()), shown)) {
        found = secret;
      }
    }
    return found;
  }

  private static byte[] binding(BootstrapChannel channel) throws IOException {
    return channel.stream() instanceof TlsStream tls ? tls.binding() : NOTHING;
  }

  private Hello hello(byte[] token) {
    Map<String, byte[]> offers = new LinkedHashMap<>();
    for (Provider provider : providers) {
      if (provider.availability().usable()) {
        offers.put(provider.name(), provider.offer());
      }
    }
    int secret = config.secret() == null ? 0 : Capability.SECRET.bit();
    int resume = config.resumeTimeoutNs() > 0 ? Capability.RESUME.bit() : 0;
    return new Hello(
        Hello.VERSION,
        Hello.OLDEST_VERSION,
        secret | resume,
        secret,
        nodeId,
        token,
        randomId(),
        config.endpoint(),
        offers);
  }

  /** Takes the smaller wish of both ends, so that both compute the same. */
  private EndpointConfig agree(Hello theirs) {
    EndpointConfig mine = config.endpoint();
    EndpointConfig other = theirs.config();
    int maxMessageBytes = Math.min(mine.maxMessageBytes(), other.maxMessageBytes());
    return new EndpointConfig(
        maxMessageBytes,
        Math.min(mine.window(), other.window()),
        Math.max(Math.min(mine.ringBytes(), other.ringBytes()), 4 * maxMessageBytes));
  }
}
