package io.rdma4j.bench.pool;

import io.rdma4j.bench.Progress;
import io.rdma4j.bench.Series;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs rows in turn, round after round, all in this process: A B C, A B C, and so on.
 *
 * <p>JMH's own order is all of A before all of B, and a new process for each, so that whatever
 * happens to the machine in between happens to one of them. Here JMH measures one row of one round
 * at a time, without forking.
 */
final class Race {
  /**
   * How long to run.
   *
   * @param rounds rounds that count; one more is run before them and thrown away
   * @param batches JMH iterations of a row in one round, {@value #FEWEST_BATCHES} while the race is
   *     behind its schedule
   * @param scheduleS seconds for all of it
   */
  record Plan(int warmUpMs, int rounds, int batches, int batchMs, int scheduleS) {}

  private static final int FEWEST_BATCHES = 2;

  private final List<Row> rows;
  private final Plan plan;
  private final Progress progress;
  private final long startNs = System.nanoTime();
  private int measurements;

  Race(List<Row> rows, Plan plan, Progress progress) {
    this.rows = rows;
    this.plan = plan;
    this.progress = progress;
    System.setProperty("jmh.executor", "CUSTOM");
    System.setProperty("jmh.executor.class", MeasuringThread.class.getName());
    System.setProperty("jmh.ignoreLock", "true");
  }

  /** Compiles everything and maps most of what will be needed. */
  void warmUp() throws RunnerException {
    for (Row row : rows) {
      progress.show("warm-up   " + row.name());
      measure(row, plan.warmUpMs, 1);
    }
    progress.show("first round, not counted");
    for (Row row : rows) {
      measureRound(row);
    }
  }

  /** Returns what each row cost, by its name. */
  Map<String, Measured> run() throws RunnerException {
    Map<String, List<Round>> rounds = new LinkedHashMap<>();
    for (int round = 1; round <= plan.rounds; round++) {
      for (Row row : rows) {
        progress.show("round %d/%d %s".formatted(round, plan.rounds, row.name()));
        rounds.computeIfAbsent(row.name(), name -> new ArrayList<>()).add(measureRound(row));
      }
    }
    progress.clear();
    Map<String, Measured> measured = new LinkedHashMap<>();
    rounds.forEach((name, ofRow) -> measured.put(name, measured(ofRow)));
    return measured;
  }

  private static Measured measured(List<Round> rounds) {
    return new Measured(
        new Series(rounds.stream().map(Round::batchesNs).toList()),
        Series.median(rounds.stream().mapToDouble(Round::bytesPerOp).toArray()));
  }

  private record Round(double[] batchesNs, double bytesPerOp) {}

  private Round measureRound(Row row) throws RunnerException {
    return measure(row, plan.batchMs, isBehind() ? FEWEST_BATCHES : plan.batches);
  }

  /** Returns true when more of the time is gone than of the work, warm-up included, is done. */
  private boolean isBehind() {
    double timeGone = (System.nanoTime() - startNs) / (plan.scheduleS * 1e9);
    double workDone = (double) measurements / (rows.size() * (plan.rounds + 2));
    return timeGone > workDone;
  }

  private Round measure(Row row, int warmUpMs, int batches) throws RunnerException {
    measurements++;
    ChainedOptionsBuilder options =
        new OptionsBuilder()
            .include("^" + Pattern.quote(row.benchmark()) + "$")
            .mode(Mode.AverageTime)
            .timeUnit(TimeUnit.NANOSECONDS)
            .forks(0)
            .threads(1)
            .warmupIterations(1)
            .warmupTime(TimeValue.milliseconds(warmUpMs))
            .measurementIterations(batches)
            .measurementTime(TimeValue.milliseconds(plan.batchMs))
            .addProfiler(GCProfiler.class)
            .shouldFailOnError(true)
            .verbosity(VerboseMode.SILENT);
    row.parameters().forEach(options::param);
    RunResult result = new Runner(options.build()).runSingle();
    BenchmarkResult once = result.getBenchmarkResults().iterator().next();
    double[] batchesNs =
        once.getIterationResults().stream()
            .map(IterationResult::getPrimaryResult)
            .mapToDouble(primary -> primary.getScore())
            .toArray();
    Result<?> garbage =
        Objects.requireNonNull(
            once.getSecondaryResults().get("gc.alloc.rate.norm"), "JMH's gc profiler is silent");
    return new Round(batchesNs, garbage.getScore());
  }
}
