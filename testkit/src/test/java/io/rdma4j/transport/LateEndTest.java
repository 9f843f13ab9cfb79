package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.rdma4j.provider.EndpointFailure.Kind;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Ends that are seen before what came before them. */
@Timeout(60)
@ExtendWith(QuietLog.class)
final class LateEndTest {
  private static final int MANY = 200;

  @Test
  void whatTheDeviceShowsLateArrivesThoughTheBootstrapConnectionHasEnded() {
    try (Simulation simulation =
        new Simulation(
            1, new Simulation.Statistics(), null, verbs -> {}, UnaryOperator.identity())) {
      List<SimulatedEnd> ends = List.of(Objects.requireNonNull(simulation.connect()));
      SimulatedEnd sender = ends.get(0);
      SimulatedEnd receiver = ends.get(1);
      for (int i = 0; i < 3; i++) {
        sender.node.sendCopy(sender);
      }
      sender.node.poll();
      for (int i = 0; i < MANY; i++) {
        simulation.steps.execute();
      }
      simulation.deviceStuck = true;
      sender.socket.reset();
      for (int i = 0; i < 3; i++) {
        receiver.node.housekeep();
        receiver.node.poll();
      }
      assertEquals(3, receiver.missing());
      assertFalse(receiver.hasEnded(), "ended before the messages were shown");
      simulation.deviceStuck = false;
      for (int i = 0; i < MANY; i++) {
        simulation.steps.complete();
      }
      receiver.node.poll();
      receiver.checkComplete();
      simulation.runUntil(
          "both have ended", ends, true, () -> sender.hasEnded() && receiver.hasEnded());
      assertEquals(Kind.PEER_LOST, receiver.reason().kind());
    }
  }
}
