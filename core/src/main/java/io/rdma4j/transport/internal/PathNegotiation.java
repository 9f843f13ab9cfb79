package io.rdma4j.transport.internal;

import io.rdma4j.Availability;
import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.Provider;
import io.rdma4j.transport.internal.BootstrapChannel.Frame;
import io.rdma4j.transport.internal.BootstrapChannel.Kind;
import io.rdma4j.transport.internal.BootstrapChannel.ProtocolException;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Finds the first path in the initiator's order that both ends can really use.
 *
 * <p>For each path tried: the initiator names it (TRY), both providers exchange steps (STEP), then
 * each end sends exactly one verdict (READY or FAIL) and reads on until it has the other's. The
 * path holds only if both are READY; otherwise both give up what they made and the next path is
 * tried. So a failing step late in the handshake never shows as a failed connect.
 *
 * <p>Single thread only; one instance per handshake.
 */
public final class PathNegotiation {
  private static final Logger LOG = System.getLogger(PathNegotiation.class.getName());

  /** What came out: the endpoint, and the reasons against the paths before it. */
  public record Result(String path, Endpoint endpoint, Map<String, String> rejected) {}

  private final BootstrapChannel channel;
  private final List<Provider> providers;
  private final byte[] token;
  private final EndpointConfig config;
  private final long deadlineNs;
  private final Map<String, String> rejected = new LinkedHashMap<>();

  /**
   * Prepares a negotiation.
   *
   * @param providers this end's providers in its order of preference
   * @param deadlineNs the {@link System#nanoTime()} that the paths share: each has half of what the
   *     ones before it have left
   */
  public PathNegotiation(
      BootstrapChannel channel,
      List<Provider> providers,
      byte[] token,
      EndpointConfig config,
      long deadlineNs) {
    this.channel = channel;
    this.providers = providers;
    this.token = token;
    this.config = config;
    this.deadlineNs = deadlineNs;
  }

  /** Returns the listener to close an endpoint with that never carried a message. */
  public static EndpointListener discarding() {
    return DiscardingListener.INSTANCE;
  }

  /** Runs the initiator's side. */
  public Result initiate(Map<String, byte[]> peerOffers) throws IOException {
    for (Provider provider : providers) {
      Availability judged = judge(provider, peerOffers.get(provider.name()));
      if (!judged.usable()) {
        rejected.put(provider.name(), judged.reason());
        continue;
      }
      channel.send(Kind.TRY, provider.name().getBytes(StandardCharsets.US_ASCII));
      Endpoint endpoint = attempt(provider, true);
      if (endpoint != null) {
        return new Result(provider.name(), endpoint, rejected);
      }
    }
    throw new IOException("no path works: " + rejected);
  }

  private static Availability judge(Provider provider, byte @Nullable [] peerOffer) {
    if (!provider.availability().usable()) {
      return provider.availability();
    }
    return peerOffer == null
        ? Availability.unusable("the peer does not offer it")
        : provider.judge(peerOffer);
  }

  /**
   * Runs the acceptor's side.
   *
   * @param first the initiator's first frame
   */
  public Result accept(Frame first) throws IOException {
    for (Frame frame = first; ; frame = channel.receive(channel.deadlineNs())) {
      if (frame.kind() != Kind.TRY) {
        throw new ProtocolException("expected a path to try, got " + frame.kind());
      }
      String name = new String(frame.payload(), StandardCharsets.US_ASCII);
      Provider provider = byName(name);
      if (provider == null) {
        verdict("path " + name + " is not offered here", false);
        continue;
      }
      Endpoint endpoint = attempt(provider, false);
      if (endpoint != null) {
        return new Result(name, endpoint, rejected);
      }
    }
  }

  private @Nullable Provider byName(String name) {
    for (Provider provider : providers) {
      if (provider.name().equals(name) && provider.availability().usable()) {
        return provider;
      }
    }
    return null;
  }

  /** Tries one path; null when either end gave it up, with the reason noted. */
  private @Nullable Endpoint attempt(Provider provider, boolean initiator) throws IOException {
    // Half of what is left: a path that hangs must leave time for the next one.
    long nowNs = System.nanoTime();
    Steps steps = new Steps(nowNs + (deadlineNs - nowNs) / 2);
    Endpoint endpoint = null;
    String failure = null;
    try {
      endpoint = initiator ? provider.initiate(steps, config) : provider.accept(steps, config);
    } catch (ProtocolException e) {
      throw e;
    } catch (IOException | Rdma4jException e) {
      failure = String.valueOf(e.getMessage());
      LOG.log(Level.DEBUG, "path " + provider.name() + " was given up", e);
    } catch (RuntimeException e) {
      // A defect of one path must not cost the connection; it must not stay unseen either.
      failure = e.toString();
      LOG.log(Level.WARNING, "path " + provider.name() + " failed unexpectedly", e);
    }
    boolean agreed = false;
    try {
      String peerFailure = verdict(failure, steps.peerGaveUp);
      agreed = failure == null && peerFailure == null;
      if (!agreed) {
        rejected.put(provider.name(), failure != null ? failure : "peer: " + peerFailure);
      }
    } finally {
      if (!agreed && endpoint != null) {
        endpoint.close(DiscardingListener.INSTANCE);
        endpoint = null;
      }
    }
    return endpoint;
  }

  /** Sends this end's verdict and returns the peer's reason for giving up, or null. */
  private @Nullable String verdict(@Nullable String failure, boolean peerVerdictTaken)
      throws IOException {
    // The provider of this path may have made the socket non-blocking for its messages.
    SocketChannel socket = channel.socket();
    boolean blocking = socket.isBlocking();
    socket.configureBlocking(true);
    if (failure == null) {
      channel.send(Kind.READY, new byte[0]);
    } else {
      channel.send(Kind.FAIL, BootstrapChannel.clip(failure));
    }
    String peerFailure = null;
    while (!peerVerdictTaken) {
      Frame frame = channel.receive(channel.deadlineNs());
      if (frame.kind() == Kind.FAIL) {
        peerFailure = new String(frame.payload(), StandardCharsets.UTF_8);
        peerVerdictTaken = true;
      } else if (frame.kind() == Kind.READY) {
        peerVerdictTaken = true;
      } else if (frame.kind() != Kind.STEP) {
        throw new ProtocolException("expected a verdict, got " + frame.kind());
      }
    }
    socket.configureBlocking(failure != null || peerFailure != null || blocking);
    return peerFailure;
  }

  /** The handshake as the provider being tried sees it. */
  private final class Steps implements Handshake {
    private final long untilNs;
    private boolean peerGaveUp;

    private Steps(long untilNs) {
      this.untilNs = untilNs;
    }

    @Override
    public byte[] token() {
      return token.clone();
    }

    @Override
    public InetSocketAddress localAddress() {
      return channel.localAddress();
    }

    @Override
    public InetSocketAddress peerAddress() {
      return channel.peerAddress();
    }

    @Override
    public void send(byte[] message) throws IOException {
      if (message.length > MAX_MESSAGE_BYTES) {
        throw new IllegalArgumentException(
            "handshake message of " + message.length + " bytes, limit " + MAX_MESSAGE_BYTES);
      }
      channel.send(Kind.STEP, message);
    }

    @Override
    public byte[] receive() throws IOException {
      Frame frame = channel.receive(untilNs);
      return switch (frame.kind()) {
        case STEP -> frame.payload();
        case FAIL -> {
          peerGaveUp = true;
          throw new IOException(new String(frame.payload(), StandardCharsets.UTF_8));
        }
        default -> throw new ProtocolException("expected a step, got " + frame.kind());
      };
    }

    @Override
    public long remainingNs() {
      return Math.max(0, untilNs - System.nanoTime());
    }

    @Override
    public SocketChannel socket() {
      return channel.socket();
    }

    @Override
    public ByteChannel stream() {
      return channel.stream();
    }
  }
}
