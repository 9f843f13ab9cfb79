package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.RegionDescriptor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;

/**
 * The library: nodes that their only thread polls, messages sent by copy and answered in the
 * handler, as messages or as replies to requests.
 *
 * @param ringBytes what may be under way in one direction on shm
 * @param requests whether what wants an answer is a request
 * @param address where to listen
 * @param availability whether the path can be used here
 */
record NodeWay(
    String name,
    String path,
    int ringBytes,
    boolean requests,
    InetAddress address,
    Availability availability)
    implements Way {
  /** Name of the way that asks by requests. */
  static final String REQUESTS = "shm_request";

  /** What a node has by default. */
  private static final int RING_BYTES = 1 << 20;

  /** The first connect of an emulated machine is slow. */
  private static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(60);

  /** What the peer may read. */
  private static final int REGION_BYTES = 4096;

  private static final int WINDOW = 256;

  /** Returns a path with its default sizes. */
  static NodeWay of(String path, InetAddress address, Availability availability) {
    return new NodeWay(path, path, RING_BYTES, false, address, availability);
  }

  /** Returns shared memory with rings as long as one term of Aeron's. */
  static NodeWay largeRings(InetAddress address) {
    return new NodeWay(
        "shm64m", "shm", 64 * RING_BYTES, false, address, Availability.usable("shared memory"));
  }

  /** Returns shared memory with requests. */
  static NodeWay requests(InetAddress address) {
    return new NodeWay(
        REQUESTS, "shm", RING_BYTES, true, address, Availability.usable("shared memory"));
  }

  @Override
  public String description() {
    String rings = path.equals("shm") ? ", rings of " + (ringBytes >> 20) + " MiB" : "";
    String asked = requests ? ", requests with a handler for the reply" : "";
    return "rdma4j over " + path + rings + asked + ", one thread on each side that sends and polls";
  }

  private NodeConfig.Builder config() {
    return NodeConfig.builder()
        .paths(path)
        .threading(Threading.INVOKER)
        .window(WINDOW)
        .maxMessageBytes(Link.MAX_MESSAGE_BYTES)
        .ringBytes(ringBytes)
        .handshakeTimeout(HANDSHAKE_TIMEOUT);
  }

  @Override
  public Acceptor listen() {
    NodeLink.Handler handler = new NodeLink.Handler();
    Node node =
        Node.start(
            config().listen(new InetSocketAddress(address, 0), (peer, path) -> handler).build());
    InetSocketAddress at = Objects.requireNonNull(node.listenAddress());
    RegionDescriptor region =
        node.export(Arena.ofAuto().allocate(REGION_BYTES, Long.BYTES), MemoryAccess.REMOTE_READ)
            .descriptor();
    return new Acceptor() {
      @Override
      public String address() {
        return at.getAddress().getHostAddress() + ":" + at.getPort() + "/" + region.id();
      }

      @Override
      public Link accept() throws IOException {
        long endNs = System.nanoTime() + HANDSHAKE_TIMEOUT.toNanos();
        Connection connection = handler.connection;
        while (connection == null) {
          node.poll();
          connection = handler.connection;
          if (System.nanoTime() - endNs > 0) {
            throw new IOException("nobody has connected to " + at);
          }
        }
        return new NodeLink(node, connection, handler, requests, null);
      }

      @Override
      public void close() {
        node.close();
      }
    };
  }

  @Override
  public Link connect(String peer) {
    NodeLink.Handler handler = new NodeLink.Handler();
    Node node = Node.start(config().build());
    try {
      String[] words = peer.split("/");
      RegionDescriptor region =
          new RegionDescriptor(Long.parseLong(words[1]), REGION_BYTES, MemoryAccess.REMOTE_READ);
      Connection connection = node.connect(words[0], handler);
      return new NodeLink(node, connection, handler, requests, region);
    } catch (RuntimeException e) {
      node.close();
      throw e;
    }
  }
}
