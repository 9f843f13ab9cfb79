package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.verbs.Defect;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The simulation notices a device that breaks its promises, and an endpoint that breaks its own.
 */
@Timeout(300)
@ExtendWith(QuietLog.class)
final class SimulationDefectTest {
  private static final int MOST_RUNS = 300;

  /** Runs until a run fails, and returns what it said. */
  private static String firstFailure(SimulationRuns runs) {
    var statistics = new Simulation.Statistics();
    for (long seed = 1; seed <= MOST_RUNS; seed++) {
      Throwable failure = runs.failureOf(seed, statistics, null);
      if (failure != null) {
        return String.valueOf(failure.getMessage());
      }
    }
    throw new AssertionError("nothing was noticed in " + statistics);
  }

  @ParameterizedTest
  @EnumSource(value = Defect.class, mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void aDeviceThatBreaksAPromiseIsNoticed(Defect defect) {
    String failure =
        firstFailure(
            new SimulationRuns(SimulationScript::calm)
                .spoiling(verbs -> verbs.breakPromise(defect, 20)));
    assertTrue(failure.contains("connection") || failure.contains("stuck"), failure);
  }

  @ParameterizedTest
  @CsvSource({
    "DROPS_MESSAGES, message",
    "REPEATS_MESSAGES, message",
    "KEEPS_TOKENS, pool",
    "REPEATS_TOKENS, release",
    "NEVER_CLOSES, left behind"
  })
  void anEndpointThatBreaksAPromiseIsNoticed(DefectiveProvider.Defect defect, String expected) {
    String failure =
        firstFailure(
            new SimulationRuns(SimulationScript::faulty)
                .wrapping(provider -> new DefectiveProvider(provider, defect)));
    assertTrue(failure.contains(expected), failure);
  }

  @Test
  void aSeedIsARun() {
    for (long seed = 1; seed <= 5; seed++) {
      assertEquals(trace(SimulationScript::calm, seed), trace(SimulationScript::calm, seed));
      assertEquals(trace(SimulationScript::faulty, seed), trace(SimulationScript::faulty, seed));
    }
  }

  private static List<String> trace(
      java.util.function.Consumer<SimulationScript> script, long seed) {
    List<String> trace = new ArrayList<>();
    @Nullable Throwable failure =
        new SimulationRuns(script).failureOf(seed, new Simulation.Statistics(), trace);
    assertEquals(null, failure);
    assertTrue(trace.size() > 10, () -> "hardly anything happened: " + trace);
    return trace;
  }
}
