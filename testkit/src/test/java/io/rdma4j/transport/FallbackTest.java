package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Availability;
import io.rdma4j.Rdma4jException;
import io.rdma4j.testkit.transport.Mailbox;
import io.rdma4j.testkit.verbs.Ledger;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** RDMA is there but not usable, or breaks late: the connection carries on over the next path. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class FallbackTest {
  private static final int EIO = 5;
  private final ScriptedVerbs verbs = new ScriptedVerbs();

  private NodeConfig.Builder config(String... paths) {
    return NodeConfig.builder().verbs(verbs).paths(paths);
  }

  private static NodeConfig listening(NodeConfig.Builder config, ConnectionHandler handler) {
    return config
        .listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), (peer, path) -> handler)
        .build();
  }

  private static InetSocketAddress at(Node node) {
    return Objects.requireNonNull(node.listenAddress());
  }

  /** Connects, sends one message each way, and returns the path that carried it. */
  private static PathChoice exchange(NodeConfig.Builder serverConfig, NodeConfig clientConfig)
      throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Mailbox answers = new Mailbox();
    try (Node server = Node.start(listening(serverConfig, inbox));
        Node client = Node.start(clientConfig)) {
      Connection connection = client.connect(at(server), answers);
      byte[] order = {1, 2, 3};
      assertEquals(0, connection.send(MemorySegment.ofArray(order), 0, 3));
      assertArrayEquals(order, inbox.take());
      assertEquals(0, inbox.connection().send(MemorySegment.ofArray(order), 0, 2));
      assertEquals(2, answers.take().length);
      return connection.path();
    }
  }

  @Test
  void aStepThatFailsLateCostsNothingButThePath() throws InterruptedException {
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    verbs.faults().refuseAlways("ibv_create_cq", EIO);
    PathChoice path = exchange(config("verbs", "tcp"), config("verbs", "tcp").build());
    assertEquals("tcp", path.name());
    String reason = Objects.requireNonNull(path.rejected().get("verbs"));
    assertTrue(reason.contains("ibv_create_cq"), reason);
    verbs.ledger().assertNothingLeft();
  }

  @Test
  void aQueuePairRefusedAfterItsQueuesCostsNothingButThePath() throws InterruptedException {
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    verbs.faults().refuseAlways("rdma_create_qp", EIO);
    PathChoice path = exchange(config("verbs", "tcp"), config("verbs", "tcp").build());
    assertEquals("tcp", path.name());
    assertEquals(0, verbs.ledger().live(Ledger.Kind.COMPLETION_QUEUE));
    verbs.ledger().assertNothingLeft();
  }

  @Test
  void withoutADeviceTheNextPathIsUsedAndTheReasonReadable() throws InterruptedException {
    PathChoice path = exchange(config("verbs", "tcp"), config("verbs", "tcp").build());
    assertEquals("tcp", path.name());
    assertTrue(path.rejected().containsKey("verbs"));
    try (Node node = Node.start(config("verbs", "tcp").build())) {
      Availability availability = Objects.requireNonNull(node.status().paths().get("verbs"));
      assertFalse(availability.usable());
      assertFalse(availability.reason().isBlank());
    }
  }

  @Test
  void devicesThatCannotBeOpenedAreSkippedWithAReasonEach() throws InterruptedException {
    verbs.addDevice("mlx5_0").address(InetAddress.getLoopbackAddress());
    verbs.addDevice("mlx5_1").unusable("/dev/infiniband/uverbs1 is not in this container");
    verbs.addDevice("mlx5_3").unusable("/dev/infiniband/uverbs3 is not in this container");
    PathChoice path = exchange(config("verbs"), config("verbs").build());
    assertEquals("mlx5_0", path.device());
    try (Node node = Node.start(config("verbs").build())) {
      String reason = Objects.requireNonNull(node.status().paths().get("verbs")).reason();
      assertTrue(reason.contains("mlx5_1") && reason.contains("uverbs3"), reason);
    }
    verbs.ledger().assertNothingLeft();
  }

  @Test
  void memoryThatTheDeviceRefusesLeavesTheOtherPaths() throws InterruptedException {
    verbs
            .addDevice("scripted0")
            .address(InetAddress.getLoopbackAddress())
            .limits()
            .lockedMemoryBytes =
        64 * 1024;
    PathChoice path = exchange(config("verbs", "tcp"), config("verbs", "tcp").build());
    assertEquals("tcp", path.name());
    verbs.ledger().assertNothingLeft();
  }

  @Test
  void aRequiredPathThatIsNotThereIsAnErrorAtTheStart() {
    Rdma4jException refusal =
        assertThrows(Rdma4jException.class, () -> Node.start(config("verbs").build()));
    assertTrue(
        String.valueOf(refusal.getMessage()).contains("verbs"),
        String.valueOf(refusal.getMessage()));
  }

  @Test
  void aHostThatIsNotKnownIsRefusedWithTheProperty() {
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                config("tcp")
                    .listen(
                        InetSocketAddress.createUnresolved("no-such-host.invalid", 1),
                        (peer, path) -> null)
                    .build());
    assertTrue(String.valueOf(refusal.getMessage()).contains("NodeConfig.listen"));
  }

  @Test
  void aPeerThatDoesNotOfferThePathIsAConnectFailureWithTheReason() {
    Mailbox inbox = new Mailbox();
    try (Node server = Node.start(listening(config("tcp"), inbox));
        Node client = Node.start(config("shm").build())) {
      ConnectFailedException failure =
          assertThrows(
              ConnectFailedException.class, () -> client.connect(at(server), new Mailbox()));
      assertTrue(String.valueOf(failure.getMessage()).contains("does not offer"));
    }
  }

  @Test
  void sharedMemoryThatIsTooSmallLeavesTcp(@TempDir Path directory) throws Exception {
    Path small = Files.createDirectory(directory.resolve("small"));
    org.junit.jupiter.api.Assumptions.assumeTrue(
        run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small.toString()) == 0,
        "needs the right to mount a tmpfs (root)");
    try {
      PathChoice path =
          exchange(config("shm", "tcp"), config("shm", "tcp").shmDirectory(small).build());
      assertEquals("tcp", path.name());
      assertNotNull(path.rejected().get("shm"));
      try (var left = Files.list(small)) {
        assertEquals(0, left.count());
      }
    } finally {
      assertEquals(0, run("umount", small.toString()));
    }
  }

  private static int run(String... command) throws Exception {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }
}
