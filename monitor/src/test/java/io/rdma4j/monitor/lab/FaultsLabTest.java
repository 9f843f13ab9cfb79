package io.rdma4j.monitor.lab;

import static io.rdma4j.monitor.lab.FaultScene.send;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.EventKind;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.RegionDescriptor;
import io.rdma4j.transport.RemoteOperation;
import io.rdma4j.transport.Reply;
import io.rdma4j.transport.RequestFailedException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;

/**
 * Faults of the kernel's devices in the lab's guest, seen by operators with the right cause: in the
 * journal, by a listener, and on the monitor's pages.
 */
@Tag("lab")
@Timeout(300)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
final class FaultsLabTest {
  private static final long REQUEST_NS = TimeUnit.SECONDS.toNanos(60);
  private static FaultScene scene;

  @BeforeAll
  static void start() throws Exception {
    scene = new FaultScene();
  }

  @AfterAll
  static void stop() throws Exception {
    scene.close();
  }

  @Test
  @Order(1)
  void aMessageOutsideOfItsMemoryIsALocalError() throws Exception {
    Connection connection = scene.connect();
    scene.verbs().strayFromMemory(true);
    try {
      long faultNs = System.nanoTime();
      send(connection);
      scene.expect("stray address", faultNs, "local-memory", EventKind.COMPLETION_ERROR);
    } finally {
      scene.verbs().strayFromMemory(false);
    }
  }

  @Test
  @Order(2)
  void aRequestWithAWrongKeyIsARemoteAccessError() throws Exception {
    Connection connection = scene.connect();
    RegionDescriptor region;
    try (Reply reply = connection.request(MemorySegment.ofArray(new byte[8]), 0, 8, REQUEST_NS)) {
      region = RegionDescriptor.read(reply.payload(), 0);
    }
    scene.verbs().spoilKeys(true);
    RemoteOperation read = connection.newRemoteOperation(null);
    try (Arena arena = Arena.ofShared()) {
      MemorySegment target = arena.allocate(FaultyPeer.REGION_BYTES, 4096);
      // The first goes by message; the device takes over once the peer has sent its key.
      while (scene.verbs().spoiledNs() == 0) {
        read.read(region, 0, target, 0, 64, REQUEST_NS);
        read.await();
      }
    } catch (RequestFailedException e) {
      assertTrue(scene.verbs().spoiledNs() != 0, e::toString);
    }
    scene.verbs().spoilKeys(false);
    scene.expect(
        "wrong remote key", scene.verbs().spoiledNs(), "remote-access", EventKind.COMPLETION_ERROR);
  }

  @Test
  @Order(3)
  void aQueueThatNobodyPollsOverruns() throws Exception {
    scene.connect();
    scene.verbs().hideCompletions(true);
    long faultNs = System.nanoTime();
    try {
      scene.verbs().floodCompletions();
      scene.expect(
          "completion queue overrun", faultNs, "completion-queue-overrun", EventKind.CQ_ERR);
    } finally {
      scene.verbs().hideCompletions(false);
    }
  }

  @Test
  @Order(4)
  void aPeerWithoutItsQueuePairIsOutOfReachOfRdma() throws Exception {
    Connection connection = scene.connect();
    scene.peer().tell(FaultyPeer.LOSE_QUEUE_PAIRS);
    long faultNs = System.nanoTime();
    send(connection);
    scene.expect("retries exceeded", faultNs, "rdma-path-blocked", EventKind.COMPLETION_ERROR);
  }

  @Test
  @Order(5)
  void aPeerWithoutReceivesIsNotReady() throws Exception {
    scene.peer().tell(FaultyPeer.WITHHOLD_RECEIVES);
    Connection connection = scene.connect();
    long faultNs = System.nanoTime();
    send(connection);
    scene.expect("receiver not ready", faultNs, "peer-not-ready", EventKind.COMPLETION_ERROR);
  }

  @Test
  @Order(6)
  void aKilledPeerIsAProcessThatEnded() throws Exception {
    scene.connect();
    long faultNs = System.nanoTime();
    scene.peer().kill();
    scene.expect("peer killed", faultNs, "peer-process-ended", EventKind.PEER_SOCKET_CLOSED);
    scene.replacePeer();
  }

  /**
   * The last, since the device does not go before this process: librdmacm keeps it open once it has
   * been used, and the driver waits for its users.
   */
  @Test
  @Order(7)
  void aDeviceThatIsTakenAwayHasFailed() throws Exception {
    scene.connect();
    long faultNs = System.nanoTime();
    new ProcessBuilder("rdma", "link", "delete", "rxe0").inheritIO().start();
    scene.expect(
        "device removed",
        faultNs,
        "device-failed",
        EventKind.DEVICE_FATAL,
        EventKind.CM_DEVICE_REMOVAL);
  }
}
