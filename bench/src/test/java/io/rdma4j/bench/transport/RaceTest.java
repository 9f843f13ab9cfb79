package io.rdma4j.bench.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdma4j.bench.Progress;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RaceTest {
  private static final Task TASK = Task.roundTrip(64);

  /** Answers at once, or fails; {@code isOfOthers} as in {@link Subject}. */
  private record Fixed(boolean isOfOthers, boolean fails) implements Subject {
    @Override
    public void warmUp(Task task, long durationNs) {}

    @Override
    public Batches measure(Task task, int batches, long batchNs) throws IOException {
      if (fails) {
        throw new IOException("no such device");
      }
      return new Batches(new double[] {7}, Double.NaN, Double.NaN);
    }
  }

  private static Race race(Subject second) {
    return new Race(
        List.of(
            new Race.Row(TASK, "shm", new Fixed(false, false)), new Race.Row(TASK, "tool", second)),
        Plan.QUICK,
        new Progress());
  }

  @Test
  void aToolThatFailsCostsItsOwnRow() throws IOException {
    Race race = race(new Fixed(true, true));
    assertEquals(Set.of("rtt64_shm"), race.run().keySet());
    assertEquals(Map.of("rtt64_tool", "no such device"), race.reasonByFailedRow());
  }

  @Test
  void aWayOfOursThatFailsEndsTheRun() {
    assertThrows(IOException.class, () -> race(new Fixed(false, true)).run());
  }

  @Test
  void allRowsAreThereOtherwise() throws IOException {
    Race race = race(new Fixed(true, false));
    assertEquals(Set.of("rtt64_shm", "rtt64_tool"), race.run().keySet());
    assertEquals(Map.of(), race.reasonByFailedRow());
  }
}
