package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.QueuePairLimits;
import io.rdma4j.provider.verbs.PortRestriction;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.verbs.PortAttributes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the two ends of a queue pair agree on, whichever of them has less. */
@Timeout(180)
final class NegotiationTest {
  private static final String LEFT = "10.1.0.1";
  private static final String RIGHT = "10.1.0.11";
  private static final Path ROCE = Path.of("../tools/src/test/cases/mlx5-roce-loss/t0");
  private static final Path INFINIBAND = Path.of("../tools/src/test/cases/mlx5-ib-2socket");

  private static TwoHosts oneDeviceEach() {
    var hosts = new TwoHosts();
    hosts.addLeft("left0").address(TwoHosts.address(LEFT));
    hosts.addRight("right0").address(TwoHosts.address(RIGHT));
    return hosts;
  }

  private static QueuePairLimits limits(Endpoint endpoint) {
    return Objects.requireNonNull(endpoint.queuePair()).limits();
  }

  /** Field case O-21: both use the smaller, whoever connects, and long messages get through. */
  @ParameterizedTest
  @CsvSource({
    "4096, 1024, 1024",
    "1024, 4096, 1024",
    "1024, 1024, 1024",
    "4096, 4096, 4096",
    "2048, 256, 256",
    "512, 4096, 512"
  })
  void bothEndsSendPacketsThatBothCarry(int left, int right, int agreed) throws IOException {
    for (boolean fromLeft : new boolean[] {true, false}) {
      TwoHosts hosts = oneDeviceEach();
      hosts.device("left0").scriptedPort(1).mtuBytes(left);
      hosts.device("right0").scriptedPort(1).mtuBytes(right);
      try (hosts) {
        hosts.start();
        EndpointPair pair = hosts.connect(LEFT, RIGHT, fromLeft);
        assertEquals(agreed, limits(pair.initiator()).mtuBytes());
        assertEquals(agreed, limits(pair.acceptor()).mtuBytes());
        String description = pair.acceptor().description();
        assertTrue(description.contains(", MTU " + agreed + ","), description);
        TwoHosts.exchange(pair);
      }
    }
  }

  /** Reads and atomics: the starter's limit and the server's, in both directions. */
  @ParameterizedTest
  @CsvSource({
    "16, 16, 16, 16, 16, 16",
    "16, 16, 4, 16, 4, 16",
    "16, 16, 16, 1, 16, 1",
    "128, 128, 128, 128, 16, 16",
    "2, 8, 16, 3, 8, 2",
  })
  void theSmallerNumberOfReadsWins(
      int leftServes, int leftStarts, int rightServes, int rightStarts, int most, int mostBack)
      throws IOException {
    for (boolean fromLeft : new boolean[] {true, false}) {
      TwoHosts hosts = oneDeviceEach();
      hosts.device("left0").limits().maxReadAtomic = leftServes;
      hosts.device("left0").limits().maxReadAtomicStarted = leftStarts;
      hosts.device("right0").limits().maxReadAtomic = rightServes;
      hosts.device("right0").limits().maxReadAtomicStarted = rightStarts;
      try (hosts) {
        hosts.start();
        EndpointPair pair = hosts.connect(LEFT, RIGHT, fromLeft);
        Endpoint left = fromLeft ? pair.initiator() : pair.acceptor();
        Endpoint right = fromLeft ? pair.acceptor() : pair.initiator();
        assertEquals(most, Objects.requireNonNull(left.oneSided()).maxReadsUnderWay());
        assertEquals(mostBack, Objects.requireNonNull(right.oneSided()).maxReadsUnderWay());
        assertTrue(limits(right).readsServed() >= most);
        assertTrue(limits(left).readsServed() >= mostBack);
      }
    }
  }

  /** Field case O-20: a completion queue has room for everything that its queue pair may hold. */
  @ParameterizedTest
  @ValueSource(ints = {4, 16, 100, 1000})
  void completionsHaveRoomForAllRequests(int window) throws IOException {
    try (var link = new ScriptedLink(100, window);
        EndpointPair pair = link.connect()) {
      QueuePairLimits made = limits(pair.initiator());
      assertTrue(made.sendRequests() >= window, made.toString());
      assertTrue(made.receiveRequests() >= window, made.toString());
      assertTrue(made.completions() >= made.sendRequests() + made.receiveRequests(), "" + made);
    }
  }

  /** Field case O-20: a device with less is found out before anything is connected. */
  @Test
  void aDeviceWithoutSuchACompletionQueueIsRefusedWithBothFigures() throws IOException {
    try (var link = new ScriptedLink(100, 128)) {
      link.device.limits().maxCompletionQueueEntries = 256;
      IOException refused = assertThrows(IOException.class, link::connect);
      assertTrue(reasons(refused).contains("at most 256"), reasons(refused));
      assertEquals(0, link.verbs.ledger().live(Ledger.Kind.QUEUE_PAIR));
    }
  }

  /** Field case O-17: each end has what its own device gives. */
  @Test
  void inlineAndGatherAreEachDevicesOwn() throws IOException {
    TwoHosts hosts = oneDeviceEach();
    hosts.device("left0").limits().maxInlineBytes = 101;
    hosts.device("right0").limits().maxSge = 1;
    try (hosts) {
      hosts.start();
      EndpointPair pair = hosts.connect(LEFT, RIGHT);
      assertEquals(101, limits(pair.initiator()).inlineBytes());
      assertEquals(2, limits(pair.initiator()).gatherEntries());
      assertEquals(1, limits(pair.acceptor()).gatherEntries());
      TwoHosts.exchange(pair);
    }
  }

  /** Field case O-21: the entry of the address that the handshake runs over. */
  @ParameterizedTest
  @CsvSource({"192.0.2.6, 192.0.2.11, 3", "198.51.100.6, 198.51.100.11, 5"})
  void theGidIsThatOfTheHandshakesAddress(String left, String right, int index) throws IOException {
    try (TwoHosts hosts = recordedRoce()) {
      hosts.start();
      assertEquals(index, limits(hosts.connect(left, right).initiator()).gidIndex());
    }
  }

  /** Field case O-21, InfiniBand: its one GID, with any peer. */
  @Test
  void infiniBandHasOneGid() throws IOException {
    TwoHosts hosts = new TwoHosts();
    recorded(INFINIBAND, "mlx5_0", hosts.addLeft("mlx5_0").scriptedPort(1))
        .linkLayer(PortAttributes.LinkLayer.INFINIBAND)
        .address(TwoHosts.address(LEFT), 24);
    hosts
        .addRight("right0")
        .scriptedPort(1)
        .linkLayer(PortAttributes.LinkLayer.INFINIBAND)
        .address(TwoHosts.address(RIGHT), 24);
    try (hosts) {
      hosts.start();
      assertEquals(0, limits(hosts.connect(LEFT, RIGHT).initiator()).gidIndex());
    }
  }

  /** Field case O-21: a v1 entry that was asked for is used, and said to be one. */
  @Test
  void anEntryOfV1IsUsedWithAWarning() throws IOException {
    TwoHosts hosts = recordedRoce();
    hosts.device("mlx5_bond_0").scriptedPort(1).prefersRoceV1();
    try (hosts) {
      hosts.start(new PortRestriction(List.of("mlx5_bond_0"), 2), ROCE);
      Endpoint endpoint = hosts.connect("192.0.2.6", "192.0.2.11").initiator();
      assertEquals(2, limits(endpoint).gidIndex());
      assertTrue(endpoint.description().contains("GID 2 is RoCE v1"), endpoint.description());
    }
  }

  @Test
  void anEntryThatTheKernelDoesNotTakeIsTold() throws IOException {
    try (TwoHosts hosts = recordedRoce()) {
      hosts.start(new PortRestriction(List.of("mlx5_bond_0"), 2), ROCE);
      Endpoint endpoint = hosts.connect("192.0.2.6", "192.0.2.11").initiator();
      assertEquals(3, limits(endpoint).gidIndex());
      String told = "GID 2 was asked for, but rdma_cm took 3";
      assertTrue(endpoint.description().contains(told), endpoint.description());
    }
  }

  /** Field case O-21: an empty entry is refused with those that are not. */
  @Test
  void anEmptyEntryIsRefusedWithTheUsableOnes() throws IOException {
    try (TwoHosts hosts = recordedRoce()) {
      hosts.start(new PortRestriction(List.of("mlx5_bond_0"), 9), ROCE);
      IOException refused =
          assertThrows(IOException.class, () -> hosts.connect("192.0.2.6", "192.0.2.11"));
      String reasons = reasons(refused);
      assertTrue(reasons.contains("no GID at index 9"), reasons);
      assertTrue(reasons.contains("2 (192.0.2.6, IB/RoCE v1)"), reasons);
      assertTrue(reasons.contains("3 (192.0.2.6, RoCE v2)"), reasons);
      assertTrue(reasons.contains("5 (198.51.100.6, RoCE v2)"), reasons);
    }
  }

  @Test
  void anEntryDecidesWhichAddressIsUsed() throws IOException {
    try (TwoHosts hosts = recordedRoce()) {
      hosts.start(new PortRestriction(List.of("mlx5_bond_0"), 5), ROCE);
      Endpoint endpoint = hosts.connect("192.0.2.6", "192.0.2.11").initiator();
      assertEquals(5, limits(endpoint).gidIndex());
      String description = endpoint.description();
      assertTrue(description.contains("not on the bootstrap's network"), description);
    }
  }

  /** Field case O-22: after a flap the address has another entry, and new queue pairs have it. */
  @Test
  void theTableIsReadAgainForEachConnection() throws IOException {
    try (TwoHosts hosts = recordedRoce()) {
      hosts.start();
      assertEquals(3, limits(hosts.connect("192.0.2.6", "192.0.2.11").initiator()).gidIndex());
      ScriptedPort port = hosts.device("mlx5_bond_0").scriptedPort(1);
      byte[] moved = hosts.device("mlx5_bond_0").gid(1, 3);
      port.forgetGids().gid(5, moved);
      assertEquals(5, limits(hosts.connect("192.0.2.6", "192.0.2.11").initiator()).gidIndex());
    }
  }

  private static TwoHosts recordedRoce() throws IOException {
    var hosts = new TwoHosts();
    ScriptedPort port = hosts.addLeft("mlx5_bond_0").scriptedPort(1);
    port.address(TwoHosts.address("192.0.2.6"), 24)
        .address(TwoHosts.address("198.51.100.6"), 24)
        .forgetGids();
    recorded(ROCE, "mlx5_bond_0", port);
    hosts
        .addRight("right0")
        .scriptedPort(1)
        .address(TwoHosts.address("192.0.2.11"), 24)
        .address(TwoHosts.address("198.51.100.11"), 24);
    return hosts;
  }

  /** Gives a port the GID table of a recorded machine. */
  private static ScriptedPort recorded(Path machine, String device, ScriptedPort port)
      throws IOException {
    Path table = machine.resolve("sys/class/infiniband/" + device + "/ports/1/gids");
    try (var entries = Files.list(table.toRealPath())) {
      for (Path entry : entries.toList()) {
        byte[] gid = HexFormat.of().parseHex(Files.readString(entry).strip().replace(":", ""));
        port.gid(Integer.parseInt(entry.getFileName().toString()), gid);
      }
    }
    return port;
  }

  private static String reasons(IOException failure) {
    StringBuilder reasons = new StringBuilder(String.valueOf(failure.getMessage()));
    for (Throwable other : failure.getSuppressed()) {
      reasons.append("; ").append(other.getMessage());
    }
    return reasons.toString();
  }
}
