package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import io.rdma4j.bench.Machine;
import io.rdma4j.bench.OutputFile;
import io.rdma4j.bench.Progress;
import io.rdma4j.bench.Ratio;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What the benchmarks of the transport have in common: two processes, all ways in turn. */
abstract class TransportCommand implements Callable<Integer> {
  /** Exit status when a ratio is below what {@code --at-least} asks for. */
  static final int EXIT_BELOW = 1;

  @Spec CommandSpec spec;

  @Option(names = "--quick", description = "Shorter rounds, and fewer of them.")
  boolean quick;

  @Option(
      names = "--warm-up",
      paramLabel = "SECONDS",
      description = "Warm up for so long what else is warmed up for 1 to 3 seconds.")
  private @Nullable Integer warmUpSeconds;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      converter = OutputFile.class,
      description = "Write ratios, rows with every batch, and facts about the machine there.")
  private @Nullable Path json;

  @Option(
      names = "--html",
      paramLabel = "FILE",
      converter = OutputFile.class,
      description = "Write a report with charts there; one file, nothing to load.")
  private @Nullable Path html;

  @Option(
      names = "--ways",
      split = ",",
      paramLabel = "WAY",
      description = "Only these ways, for example shm,socket.")
  private @Nullable Set<String> selected;

  @Option(
      names = "--at-least",
      split = ",",
      paramLabel = "KEY=RATIO",
      description = "End with status 1 when a ratio is below this, or missing.")
  private @Nullable Map<String, Double> least;

  @SuppressWarnings("NullAway.Init") // picocli fills spec before it calls
  TransportCommand() {}

  /** Returns what to measure. */
  abstract List<Task> tasks();

  /** Returns what to quote. */
  abstract List<Figure> figures();

  /** Returns what C tools measure beside the library's verbs path, where there is a device. */
  List<Tool> tools() {
    return List.of();
  }

  /**
   * A row of a C tool.
   *
   * @param name in rows and keys
   * @param program of perftest
   */
  record Tool(Task task, String name, String program) {}

  /** Returns whether a way takes part in a task. */
  boolean takesPart(Way way, Task task) {
    if (task.kind() == Task.Kind.READ) {
      return way.name().equals("verbs");
    }
    return (way.carriesStreams() || task.kind() == Task.Kind.ROUND_TRIP)
        && !way.name().equals("shm64m")
        && !way.name().equals(NodeWay.REQUESTS);
  }

  /** A blocking socket streams as a spinning one does. */
  static boolean takesPartInStreams(Way way) {
    return way.carriesStreams()
        && !way.name().equals("socket_blocking")
        && !way.name().equals(NodeWay.REQUESTS);
  }

  /** Measures what no row can show, before any way is connected. */
  void measureAlone(Result result, Progress progress) throws IOException {}

  /** Measures what no row can show, on connected ways. */
  void measureMore(Map<String, LinkSubject> subjects, Result result, Progress progress)
      throws IOException {}

  /** Adds figures that are no ratios of two rows. */
  void quote(Map<String, Measured> rows, Result result) {}

  final Plan plan() {
    Plan plan = quick ? Plan.QUICK : Plan.FULL;
    return warmUpSeconds == null ? plan : plan.warmedUpFor(warmUpSeconds * 1_000_000_000L);
  }

  @Override
  public Integer call() throws IOException {
    Result result = new Result(spec.name(), Machine.facts());
    Progress progress = new Progress();
    Map<String, String> reasonByWay = new LinkedHashMap<>();
    List<Way> ways = usable(reasonByWay);
    Map<String, String> reasonByRow = reasons(reasonByWay);
    measureAlone(result, progress);
    Map<String, LinkSubject> subjects = new LinkedHashMap<>();
    try (PeerProcess peer = new PeerProcess()) {
      try {
        for (Way way : ways) {
          progress.show("connecting: " + way.name());
          subjects.put(way.name(), new LinkSubject(way, peer));
          result.addWay(way);
        }
        List<Race.Row> rows = rows(ways, subjects);
        addTools(ways, rows, reasonByRow);
        Race race = new Race(rows, plan(), progress);
        result.addRows(race.run());
        reasonByRow.putAll(race.reasonByFailedRow());
        race.reasonByFailedRow().forEach(result::addMissing);
        measureMore(subjects, result, progress);
      } finally {
        peer.end(); // both ends close a connection, or the first waits for a goodbye in vain
        for (LinkSubject subject : subjects.values()) {
          subject.close();
        }
      }
    }
    for (Figure figure : figures()) {
      result.addFigure(figure, reasonByRow);
    }
    quote(result.rows(), result);
    print(result);
    return holds(result) ? 0 : EXIT_BELOW;
  }

  /** Says which ratios are below what was asked for. */
  private boolean holds(Result result) {
    boolean holds = true;
    for (Map.Entry<String, Double> asked :
        (least == null ? Map.<String, Double>of() : least).entrySet()) {
      Ratio ratio = result.ratios().get(asked.getKey());
      if (ratio == null || ratio.median() < asked.getValue()) {
        holds = false;
        spec.commandLine()
            .getErr()
            .printf(
                "rdma4j bench: %s is %s, wanted is at least %.2f%n",
                asked.getKey(),
                ratio == null ? "missing" : "%.2f".formatted(ratio.median()),
                asked.getValue());
      }
    }
    return holds;
  }

  private List<Way> usable(Map<String, String> reasonByWay) {
    Map<String, Way> all = Ways.all();
    if (selected != null && !all.keySet().containsAll(selected)) {
      throw new ParameterException(
          spec.commandLine(), "--ways takes some of " + all.keySet() + ", not " + selected);
    }
    List<Way> ways = new ArrayList<>();
    for (Way way : all.values()) {
      if (selected != null && !selected.contains(way.name())) {
        reasonByWay.put(way.name(), way.name() + " was not selected");
      } else if (tasks().stream().noneMatch(task -> takesPart(way, task))) {
        reasonByWay.put(way.name(), way.name() + " has no part in this");
      } else if (!way.availability().usable()) {
        reasonByWay.put(way.name(), way.availability().reason());
      } else {
        ways.add(way);
      }
    }
    if (ways.isEmpty()) {
      throw new ParameterException(
          spec.commandLine(), "none of the ways can be used here: " + reasonByWay);
    }
    return ways;
  }

  private List<Race.Row> rows(List<Way> ways, Map<String, LinkSubject> subjects) {
    List<Race.Row> rows = new ArrayList<>();
    for (Task task : tasks()) {
      for (Way way : ways) {
        LinkSubject subject = subjects.get(way.name());
        if (subject != null && takesPart(way, task)) {
          rows.add(new Race.Row(task, way.name(), subject));
        }
      }
    }
    return rows;
  }

  private void addTools(List<Way> ways, List<Race.Row> rows, Map<String, String> reasonByRow) {
    for (Tool tool : tools()) {
      Availability installed = Perftest.availability(tool.program());
      NodeWay verbs = verbsOf(ways);
      if (verbs != null && installed.usable()) {
        rows.add(
            new Race.Row(
                tool.task(),
                tool.name(),
                new Perftest(tool.program(), verbs.availability().reason(), verbs.address())));
      } else {
        reasonByRow.put(
            tool.task().key() + "_" + tool.name(),
            verbs == null ? "no RDMA device is measured here" : installed.reason());
      }
    }
  }

  private static @Nullable NodeWay verbsOf(List<Way> ways) {
    for (Way way : ways) {
      if (way instanceof NodeWay node && node.path().equals("verbs")) {
        return node;
      }
    }
    return null;
  }

  private Map<String, String> reasons(Map<String, String> reasonByWay) {
    Map<String, String> reasonByRow = new LinkedHashMap<>();
    reasonByWay.forEach(
        (way, reason) -> tasks().forEach(task -> reasonByRow.put(task.key() + "_" + way, reason)));
    return reasonByRow;
  }

  private void print(Result result) throws IOException {
    PrintWriter out = spec.commandLine().getOut();
    out.print(result.table());
    out.flush();
    if (json != null) {
      result.writeJson(json);
    }
    if (html != null) {
      HtmlReport.write(result, html);
    }
  }
}
