package io.rdma4j.transport;

import io.rdma4j.provider.Provider;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Runs a script over many seeds, within a time, and repeats the first run that fails. */
final class SimulationRuns {
  private static final int LAST_LINES = 60;

  private final Consumer<SimulationScript> script;
  private UnaryOperator<Provider> wrapping = UnaryOperator.identity();
  private Consumer<ScriptedVerbs> spoiling = verbs -> {};

  SimulationRuns(Consumer<SimulationScript> script) {
    this.script = script;
  }

  /** Puts something between the nodes and their provider. */
  SimulationRuns wrapping(UnaryOperator<Provider> wrapper) {
    this.wrapping = wrapper;
    return this;
  }

  /** Changes the stack before the nodes are made. */
  SimulationRuns spoiling(Consumer<ScriptedVerbs> change) {
    this.spoiling = change;
    return this;
  }

  /**
   * Runs seed after seed. {@code -Dseed} picks a single one.
   *
   * @throws AssertionError for the first run that fails, with its seed, its trace, and whether a
   *     second run under the same seed failed in the same way
   */
  Simulation.Statistics run(int mostRuns, long budgetNs) {
    var statistics = new Simulation.Statistics();
    Long only = Long.getLong("seed");
    long first = only == null ? System.nanoTime() : only;
    long startNs = System.nanoTime();
    int runs = only == null ? mostRuns : 1;
    for (int i = 0; i < runs && (i == 0 || System.nanoTime() - startNs < budgetNs); i++) {
      Throwable failure = failureOf(first + i, statistics, null);
      if (failure != null) {
        throw report(first + i, failure);
      }
    }
    return statistics;
  }

  /** Returns what made the run fail, or null. */
  @Nullable Throwable failureOf(
      long seed, Simulation.Statistics statistics, @Nullable List<String> trace) {
    try (Simulation simulation = new Simulation(seed, statistics, trace, spoiling, wrapping)) {
      script.accept(new SimulationScript(simulation));
      return null;
    } catch (RuntimeException | AssertionError e) {
      return e;
    }
  }

  private AssertionError report(long seed, Throwable failure) {
    List<String> trace = new ArrayList<>();
    Throwable again = failureOf(seed, new Simulation.Statistics(), trace);
    boolean same = again != null && String.valueOf(again.getMessage()).equals(failure.getMessage());
    List<String> tail = trace.subList(Math.max(0, trace.size() - LAST_LINES), trace.size());
    return new AssertionError(
        "simulation failed under -Dseed=%d: %s%n%s%n%s"
            .formatted(
                seed,
                failure,
                same ? "A second run failed in the same way:" : "A second run gave " + again + ":",
                String.join("\n", tail)),
        failure);
  }
}
