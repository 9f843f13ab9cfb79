package io.rdma4j.transport;

import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The transport under thousands of seeded schedules of device, peers, application and time. A
 * failing seed is in the failure; {@code -Dseed} repeats it, {@code -Druns} sets how many there
 * are.
 */
@Timeout(300)
@ExtendWith(QuietLog.class)
final class SimulationTest {
  private static final int RUNS = Integer.getInteger("runs", 400);
  private static final long BUDGET_NS = RUNS * 50_000_000L;

  @Test
  void withoutFaultsEverythingArrives() {
    run(SimulationScript::calm);
  }

  @Test
  void faultsEndConnectionsAndNothingElse() {
    run(SimulationScript::faulty);
  }

  @Test
  void setUpsThatFailLeaveNothing() {
    run(SimulationScript::setUps);
  }

  private static void run(Consumer<SimulationScript> script) {
    System.out.println("SimulationTest " + new SimulationRuns(script).run(RUNS, BUDGET_NS));
  }
}
