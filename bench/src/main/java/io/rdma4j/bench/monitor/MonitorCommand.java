package io.rdma4j.bench.monitor;

import io.rdma4j.bench.Json;
import io.rdma4j.bench.Machine;
import io.rdma4j.bench.OutputFile;
import io.rdma4j.bench.PairedCost;
import io.rdma4j.bench.Progress;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Times requests with a monitor beside their node and without, by turns; and the way from an event
 * to a listener.
 */
@Command(
    name = "monitor",
    description =
        "What a monitor, followed and scraped once a second, costs a node's requests, and how soon"
            + " a listener hears of an incident.")
public final class MonitorCommand implements Callable<Integer> {
  private static final int LEAST_PAIRS = 20;
  private static final int MOST_PAIRS = 10_000;
  private static final int INCIDENTS_PER_PAIR = 2;
  private static final double NS_PER_MS = 1e6;
  private static final List<String> PATHS = List.of("shm", "tcp", "verbs");

  @Spec private CommandSpec spec;

  @Option(
      names = "--pairs",
      paramLabel = "N",
      defaultValue = "300",
      description =
          "Pairs of slices that count, about half a second each. Default: ${DEFAULT-VALUE}.")
  private int pairs;

  @Option(names = "--quick", description = "60 pairs.")
  private boolean quick;

  @Option(
      names = "--path",
      paramLabel = "PATH",
      defaultValue = "shm",
      description = "Path of the messages: shm, tcp or verbs. Default: ${DEFAULT-VALUE}.")
  private String path;

  @Option(
      names = "--root",
      paramLabel = "DIR",
      defaultValue = "/",
      description =
          "Machine whose ports are watched: a tree copied from one that has some. Default: this"
              + " one.")
  private Path root;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Of the draws behind the intervals (default: another one each time).")
  private @Nullable Long seed;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      converter = OutputFile.class,
      description = "Write the result there as well.")
  private @Nullable Path json;

  /** Created by picocli. */
  @SuppressWarnings("NullAway.Init") // picocli fills these before it calls
  public MonitorCommand() {}

  @Override
  public Integer call() throws IOException {
    int counted = quick ? 3 * LEAST_PAIRS : pairs;
    check(
        counted >= LEAST_PAIRS && counted <= MOST_PAIRS,
        "--pairs is " + counted + ", allowed are " + LEAST_PAIRS + " to " + MOST_PAIRS);
    check(PATHS.contains(path), "--path is " + path + ", allowed are " + PATHS);
    check(Files.isDirectory(root), "--root " + root + " is not a directory");
    long drawn = seed == null ? System.nanoTime() : seed;
    Map<String, Object> machine = Machine.facts();
    Hearing hearing;
    Slices slices;
    try (Traffic traffic = new Traffic(path)) {
      hearing = quietly(traffic, counted);
      slices = Slices.measure(traffic, root, counted, new Progress());
    }
    Map<String, PairedCost> costs = new LinkedHashMap<>();
    costs.put("time", PairedCost.of(slices.nsWith(), slices.nsWithout(), drawn));
    costs.put("cpu", PairedCost.of(slices.cpuNsWith(), slices.cpuNsWithout(), drawn));
    print(slices, costs, drawn);
    print(hearing);
    if (json != null) {
      write(json, slices, costs, hearing, drawn, machine);
    }
    return 0;
  }

  /** Without a line in the log for each incident. */
  private static Hearing quietly(Traffic traffic, int pairs) throws IOException {
    Logger log = Logger.getLogger("io.rdma4j.diagnosis");
    Level before = log.getLevel();
    log.setLevel(Level.OFF);
    try {
      return Hearing.of(traffic.node(), INCIDENTS_PER_PAIR * pairs, new Progress());
    } finally {
      log.setLevel(before);
    }
  }

  private void check(boolean valid, String complaint) {
    if (!valid) {
      throw new ParameterException(spec.commandLine(), complaint);
    }
  }

  private void print(Slices slices, Map<String, PairedCost> costs, long drawn) {
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        Locale.ROOT,
        "%s; %d pairs of slices of %d ms, each with a look, a followed message and a scrape%n",
        slices.path(),
        slices.pairs(),
        Slices.SLICE_NS / 1_000_000);
    out.printf(
        Locale.ROOT,
        "%.0f requests/s without, %.0f with; seed %d%n%n",
        slices.rateWithout(),
        slices.rateWith(),
        drawn);
    out.printf(
        Locale.ROOT,
        "%-22s %22s   %s%n",
        "of a request",
        "every " + Slices.SLICE_NS / 1_000_000 + " ms",
        "every second, in %, with 95 % interval");
    costs.forEach(
        (name, cost) ->
            out.printf(
                Locale.ROOT,
                "%-22s %.4f (%.4f, %.4f)   %+.2f (%+.2f, %+.2f)%n",
                name,
                cost.median(),
                cost.low(),
                cost.high(),
                cost.percent(Slices.SHARE),
                cost.lowPercent(Slices.SHARE),
                cost.highPercent(Slices.SHARE)));
    out.flush();
  }

  private void print(Hearing hearing) {
    PrintWriter out = spec.commandLine().getOut();
    out.printf(
        Locale.ROOT,
        "%n%-22s p50 %.2f ms, p99 %.2f ms, most %.2f ms, of %d incidents%n",
        "event to listener",
        hearing.percentileNs(50) / NS_PER_MS,
        hearing.percentileNs(99) / NS_PER_MS,
        hearing.percentileNs(100) / NS_PER_MS,
        hearing.incidents());
    out.flush();
  }

  private static Map<String, Object> quoted(Hearing hearing) {
    Map<String, Object> quoted = new LinkedHashMap<>();
    quoted.put("incidents", hearing.incidents());
    quoted.put("p50Ms", hearing.percentileNs(50) / NS_PER_MS);
    quoted.put("p99Ms", hearing.percentileNs(99) / NS_PER_MS);
    quoted.put("mostMs", hearing.percentileNs(100) / NS_PER_MS);
    return quoted;
  }

  private static void write(
      Path file,
      Slices slices,
      Map<String, PairedCost> costs,
      Hearing hearing,
      long drawn,
      Map<String, Object> machine)
      throws IOException {
    Map<String, Object> root = new LinkedHashMap<>();
    Map<String, Object> quoted = new LinkedHashMap<>();
    Map<String, Object> spreads = new LinkedHashMap<>();
    costs.forEach(
        (name, cost) -> {
          quoted.put("monitor_" + name + "_percent", cost.percent(Slices.SHARE));
          Map<String, Object> spread = new LinkedHashMap<>();
          spread.put("low", cost.lowPercent(Slices.SHARE));
          spread.put("high", cost.highPercent(Slices.SHARE));
          spread.put("medianOfSlices", cost.median());
          spread.put("quotients", cost.quotients());
          spreads.put("monitor_" + name + "_percent", spread);
        });
    root.put("command", "monitor");
    root.put("ratios", quoted);
    root.put("ratioSpread", spreads);
    root.put("eventToListener", quoted(hearing));
    root.put("seed", drawn);
    root.put("sliceNs", Slices.SLICE_NS);
    root.put("path", slices.path());
    root.put("requestsPerSecond", slices.rateWithout());
    root.put("machine", machine);
    Json.write(file, root);
  }
}
