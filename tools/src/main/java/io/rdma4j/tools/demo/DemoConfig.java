package io.rdma4j.tools.demo;

import io.rdma4j.transport.ConnectionAcceptor;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Node configurations of the demo's two processes: one required path, polled by its only thread.
 */
final class DemoConfig {
  /** Orders that may be without acknowledgement in the throughput phase. */
  static final int WINDOW = 64;

  /** Twice the window of orders: acknowledgements never meet back-pressure for long. */
  private static final int PATH_WINDOW = 2 * WINDOW;

  /**
   * The first connect of a fresh process loads and links much, and an attempt gets half of this
   * time; an emulated machine needs some tens of seconds.
   */
  private static final Duration HANDSHAKE_TIMEOUT = Duration.ofMinutes(2);

  /** Largest order either side takes. */
  static final int MAX_ORDER_BYTES = 16 * 1024;

  private DemoConfig() {}

  static NodeConfig gateway(String path) {
    return base(path).build();
  }

  static NodeConfig databaseNode(
      String path, InetSocketAddress address, ConnectionAcceptor acceptor) {
    return base(path).listen(address, acceptor).build();
  }

  private static NodeConfig.Builder base(String path) {
    return NodeConfig.builder()
        .paths(path)
        .threading(Threading.INVOKER)
        .window(PATH_WINDOW)
        .handshakeTimeout(HANDSHAKE_TIMEOUT)
        .maxMessageBytes(MAX_ORDER_BYTES);
  }
}
