package io.rdma4j.transport;

import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.testkit.verbs.Errno;
import io.rdma4j.testkit.verbs.Faults;
import io.rdma4j.testkit.verbs.Ledger;
import io.rdma4j.testkit.verbs.ScriptedQueuePair;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CmEvent;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** What happens to connections in the rounds of a simulation, from their set-up to their end. */
final class SimulationScript {
  private static final int ROUNDS = 6;
  static final int MOST_CONNECTIONS = 3;
  private static final List<SimulationFault> ALL = List.of(SimulationFault.values());
  private static final List<SimulationFault> HARMLESS =
      ALL.stream().filter(fault -> !fault.harms).toList();
  private static final int[] STATUSES = {1, 2, 4, 6, 9, 10, 11, 12, 13, 20, 21, 22};
  private static final AsyncEvent.Type[] STRAY_EVENTS = {
    AsyncEvent.Type.COMM_EST,
    AsyncEvent.Type.SQ_DRAINED,
    AsyncEvent.Type.PORT_ACTIVE,
    AsyncEvent.Type.GID_CHANGE
  };
  private static final String[] SET_UP_CALLS = {
    "rdma_create_id",
    "rdma_bind_addr",
    "rdma_listen",
    "rdma_resolve_addr",
    "rdma_resolve_route",
    "rdma_create_qp",
    "rdma_connect",
    "rdma_accept",
    "ibv_create_cq",
    "ibv_reg_mr",
    "ibv_post_recv"
  };
  private static final CmEvent.Type[] SET_UP_EVENTS = {
    CmEvent.Type.ADDR_RESOLVED,
    CmEvent.Type.ROUTE_RESOLVED,
    CmEvent.Type.CONNECT_REQUEST,
    CmEvent.Type.ESTABLISHED
  };

  private final Simulation simulation;
  private final SplittableRandom random;
  private final Faults faults;

  SimulationScript(Simulation simulation) {
    this.simulation = simulation;
    random = simulation.random;
    faults = simulation.verbs.faults();
  }

  /** Nothing goes wrong: every message arrives, and both ends know that they closed. */
  void calm() {
    for (int round = 0; round < ROUNDS; round++) {
      List<SimulatedEnd> ends = connectSome();
      simulation.run(random.nextInt(400), ends);
      if (random.nextInt(4) == 0) {
        ends.get(random.nextInt(ends.size())).closeNext = true;
      }
      if (random.nextBoolean()) {
        disturb(ends, anyOf(HARMLESS));
        simulation.run(random.nextInt(400), ends);
      }
      if (random.nextBoolean()) {
        deliverAll(ends);
      }
      closeSome(ends);
      awaitEnds(ends, false);
      for (SimulatedEnd end : ends) {
        end.checkComplete();
        simulation.check(
            end.reason().kind() == Kind.PEER_CLOSED,
            () -> end + " ended with " + end.reason() + ", though nothing was wrong");
      }
    }
  }

  /** Something goes wrong in each round; what arrives is right, and the ends come. */
  void faulty() {
    for (int round = 0; round < ROUNDS; round++) {
      List<SimulatedEnd> ends = connectSome();
      simulation.run(random.nextInt(400), ends);
      for (int i = random.nextInt(2); i >= 0; i--) {
        disturb(ends, anyOf(ALL));
        simulation.run(random.nextInt(100), ends);
      }
      if (random.nextInt(3) == 0) {
        closeSome(ends);
      }
      awaitTrouble(ends);
      if (random.nextInt(4) == 0) {
        closeAndWait(ends.get(random.nextInt(ends.size())));
      }
      closeSome(ends);
      awaitEnds(ends, true);
      simulation.deviceStuck = false;
      faults.clear();
    }
  }

  /** Set-ups fail in every way; nothing is left of them, and the next one works. */
  void setUps() {
    for (int round = 0; round < ROUNDS; round++) {
      long pinnedBytes = simulation.device.pinnedBytes();
      spoilSetUp();
      SimulatedEnd[] ends = simulation.connect();
      simulation.device.limits().lockedMemoryBytes = Long.MAX_VALUE;
      if (ends == null) {
        simulation.check(
            simulation.device.pinnedBytes() == pinnedBytes
                && simulation.verbs.ledger().live(Ledger.Kind.QUEUE_PAIR) == 0
                && simulation.verbs.ledger().live(Ledger.Kind.CM_ID) == 0,
            () -> "a set-up that was refused has left something behind");
      } else {
        List<SimulatedEnd> both = List.of(ends);
        simulation.run(random.nextInt(50), both);
        closeSome(both);
        awaitEnds(both, true);
      }
      faults.clear();
      simulation.verbs.connectionManager().forgetScript();
    }
    calm();
  }

  private void spoilSetUp() {
    switch (random.nextInt(3)) {
      case 0 ->
          faults.refuseNth(
              SET_UP_CALLS[random.nextInt(SET_UP_CALLS.length)], 1 + random.nextInt(3), Errno.EIO);
      case 1 -> {
        CmEvent.Type type = SET_UP_EVENTS[random.nextInt(SET_UP_EVENTS.length)];
        if (random.nextBoolean()) {
          simulation.verbs.connectionManager().loseNext(type);
        } else {
          simulation
              .verbs
              .connectionManager()
              .replaceNext(type, CmEvent.Type.UNREACHABLE, -Errno.ETIMEDOUT);
        }
      }
      default ->
          simulation.device.limits().lockedMemoryBytes =
              simulation.device.pinnedBytes() + random.nextInt(64 * 1024);
    }
  }

  private List<SimulatedEnd> connectSome() {
    List<SimulatedEnd> ends = new ArrayList<>();
    for (int i = random.nextInt(MOST_CONNECTIONS); i >= 0; i--) {
      SimulatedEnd[] pair = simulation.connect();
      simulation.check(pair != null, () -> "a connect was refused, though nothing was wrong");
      if (pair != null) {
        ends.addAll(List.of(pair));
      }
    }
    return ends;
  }

  private void deliverAll(List<SimulatedEnd> ends) {
    simulation.runUntil(
        "everything is delivered",
        ends,
        false,
        () -> ends.stream().allMatch(end -> end.missing() == 0 && end.owed.isEmpty()));
  }

  /** Starts the end of every connection, at one or both of its ends. */
  private void closeSome(List<SimulatedEnd> ends) {
    for (int i = 0; i < ends.size(); i += 2) {
      int which = random.nextInt(3);
      for (int side = 0; side < 2; side++) {
        SimulatedEnd end = ends.get(i + side);
        if (which != side && !end.hasEnded()) {
          simulation.trace(() -> "close " + end);
          end.connection().startClosing();
        }
      }
    }
  }

  /** Closes as an application does whose thread waits: nobody drives the other node meanwhile. */
  private void closeAndWait(SimulatedEnd end) {
    simulation.trace(() -> "close and wait for " + end);
    end.connection().close();
    simulation.check(end.hasEnded(), () -> end + " is not closed after its close has returned");
  }

  private void awaitEnds(List<SimulatedEnd> ends, boolean timeFlies) {
    simulation.runUntil(
        "the connections have ended",
        ends,
        timeFlies,
        () -> ends.stream().allMatch(SimulatedEnd::hasEnded));
  }

  /** Goes on for a while, or until all have ended by themselves. */
  private void awaitTrouble(List<SimulatedEnd> ends) {
    int patience = random.nextInt(1000);
    for (int i = 0; i < patience && !ends.stream().allMatch(SimulatedEnd::hasEnded); i++) {
      simulation.step(ends, false);
    }
  }

  // ---- faults --------------------------------------------------------------------------------

  private SimulationFault anyOf(List<SimulationFault> choices) {
    return choices.get(random.nextInt(choices.size()));
  }

  private void disturb(List<SimulatedEnd> ends, SimulationFault fault) {
    simulation.trace(() -> "fault " + fault);
    SimulatedEnd end = ends.get(random.nextInt(ends.size()));
    switch (fault) {
      case STRAY_EVENT ->
          simulation.device.raise(
              STRAY_EVENTS[random.nextInt(STRAY_EVENTS.length)], anyQueuePair(), 1);
      case PARTIAL_RECEIVES ->
          faults.acceptOnly("ibv_post_recv", 1 + random.nextInt(3), Errno.ENOMEM);
      case HANDLER_THROWS -> end.throwNext = true;
      case PAUSE -> simulation.pausedSteps[random.nextInt(2)] = random.nextInt(300);
      case POST_REFUSED ->
          faults.refuseNext(random.nextBoolean() ? "ibv_post_send" : "ibv_post_recv", Errno.ENOMEM);
      case POLL_REFUSED -> faults.refuseNext("ibv_poll_cq", Errno.EIO);
      case SOCKET_RESET -> end.socket.reset();
      case SILENCE -> simulation.clock.advance(6_000_000_000L);
      default -> disturbDevice(ends, fault);
    }
  }

  private void disturbDevice(List<SimulatedEnd> ends, SimulationFault fault) {
    ScriptedQueuePair queuePair = anyQueuePair();
    if (queuePair == null) {
      return;
    }
    switch (fault) {
      case PATH_CUT -> queuePair.cut();
      case CABLE_CUT -> {
        simulation.device.queuePairs().forEach(ScriptedQueuePair::cut);
        ends.forEach(end -> end.socket.cut());
      }
      case ACKNOWLEDGEMENT_LOST -> queuePair.loseNextAcknowledgement();
      case SEND_FAILS -> queuePair.failNext(STATUSES[random.nextInt(STATUSES.length)], 7);
      case QUEUE_PAIR_ERROR -> queuePair.toError();
      case FATAL_EVENT -> raiseFatal(queuePair);
      case DEVICE_STUCK -> {
        simulation.deviceStuck = true;
        queuePair.toError();
      }
      default -> throw new IllegalStateException(fault.name());
    }
  }

  private @org.jspecify.annotations.Nullable ScriptedQueuePair anyQueuePair() {
    List<ScriptedQueuePair> all = simulation.device.queuePairs();
    return all.isEmpty() ? null : all.get(random.nextInt(all.size()));
  }

  private void raiseFatal(ScriptedQueuePair queuePair) {
    switch (random.nextInt(6)) {
      case 0 -> simulation.device.raise(AsyncEvent.Type.QP_FATAL, queuePair, 0);
      case 1 -> simulation.device.raise(AsyncEvent.Type.QP_REQ_ERR, queuePair, 0);
      case 2 -> simulation.device.raise(AsyncEvent.Type.QP_ACCESS_ERR, queuePair, 0);
      case 3 -> simulation.device.raise(AsyncEvent.Type.CQ_ERR, queuePair.sendCompletions(), 0);
      case 4 -> simulation.device.raise(AsyncEvent.Type.PORT_ERR, null, 1);
      default -> simulation.device.raise(AsyncEvent.Type.DEVICE_FATAL, null, 0);
    }
  }
}
