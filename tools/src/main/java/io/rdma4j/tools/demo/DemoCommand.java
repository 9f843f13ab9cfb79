package io.rdma4j.tools.demo;

import io.rdma4j.Availability;
import io.rdma4j.Rdma4jException;
import io.rdma4j.verbs.Verbs;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The demo: this process is the order gateway; it starts the database node as a second process and
 * runs the same checked stream over plain sockets and over every path there is.
 */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    description =
        "An order gateway and a database node exchange checked order messages over plain Java"
            + " sockets and over every path this machine has, and print what each costs.")
public final class DemoCommand implements Callable<Integer> {
  private static final int OK = 0;
  private static final int NOT_INTACT = 1;
  private static final int NODE_GONE = 3;
  private static final double COMMON_WARM_UP_SECONDS = 2;
  private static final List<String> WAYS = List.of("socket", "tcp", "shm", "verbs");

  /** One thing to run: a way, and the address it runs on. */
  private record Plan(String way, String device, String address) {
    String label() {
      return device.isEmpty() ? way : way + " " + device;
    }
  }

  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      defaultValue = "4",
      description = "Measured seconds for each way (default: ${DEFAULT-VALUE}).")
  private double seconds;

  @Option(
      names = "--provider",
      split = ",",
      paramLabel = "NAME",
      description = "Ways to run: socket, tcp, shm, verbs (default: all that are here).")
  private @Nullable List<String> providers;

  @Option(names = "--json", paramLabel = "FILE", description = "Write the results to a file.")
  private @Nullable Path json;

  @Option(
      names = "--input",
      paramLabel = "FILE",
      description = "Stream these orders instead of generated ones.")
  private @Nullable Path input;

  @Option(
      names = "--framing",
      paramLabel = "line|length32",
      defaultValue = "line",
      description = "How the input file separates orders (default: ${DEFAULT-VALUE}).")
  private String framing = "";

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "42",
      description = "Seed of the generated orders (default: ${DEFAULT-VALUE}).")
  private long seed;

  @Option(
      names = "--address",
      paramLabel = "IP",
      description = "Local address to use for all ways instead of loopback and RDMA addresses.")
  private @Nullable String address;

  @Option(
      names = "--node",
      paramLabel = "HOST:PORT",
      description = "Use a database node started by demo-node elsewhere; needs --address there.")
  private @Nullable String remoteNode;

  @Option(names = "--announce", hidden = true)
  private boolean announce;

  /** Creates the command. */
  public DemoCommand() {}

  @Override
  public Integer call() throws IOException {
    Orders orders = orders();
    Map<String, String> unavailable = new LinkedHashMap<>();
    List<Plan> plans = plan(unavailable);
    List<DemoRun> runs = new ArrayList<>();
    Progress progress = new Progress(announce);
    System.out.printf(
        Locale.ROOT,
        "%,d different orders of %.0f bytes on average, %.1f s for each way, window %d%n",
        orders.count(),
        orders.meanBytes(),
        seconds,
        DemoConfig.WINDOW);
    progress.note("starting the database node");
    try (DatabaseNode node = remoteNode == null ? DatabaseNode.spawn() : remote(remoteNode)) {
      if (plans.getFirst().way().equals("socket")) {
        warmUp(plans.getFirst(), node, orders, progress);
      }
      for (Plan plan : plans) {
        runs.add(run(plan, node, orders, progress));
      }
    } catch (DatabaseNode.GoneException e) {
      progress.clear();
      System.err.println("rdma4j demo: " + e.getMessage() + "; the order gateway ends");
      report(runs, unavailable);
      return NODE_GONE;
    }
    progress.clear();
    report(runs, unavailable);
    return runs.stream().allMatch(DemoRun::isIntact) ? OK : NOT_INTACT;
  }

  private void report(List<DemoRun> runs, Map<String, String> unavailable) throws IOException {
    DemoReport report = new DemoReport(runs, unavailable);
    if (!runs.isEmpty()) {
      System.out.print(report.table());
    }
    if (json != null) {
      report.writeJson(json);
    }
  }

  private Orders orders() throws IOException {
    if (input == null) {
      return Orders.generate(seed);
    }
    Orders.Framing how =
        switch (framing) {
          case "line" -> Orders.Framing.LINE;
          case "length32" -> Orders.Framing.LENGTH32;
          default -> throw bad("--framing is '" + framing + "', allowed: line, length32");
        };
    return Orders.read(input, how, DemoConfig.MAX_ORDER_BYTES);
  }

  private ParameterException bad(String message) {
    return new ParameterException(java.util.Objects.requireNonNull(spec).commandLine(), message);
  }

  private DatabaseNode remote(String hostAndPort) throws IOException {
    int colon = hostAndPort.lastIndexOf(':');
    if (colon <= 0 || address == null) {
      throw bad("--node needs HOST:PORT and --address with the node's address");
    }
    return DatabaseNode.remote(
        new InetSocketAddress(
            hostAndPort.substring(0, colon), Integer.parseInt(hostAndPort.substring(colon + 1))));
  }

  /** Says what will run, on which address; what cannot run goes to {@code unavailable}. */
  private List<Plan> plan(Map<String, String> unavailable) throws IOException {
    if (!(seconds >= 0.2 && seconds <= 3600)) {
      throw bad("--seconds is " + seconds + ", allowed are 0.2 to 3600");
    }
    List<String> wanted = providers == null ? WAYS : providers;
    List<Plan> plans = new ArrayList<>();
    for (String way : wanted) {
      if (!WAYS.contains(way)) {
        throw bad("--provider has '" + way + "', allowed: " + String.join(", ", WAYS));
      }
      if (!way.equals("verbs") || address != null) {
        plans.add(new Plan(way, "", address == null ? "127.0.0.1" : address));
        continue;
      }
      Availability verbs = Verbs.system().availability();
      Map<String, InetAddress> devices = RdmaAddresses.find(Verbs.system());
      devices.forEach((device, ip) -> plans.add(new Plan(way, device, ip.getHostAddress())));
      if (devices.isEmpty()) {
        unavailable.put(way, verbs.usable() ? "no RDMA device has an IP address" : verbs.reason());
      }
    }
    if (plans.isEmpty()) {
      throw new IOException("nothing to run: " + unavailable);
    }
    return plans;
  }

  private DemoRun run(Plan plan, DatabaseNode node, Orders orders, Progress progress)
      throws IOException {
    try {
      return measure(plan, node, orders, progress);
    } catch (DatabaseNode.GoneException e) {
      throw e;
    } catch (IOException | Rdma4jException e) {
      progress.clear();
      System.err.println("rdma4j demo: " + plan.label() + " broke off: " + e.getMessage());
      if (node.hasEnded()) {
        throw new DatabaseNode.GoneException("the database node is gone");
      }
      node.abandon();
      return DemoRun.failed(plan.way(), plan.device(), String.valueOf(e.getMessage()));
    }
  }

  private DemoRun measure(Plan plan, DatabaseNode node, Orders orders, Progress progress)
      throws IOException {
    InetSocketAddress at = node.serve(plan.way(), plan.address());
    Measurement.Timing timing = Measurement.Timing.NONE;
    String failure = null;
    String description;
    String device;
    double poolHitRate;
    long misordered;
    long sent;
    try (OrderLink link = open(plan.way(), at)) {
      Measurement measurement = new Measurement(plan.label(), link, orders, node, progress);
      try {
        timing = measurement.run(seconds);
      } catch (Measurement.StalledException e) {
        failure = e.getMessage(); // what was lost is counted below
      }
      description = link.description();
      device = link.device();
      poolHitRate = link.poolHitRate();
      misordered = link.misordered();
      sent = measurement.sent();
    }
    OrderBook.Tally tally = node.result();
    if (failure == null && misordered > 0) {
      failure = misordered + " acknowledgements came out of order";
    }
    Histogram rtt = timing.roundTripNs();
    return new DemoRun(
        plan.way(),
        device,
        description,
        timing.messages(),
        tally.lostOf(sent),
        tally.duplicated(),
        tally.corrupted(),
        rtt.getValueAtPercentile(50),
        rtt.getValueAtPercentile(99),
        rtt.getValueAtPercentile(99.9),
        timing.messagesPerSecond(),
        timing.cpuMicrosPerMessage(),
        poolHitRate,
        failure);
  }

  /** Runs the first way unmeasured, so that it does not pay for compiling what all ways share. */
  private void warmUp(Plan plan, DatabaseNode node, Orders orders, Progress progress)
      throws IOException {
    InetSocketAddress at = node.serve(plan.way(), plan.address());
    try (OrderLink link = open(plan.way(), at)) {
      new Measurement(plan.label(), link, orders, node, progress).warmUp(COMMON_WARM_UP_SECONDS);
    }
    node.result();
  }

  private static OrderLink open(String way, InetSocketAddress at) throws IOException {
    return way.equals("socket") ? new SocketLink(at) : new NodeLink(way, at);
  }
}
