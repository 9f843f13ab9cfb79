package io.rdma4j.tools.serve;

import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.RequestFailedException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * A process that sends requests to a node that {@code serve} runs, on a schedule that does not wait
 * for replies to late ones, until the pipe from its parent closes.
 */
@Command(
    name = "serve-peer",
    hidden = true,
    description = "Send requests to a node that serve runs.",
    mixinStandardHelpOptions = true)
public final class ServePeerCommand implements Callable<Integer> {
  private static final int[] ORDER_BYTES = {64, 200, 1000, 4000};
  private static final long DEADLINE_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long RECONNECT_NS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final Duration PARTING = Duration.ofSeconds(1);
  private static final ConnectionHandler DEAF =
      new ConnectionHandler() {
        @Override
        public void onMessage(Connection connection, Message message) {}
      };

  @Parameters(index = "0", paramLabel = "HOST:PORT", description = "The node.")
  private String target = "";

  @Option(names = "--rate", paramLabel = "N", description = "Requests a second.", required = true)
  private int rate;

  /** Created by picocli. */
  public ServePeerCommand() {}

  @Override
  public Integer call() {
    NodeConfig config = NodeConfig.builder().closeTimeout(PARTING).build();
    try (Node node = Node.start(config)) {
      Thread.ofPlatform().daemon().name("parent-watch").start(() -> watchParent(node));
      while (true) {
        try (Connection connection = node.connect(target, DEAF)) {
          send(connection);
        } catch (io.rdma4j.transport.ConnectFailedException e) {
          System.err.println(e.getMessage());
        }
        LockSupport.parkNanos(RECONNECT_NS);
      }
    }
  }

  /** Sends until the connection has ended. */
  private void send(Connection connection) {
    MemorySegment order = MemorySegment.ofArray(new byte[ORDER_BYTES[ORDER_BYTES.length - 1]]);
    long periodNs = TimeUnit.SECONDS.toNanos(1) / rate;
    long dueNs = System.nanoTime();
    for (int i = 0; connection.isOpen(); i++) {
      try {
        connection.request(order, 0, ORDER_BYTES[i % ORDER_BYTES.length], DEADLINE_NS).close();
      } catch (RequestFailedException e) {
        System.err.println(e.getMessage());
      }
      dueNs = Math.max(dueNs + periodNs, System.nanoTime() - periodNs);
      LockSupport.parkNanos(dueNs - System.nanoTime());
    }
  }

  private static void watchParent(Node node) {
    try {
      while (System.in.read() >= 0) {}
    } catch (IOException e) {
      System.err.println("the pipe from the parent failed: " + e.getMessage());
    }
    try {
      node.close();
    } finally {
      Runtime.getRuntime().halt(0);
    }
  }
}
