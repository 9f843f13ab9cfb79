package io.rdma4j.transport;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Provider;
import io.rdma4j.transport.internal.BootstrapChannel;
import io.rdma4j.transport.internal.BootstrapChannel.Frame;
import io.rdma4j.transport.internal.BootstrapChannel.Kind;
import io.rdma4j.transport.internal.BootstrapChannel.ProtocolException;
import io.rdma4j.transport.internal.Hello;
import io.rdma4j.transport.internal.PathNegotiation;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Turns a TCP connection into an established path: both ends say hello, agree on sizes, and
 * negotiate the path. Everything happens under one deadline; on failure the socket is closed.
 *
 * <p>Safe for use by several threads.
 */
final class Bootstrap {
  /** An established path and the socket it was set up over. */
  record Established(SocketChannel socket, PathNegotiation.Result result) {}

  private final List<Provider> providers;
  private final NodeConfig config;
  private final SecureRandom random = new SecureRandom();
  private final byte[] nodeId = randomId();

  Bootstrap(List<Provider> providers, NodeConfig config) {
    this.providers = providers;
    this.config = config;
  }

  private byte[] randomId() {
    byte[] id = new byte[Hello.ID_BYTES];
    random.nextBytes(id);
    return id;
  }

  /**
   * Connects to a node and negotiates as the initiator.
   *
   * @param onOpen gets the socket at once, so that another thread can end the attempt by closing it
   */
  Established initiate(InetSocketAddress peer, Consumer<SocketChannel> onOpen) throws IOException {
    long deadlineNs = System.nanoTime() + config.handshakeTimeoutNs();
    SocketChannel socket = SocketChannel.open();
    try {
      onOpen.accept(socket);
      socket.socket().connect(peer, (int) Math.max(1, config.handshakeTimeoutNs() / 1_000_000));
      BootstrapChannel channel = channel(socket, deadlineNs);
      byte[] token = randomId();
      channel.send(Kind.HELLO, hello(token).encode());
      Hello theirs = receiveHello(channel);
      if (!Arrays.equals(theirs.token(), token)) {
        throw new ProtocolException("the peer answered with another connection's token");
      }
      return new Established(
          socket,
          new PathNegotiation(channel, providers, token, agree(theirs)).initiate(theirs.offers()));
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  /** Negotiates as the acceptor on a socket just accepted. */
  Established accept(SocketChannel socket) throws IOException {
    try {
      BootstrapChannel channel = channel(socket, System.nanoTime() + config.handshakeTimeoutNs());
      Hello theirs = receiveHello(channel);
      channel.send(Kind.HELLO, hello(theirs.token()).encode());
      return new Established(
          socket, new PathNegotiation(channel, providers, theirs.token(), agree(theirs)).accept());
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  private static BootstrapChannel channel(SocketChannel socket, long deadlineNs)
      throws IOException {
    socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    return new BootstrapChannel(socket, deadlineNs);
  }

  private static Hello receiveHello(BootstrapChannel channel) throws IOException {
    Frame frame = channel.receive(channel.deadlineNs());
    if (frame.kind() != Kind.HELLO) {
      throw new ProtocolException("expected a hello, got " + frame.kind());
    }
    return Hello.decode(frame.payload());
  }

  private Hello hello(byte[] token) {
    Map<String, byte[]> offers = new LinkedHashMap<>();
    for (Provider provider : providers) {
      if (provider.availability().usable()) {
        offers.put(provider.name(), provider.offer());
      }
    }
    return new Hello(nodeId, token, config.endpoint(), offers);
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
