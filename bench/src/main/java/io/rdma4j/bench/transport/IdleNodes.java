package io.rdma4j.bench.transport;

import io.rdma4j.bench.natives.Linux;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.NodeConfig.Waiting;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Objects;

/** What a connected node burns while nothing comes, waiting as nodes do by default. */
final class IdleNodes {
  private static final int NODES = 2;

  private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();

  /**
   * The start of a process is compiled for a while, on threads that no node has. A second with less
   * than this of it is quiet; one that never comes is not waited for.
   */
  private static final long QUIET_COMPILE_MS = 2;

  private static final int MOST_SETTLE_SECONDS = 40;

  private IdleNodes() {}

  /** Returns the CPU of one node, in hundredths of a core. */
  static double corePercent(int seconds) throws IOException {
    ConnectionHandler handler = (connection, message) -> {};
    NodeConfig config = config().build();
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (Node server = Node.start(config().listen(any, (peer, path) -> handler).build());
        Node client = Node.start(config);
        Connection connection =
            client.connect(Objects.requireNonNull(server.listenAddress()), handler)) {
      awaitQuietCompiler();
      long cpuNs = Linux.processCpuNs();
      long beganNs = System.nanoTime();
      Thread.sleep(seconds * 1_000L);
      double share =
          (double) (Linux.processCpuNs() - cpuNs) / (System.nanoTime() - beganNs) / NODES;
      if (!connection.isOpen()) {
        throw new IOException(connection + " has ended while it was idle");
      }
      return 100 * share;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while a node was idle", e);
    }
  }

  private static void awaitQuietCompiler() throws InterruptedException {
    long compiledMs = -QUIET_COMPILE_MS;
    for (int second = 0; second < MOST_SETTLE_SECONDS; second++) {
      Thread.sleep(1_000);
      long nowMs = COMPILER.getTotalCompilationTime();
      if (nowMs - compiledMs < QUIET_COMPILE_MS) {
        return;
      }
      compiledMs = nowMs;
    }
  }

  private static NodeConfig.Builder config() {
    return NodeConfig.builder()
        .paths("shm")
        .threading(Threading.DEDICATED)
        .waiting(Waiting.BACKOFF);
  }
}
