package io.rdma4j.tools.serve;

import io.rdma4j.monitor.Monitor;
import io.rdma4j.monitor.MonitorConfig;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs a node that answers requests, with peers that send them, and a monitor beside it. */
@Command(
    name = "serve",
    description =
        "Run a node that answers each request with its own payload, some peers that send requests,"
            + " and a monitor with its dashboard; './rdma4j fault' breaks it.",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:the time is over",
      "64:wrong command line",
      "70:failure of the command itself",
      "130, 143:ended by Ctrl-C or kill, in good order"
    })
public final class ServeCommand implements Callable<Integer> {
  private static final int MOST_PEERS = 64;
  private static final int MOST_PORT = 65_535;
  private static final int MOST_RATE = 1_000_000;

  /** Small, so that it can be exhausted. */
  private static final long POOL_BYTES = 64L << 20;

  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = "--bind",
      paramLabel = "ADDRESS",
      description = "Address of node and monitor (default: ${DEFAULT-VALUE}).",
      defaultValue = "127.0.0.1")
  private String bind = "";

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description = "Port of the node, 0 takes a free one (default: ${DEFAULT-VALUE}).",
      defaultValue = "7400")
  private int port;

  @Option(
      names = "--monitor-port",
      paramLabel = "PORT",
      description = "Port of the monitor, 0 takes a free one (default: ${DEFAULT-VALUE}).",
      defaultValue = "7480")
  private int monitorPort;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "File with the token that the monitor asks for (default: it asks for none).")
  private @Nullable Path tokenFile;

  @Option(
      names = "--journal",
      paramLabel = "FILE",
      description = "File for the node's events, for './rdma4j journal FILE' (default: none).")
  private @Nullable Path journal;

  @Option(
      names = "--peers",
      paramLabel = "N",
      description = "Processes that send requests (default: ${DEFAULT-VALUE}).",
      defaultValue = "3")
  private int peerCount;

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "Requests a second of each (default: ${DEFAULT-VALUE}).",
      defaultValue = "500")
  private int rate;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      description = "Seconds to run (default: until a signal).")
  private @Nullable Integer seconds;

  private final CountDownLatch ended = new CountDownLatch(1);

  /** Created by picocli. */
  public ServeCommand() {}

  @Override
  public Integer call() throws IOException, InterruptedException {
    CommandSpec command = Objects.requireNonNull(spec, "spec");
    require(peerCount >= 0 && peerCount <= MOST_PEERS, "--peers", peerCount, "0 to " + MOST_PEERS);
    require(rate >= 1 && rate <= MOST_RATE, "--rate", rate, "1 to " + MOST_RATE);
    require(seconds == null || seconds >= 1, "--seconds", seconds, "1 and more");
    require(port >= 0 && port <= MOST_PORT, "--port", port, "0 to " + MOST_PORT);
    require(
        monitorPort >= 0 && monitorPort <= MOST_PORT,
        "--monitor-port",
        monitorPort,
        "0 to " + MOST_PORT);
    require(
        !new InetSocketAddress(bind, 0).isUnresolved(), "--bind", bind, "addresses of this host");
    PrintWriter out = command.commandLine().getOut();
    MonitorConfig monitoring =
        MonitorConfig.defaults()
            .withAddress(new InetSocketAddress(bind, monitorPort))
            .withToken(tokenFile == null ? null : Files.readString(tokenFile).strip());
    CountDownLatch end = new CountDownLatch(1);
    Thread hook = new Thread(() -> endAndWait(end), "rdma4j-serve-end");
    ServeHandler handler = new ServeHandler();
    try (Node node = Node.start(config(handler));
        Monitor monitor = Monitor.start(monitoring, node.metrics(), node.journal())) {
      out.println("node       " + text(listening(node)));
      out.println("dashboard  http://" + text(monitor.address()) + "/");
      if (journal != null) {
        out.println("journal    ./rdma4j journal " + journal);
      }
      serve(node, handler, end, hook, out);
    }
    ended.countDown();
    return 0;
  }

  /** Peers are ended before the node is closed, so that they do not count as lost. */
  private void serve(
      Node node, ServeHandler handler, CountDownLatch end, Thread hook, PrintWriter out)
      throws IOException, InterruptedException {
    try (Peers peers = new Peers(peerCount, text(reachable(listening(node))), rate, out);
        FaultSocket faults = new FaultSocket(new Faults(node, peers, handler)::execute)) {
      out.println("faults     ./rdma4j fault --pid " + faults.pid());
      out.flush();
      Runtime.getRuntime().addShutdownHook(hook);
      if (seconds == null) {
        end.await();
      } else if (end.await(seconds, TimeUnit.SECONDS)) {
        out.println("ended by a signal");
      }
    }
  }

  private void endAndWait(CountDownLatch end) {
    end.countDown();
    try {
      if (!ended.await(30, TimeUnit.SECONDS)) {
        System.err.println("rdma4j serve: the node did not close within 30 s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void require(boolean holds, String option, @Nullable Object value, String allowed) {
    if (!holds) {
      throw new ParameterException(
          Objects.requireNonNull(spec, "spec").commandLine(),
          option + " is " + value + ", allowed are " + allowed);
    }
  }

  private NodeConfig config(ServeHandler handler) {
    NodeConfig.Builder config =
        NodeConfig.builder()
            .listen(new InetSocketAddress(bind, port), (peer, path) -> handler)
            .liveness(Duration.ofMillis(250), Duration.ofSeconds(2))
            .pool(PoolConfig.builder().maxBytes(POOL_BYTES).build());
    if (journal != null) {
      config.journal(journal);
    }
    return config.build();
  }

  /** Every address includes that of the loopback, which the peers on this host use then. */
  private static InetSocketAddress reachable(InetSocketAddress listening) {
    return listening.getAddress().isAnyLocalAddress()
        ? new InetSocketAddress(InetAddress.getLoopbackAddress(), listening.getPort())
        : listening;
  }

  private static InetSocketAddress listening(Node node) {
    return Objects.requireNonNull(node.listenAddress(), "no address");
  }

  private static String text(InetSocketAddress address) {
    String host = address.getAddress().getHostAddress();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
  }
}
