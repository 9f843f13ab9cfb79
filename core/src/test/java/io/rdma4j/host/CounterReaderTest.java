package io.rdma4j.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which counters belong to a port, and where they are looked for. */
final class CounterReaderTest {
  private static final String DEVICE = "sys/class/infiniband/mlx5_0/";
  private static final String PORT = DEVICE + "ports/1/";

  @TempDir Path root;

  private void file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
  }

  private PortCounters only(CounterReader reader) {
    List<PortCounters> ports = reader.read();
    assertEquals(1, ports.size());
    return ports.getFirst();
  }

  @Test
  void ethtoolIsAskedForTheDevicesBelowABond() throws IOException {
    file(PORT + "link_layer", "Ethernet");
    file(PORT + "gid_attrs/ndevs/0", "bond0");
    file("sys/class/net/bond0/bonding/slaves", "eth2 eth3");
    List<String> asked = new ArrayList<>();
    CounterReader reader =
        CounterReader.at(
            root,
            netdev -> {
              asked.add(netdev);
              return "NIC statistics:\n     rx_discards_phy: 4\n     rx_packets: 9\n";
            });
    assertEquals(Map.of("ethtool/rx_discards_phy", 8L), only(reader).values());
    assertEquals(List.of("eth2", "eth3"), asked);
    PortCounters without = only(CounterReader.at(root, netdev -> null));
    assertEquals(Map.of(), without.values());
    assertEquals("bond0", without.netdev());
  }

  @Test
  void ethtoolFilesOfOtherDevicesAreNotTaken() throws IOException {
    file(PORT + "gid_attrs/ndevs/0", "eth1");
    file("ethtool-S-eth1.txt", "     tx_discards_phy: 1");
    file("ethtool-S-eth10.txt", "     tx_discards_phy: 10");
    file("ethtool-S-eth1-below.txt", "     tx_discards_phy: 100");
    assertEquals(Map.of("ethtool/tx_discards_phy", 101L), only(CounterReader.at(root)).values());
  }

  @Test
  void linkCountersOfTheNetworkDevice() throws IOException {
    file(DEVICE + "parent", "eth0");
    file(PORT + "link_layer", "Ethernet");
    file("sys/class/net/eth0/carrier_down_count", "3");
    assertEquals(Map.of("net/carrier_down_count", 3L), only(CounterReader.at(root)).values());
  }

  @Test
  void countersOfTheWholeDeviceArePortZero() throws IOException {
    file(DEVICE + "hw_counters/lifespan", "12");
    file(DEVICE + "hw_counters/alloc_pd_err", "1");
    PortCounters whole = only(CounterReader.at(root));
    assertEquals(0, whole.port());
    assertEquals(12, whole.lifespanMs());
    assertEquals(Map.of("hw_counters/alloc_pd_err", 1L), whole.values());
    assertNull(whole.netdev());
  }

  @Test
  void theRootMustBeADirectory() throws IOException {
    file("plain", "");
    assertThrows(NotDirectoryException.class, () -> CounterReader.at(root.resolve("plain")));
  }
}
