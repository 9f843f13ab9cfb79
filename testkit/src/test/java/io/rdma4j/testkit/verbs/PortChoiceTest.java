package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.verbs.PortRestriction;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.PortAttributes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which of several ports a connection runs over, and what trouble of one means for the others. */
@Timeout(180)
final class PortChoiceTest {
  private static final String ELSEWHERE = "127.0.0.1";

  @TempDir private Path dir;

  private static String portOf(Endpoint endpoint) {
    return endpoint.device() + ":" + endpoint.subject().port();
  }

  private static PortRestriction only(String... ports) {
    return new PortRestriction(List.of(ports), PortRestriction.GID_BY_ADDRESS);
  }

  private static String failure(TwoHosts hosts, String left, String right) {
    IOException failed = assertThrows(IOException.class, () -> hosts.connect(left, right));
    StringBuilder reasons = new StringBuilder(String.valueOf(failed.getMessage()));
    for (Throwable other : failed.getSuppressed()) {
      reasons.append("; ").append(other.getMessage());
    }
    return reasons.toString();
  }

  @ParameterizedTest
  @CsvSource({"1, true", "2, true", "1, false", "2, false"})
  void thePeersAddressSaysOnWhichNetwork(int network, boolean fromLeft) throws IOException {
    try (TwoHosts hosts = TwoHosts.withTwoDevicesEach().start()) {
      String net = "10." + network + ".0.";
      for (int i = 0; i < 4; i++) {
        EndpointPair pair = hosts.connect(net + "1", net + "11", fromLeft);
        assertEquals(network, pair.initiator().subject().port());
        assertEquals(network, pair.acceptor().subject().port());
        String description = pair.initiator().description();
        assertTrue(description.contains("on the bootstrap's network, first of 8"), description);
        TwoHosts.exchange(pair);
      }
    }
  }

  @Test
  void connectionsSpreadOverPortsThatAreEqual() throws IOException {
    try (TwoHosts hosts = TwoHosts.withTwoDevicesEach().start()) {
      Map<String, Integer> connections = new TreeMap<>();
      for (int i = 0; i < 8; i++) {
        EndpointPair pair = hosts.connect(ELSEWHERE, ELSEWHERE);
        connections.merge(portOf(pair.initiator()), 1, Integer::sum);
        connections.merge(portOf(pair.acceptor()), 1, Integer::sum);
        String description = pair.acceptor().description();
        assertTrue(description.contains("not on the bootstrap's network"), description);
      }
      var expected = new TreeMap<String, Integer>();
      for (String device : List.of("left0", "left1", "right0", "right1")) {
        expected.put(device + ":1", 2);
        expected.put(device + ":2", 2);
      }
      assertEquals(expected, connections);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'0-27,56-83', mlx5_0, 10",
    "'28-55', mlx5_1, 10",
    "'111', mlx5_1, 10",
  })
  void theDeviceNearTheProcessorsGoesFirst(String processors, String device, int distance)
      throws IOException {
    try (TwoHosts hosts = twoSockets(processors)) {
      for (int i = 0; i < 4; i++) {
        EndpointPair pair = hosts.connect("10.1.0.1", "10.1.0.11");
        assertEquals(device, pair.initiator().device());
        String description = pair.initiator().description();
        assertTrue(
            description.contains("distance (" + distance + " here, unknown there)"), description);
      }
    }
  }

  @Test
  void aProcessOfBothSocketsSpreadsOverBothDevices() throws IOException {
    try (TwoHosts hosts = twoSockets("0-111")) {
      Map<String, Integer> connections = new TreeMap<>();
      for (int i = 0; i < 4; i++) {
        EndpointPair pair = hosts.connect("10.1.0.1", "10.1.0.11");
        connections.merge(pair.initiator().device(), 1, Integer::sum);
      }
      assertEquals(Map.of("mlx5_0", 2, "mlx5_1", 2), connections);
    }
  }

  /** The recorded machine of two sockets, with the processors that this process is said to have. */
  private TwoHosts twoSockets(String processors) throws IOException {
    Path recorded = Path.of("../tools/src/test/cases/mlx5-ib-2socket/sys").toRealPath();
    Files.createSymbolicLink(dir.resolve("sys"), recorded);
    Files.createDirectories(dir.resolve("proc/self"));
    Files.writeString(
        dir.resolve("proc/self/status"), "Name:\tjava\nCpus_allowed_list:\t" + processors + "\n");
    var hosts = new TwoHosts();
    for (int i = 0; i < 2; i++) {
      hosts.addLeft("mlx5_" + i).address(TwoHosts.address("10.1.0." + (i + 1)));
    }
    hosts.addRight("right0").address(TwoHosts.address("10.1.0.11"));
    hosts.start(only("mlx5_0", "mlx5_1"), dir);
    Files.delete(dir.resolve("sys")); // has been read
    return hosts;
  }

  @Test
  void aPortThatIsDownIsLeftOutAndNamedWhenNoneIsLeft() throws IOException {
    TwoHosts hosts = TwoHosts.withTwoDevicesEach();
    hosts.device("left0").scriptedPort(1).state(PortAttributes.State.DOWN);
    hosts.device("left0").scriptedPort(2).state(PortAttributes.State.ARMED);
    hosts.device("left1").scriptedPort(2).state(PortAttributes.State.DOWN);
    try (hosts) {
      hosts.start();
      for (int i = 0; i < 4; i++) {
        assertEquals("left1:1", portOf(hosts.connect("10.1.0.1", "10.1.0.11").initiator()));
      }
      hosts.device("left1").scriptedPort(1).state(PortAttributes.State.INIT);
      String reasons = failure(hosts, "10.1.0.1", "10.1.0.11");
      assertTrue(reasons.contains("left0 port 1 is DOWN"), reasons);
      assertTrue(reasons.contains("left1 port 1 is INIT"), reasons);
    }
  }

  @Test
  void aPortThatHasJustComeBackIsUsedWhenThereIsNoOther() throws IOException {
    TwoHosts hosts = TwoHosts.withTwoDevicesEach();
    ScriptedDevice flapping = hosts.device("left0");
    try (hosts) {
      hosts.start();
      flapping.raise(AsyncEvent.Type.PORT_ERR, null, 1);
      flapping.raise(AsyncEvent.Type.PORT_ACTIVE, null, 1);
      hosts.left().housekeep(System.nanoTime());
      for (int i = 0; i < 3; i++) {
        assertEquals("left1:1", portOf(hosts.connect("10.1.0.1", "10.1.0.11").initiator()));
      }
      hosts.device("left1").scriptedPort(1).state(PortAttributes.State.DOWN);
      assertEquals("left0:1", portOf(hosts.connect("10.1.0.1", "10.1.0.11").initiator()));
    }
  }

  @Test
  void theSettingsLeaveDevicesAndPortsOut() throws IOException {
    TwoHosts hosts = TwoHosts.withTwoDevicesEach();
    try (hosts) {
      hosts.start(only("left1:2", "left9"), dir);
      String reason = hosts.left().availability().reason();
      assertTrue(reason.contains("left9 (among rdma4j.verbs.devices, but"), reason);
      assertTrue(reason.contains("left0 (not among rdma4j.verbs.devices)"), reason);
      assertEquals(1, hosts.left().registrars().size(), "memory goes to devices in use alone");
      assertEquals("left1:2", portOf(hosts.connect("10.2.0.1", "10.2.0.11").initiator()));
      assertEquals("left1:2", portOf(hosts.connect("10.1.0.1", "10.1.0.11").initiator()));
    }
  }

  @Test
  void namesThatAreNoneAreRefusedAtOnce() {
    for (String bad : new String[] {"", " ", "mlx5_0:0", "mlx5_0:256", ":1", "mlx5_0:x", "a b"}) {
      var refused = assertThrows(IllegalArgumentException.class, () -> only("mlx5_1:255", bad));
      assertTrue(String.valueOf(refused.getMessage()).contains("'" + bad + "'"), bad);
    }
    assertThrows(IllegalArgumentException.class, () -> new PortRestriction(List.of(), 256));
  }

  /** Field case O-22: the flap of a port touches nobody on another one, of the card or beside. */
  @ParameterizedTest
  @CsvSource({"left0, 2", "left1, 1", "left1, 2"})
  void aFlapOfAnotherPortTouchesNothing(String device, int port) throws IOException {
    TwoHosts hosts = TwoHosts.withTwoDevicesEach();
    ScriptedDevice flapping = hosts.device(device);
    try (hosts) {
      hosts.start();
      EndpointPair pair;
      do {
        pair = hosts.connect("10.1.0.1", "10.1.0.11");
      } while (!portOf(pair.initiator()).equals("left0:1"));
      flapping.raise(AsyncEvent.Type.PORT_ERR, null, port);
      flapping.raise(AsyncEvent.Type.GID_CHANGE, null, port);
      flapping.raise(AsyncEvent.Type.PORT_ACTIVE, null, port);
      hosts.left().housekeep(System.nanoTime());
      var inbox = new Inbox();
      pair.initiator().housekeep(System.nanoTime());
      pair.initiator().poll(inbox, 16);
      assertNull(inbox.failure());
      TwoHosts.exchange(pair);
      assertEquals(0, flapping.unacknowledgedEvents());
    }
  }

  @Test
  void portsOfDifferentKindsFindNoWay() throws IOException {
    var hosts = new TwoHosts();
    hosts.addLeft("left0").address(TwoHosts.address("10.1.0.1"));
    hosts
        .addRight("right0")
        .address(TwoHosts.address("10.1.0.11"))
        .scriptedPort(1)
        .linkLayer(PortAttributes.LinkLayer.INFINIBAND);
    try (hosts) {
      hosts.start();
      assertFalse(hosts.left().judge(hosts.right().offer()).usable(), "seen before any step");
      String reasons = failure(hosts, "10.1.0.1", "10.1.0.11");
      assertTrue(reasons.contains("no port here has a way"), reasons);
      assertTrue(reasons.contains("RoCE 10.1.0.1/24"), reasons);
      assertTrue(reasons.contains("InfiniBand 10.1.0.11/24"), reasons);
    }
  }
}
