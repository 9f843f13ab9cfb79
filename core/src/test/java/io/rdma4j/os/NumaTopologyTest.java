package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NumaTopologyTest {
  private static final int UNKNOWN = NumaTopology.UNKNOWN;
  private static final String NODES = "sys/devices/system/node/";

  @TempDir Path directory;

  private NumaTopologyTest file(String path, String text) throws IOException {
    Path file = directory.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    return this;
  }

  private NumaTopologyTest node(int id, String cpulist, String distance, long memoryKiB)
      throws IOException {
    return file(NODES + "node" + id + "/cpulist", cpulist + "\n")
        .file(NODES + "node" + id + "/distance", distance + "\n")
        .file(
            NODES + "node" + id + "/meminfo",
            "Node %d MemTotal:       %d kB\nNode %d MemFree:  0 kB\n".formatted(id, memoryKiB, id));
  }

  private NumaTopologyTest twoSockets() throws IOException {
    return node(0, "0-27,56-83", "10 21", 263786496)
        .node(1, "28-55,84-111", "21 10", 264231936)
        .file(NODES + "online", "0-1\n")
        .file(NODES + "has_memory", "0-1\n");
  }

  private SystemRoot root() {
    return SystemRoot.at(directory);
  }

  private NumaTopology read() {
    return NumaTopology.read(root());
  }

  private static SystemRoot recorded(String tree) throws Exception {
    return SystemRoot.at(
        Path.of(
            Objects.requireNonNull(NumaTopologyTest.class.getResource("/numa/" + tree)).toURI()));
  }

  @Test
  void twoSocketsWithACardOnEach() throws IOException {
    twoSockets();
    for (String card : new String[] {"17/mlx5_0/0", "ca/mlx5_1/1"}) {
      String[] part = card.split("/");
      Path pci = Path.of("sys/devices/pci0000:" + part[0], "0000:" + part[0] + ":00.0");
      file(pci + "/numa_node", part[2] + "\n").file(pci + "/infiniband/" + part[1] + "/fw", "");
      link(pci + "/infiniband/" + part[1] + "/device", "../../../0000:" + part[0] + ":00.0");
      link(
          "sys/class/infiniband/" + part[1],
          "../../devices/pci0000:" + part[0] + "/0000:" + part[0] + ":00.0/infiniband/" + part[1]);
    }
    assertEquals(0, NumaTopology.nodeOfDevice(root(), "mlx5_0"));
    assertEquals(1, NumaTopology.nodeOfDevice(root(), "mlx5_1"));
    assertEquals(UNKNOWN, NumaTopology.nodeOfDevice(root(), "mlx5_2"));

    NumaTopology topology = read();
    assertArrayEquals(new int[] {0, 1}, topology.nodes());
    assertArrayEquals(new int[] {1, 0}, topology.nearestWithMemory(1));
    assertEquals(0, topology.nodeOfCpu(83));
    assertEquals(1, topology.nodeOfCpu(111));
    assertEquals(UNKNOWN, topology.nodeOfCpu(112));
    assertEquals("node 0 with 56 CPUs, node 1 with 56 CPUs", topology.toString());
  }

  private void link(String path, String target) throws IOException {
    Path link = directory.resolve(path);
    Files.createDirectories(link.getParent());
    Files.createSymbolicLink(link, Path.of(target));
  }

  @Test
  void memoryForACardOnANodeWithoutAny() throws Exception {
    NumaTopology topology = NumaTopology.read(recorded("4-nodes-2-without-memory"));
    assertArrayEquals(new int[] {0, 1, 2, 3}, topology.nodes());
    assertFalse(topology.hasMemory(0));
    assertTrue(topology.hasMemory(1));
    assertTrue(topology.hasMemory(2));
    assertFalse(topology.hasMemory(3));
    assertArrayEquals(new int[] {1, 2}, topology.nearestWithMemory(0));
    assertArrayEquals(new int[] {2, 1}, topology.nearestWithMemory(2));
    assertEquals(12, topology.distance(0, 1));
    assertEquals(3, topology.nodeOfCpu(47));
  }

  @Test
  void unknownIsNeverAnIndex() throws IOException {
    twoSockets();
    for (NumaTopology topology : new NumaTopology[] {read(), NumaTopology.unknown()}) {
      for (int id : new int[] {UNKNOWN, Integer.MIN_VALUE, 2, Integer.MAX_VALUE}) {
        assertFalse(topology.hasMemory(id));
        assertArrayEquals(new int[0], topology.nearestWithMemory(id));
        assertEquals(UNKNOWN, topology.distance(id, 0));
        assertEquals(UNKNOWN, topology.distance(0, id));
        assertEquals(UNKNOWN, topology.nodeOfCpu(id == 2 ? 112 : id));
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'0\n', 0",
    "'1\n', 1",
    "' 3 \n', 3",
    "'-1\n', -1",
    "'-2\n', -1",
    "'', -1",
    "'\n', -1",
    "'N/A', -1",
    "'0-1', -1",
    "'1.0', -1",
    "'1024', -1",
    "'4294967296', -1",
    "'99999999999999999999', -1"
  })
  void nodeOfADevice(String text, int node) throws IOException {
    file("sys/class/infiniband/mlx5_0/device/numa_node", text);
    assertEquals(node, NumaTopology.nodeOfDevice(root(), "mlx5_0"));
  }

  @ParameterizedTest
  @CsvSource({
    "'0', 0",
    "'0-27,56-83', 0",
    "'28-29,111', 1",
    "'27-28', -1",
    "'0-111', -1",
    "'0,112', -1",
    "'', -1",
    "'many', -1",
  })
  void aProcessIsAtHomeWhereAllItsProcessorsAre(String allowed, int node) throws IOException {
    twoSockets()
        .file(
            "proc/self/status",
            "Name:\tjava\nCpus_allowed:\tff\nCpus_allowed_list:\t" + allowed + "\nTgid:\t1\n");
    assertEquals(node, read().nodeOfProcess(root()));
    assertEquals(UNKNOWN, NumaTopology.unknown().nodeOfProcess(root()));
  }

  @Test
  void aProcessWithoutAStatusIsAtHomeNowhere() throws IOException {
    assertEquals(UNKNOWN, twoSockets().read().nodeOfProcess(root()));
  }

  @Test
  void softwareDevicesAreOnNoNode() throws IOException {
    file("sys/class/infiniband/rxe0/parent", "eth0\n");
    assertEquals(UNKNOWN, NumaTopology.nodeOfDevice(root(), "rxe0"));
    file("sys/class/infiniband/mlx5_0/device/numa_node/directory", "");
    assertEquals(UNKNOWN, NumaTopology.nodeOfDevice(root(), "mlx5_0"));
  }

  @Test
  void idsHaveGapsAndRowsHaveNone() throws IOException {
    node(0, "0-3", "10 40 80", 1)
        .node(8, "8-11", "40 10 70", 1)
        .node(252, "", "80 70 10", 1)
        .file(NODES + "online", "0,8,252\n")
        .file(NODES + "has_memory", "0,8,252\n");
    NumaTopology topology = read();
    assertArrayEquals(new int[] {0, 8, 252}, topology.nodes());
    assertEquals(80, topology.distance(0, 252));
    assertEquals(70, topology.distance(8, 252));
    assertEquals(UNKNOWN, topology.distance(0, 1));
    assertFalse(topology.hasMemory(1));
    assertEquals(UNKNOWN, topology.nodeOfCpu(4));
    assertArrayEquals(new int[] {8, 0, 252}, topology.nearestWithMemory(8));
    assertArrayEquals(new int[0], topology.nearestWithMemory(1));
  }

  @Test
  void nodesThatAreOfflineAreNotThere() throws IOException {
    twoSockets().node(2, "112-115", "30 30 10", 1).file(NODES + "possible", "0-7\n");
    NumaTopology topology = read();
    assertArrayEquals(new int[] {0, 1}, topology.nodes());
    assertEquals(UNKNOWN, topology.nodeOfCpu(112));
    assertFalse(topology.hasMemory(2));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "10\n", "10 N/A\n", "N/A\n", "10 -5\n", "? 99999999999\n"})
  void unknownDistancesComeLast(String row) throws IOException {
    twoSockets().node(2, "", "30 30 10", 1).file(NODES + "online", "0-2\n");
    file(NODES + "has_memory", "0-2\n").file(NODES + "node0/distance", row);
    NumaTopology topology = read();
    assertEquals(UNKNOWN, topology.distance(0, 1));
    assertEquals(UNKNOWN, topology.distance(0, 2));
    assertArrayEquals(new int[] {0, 1, 2}, topology.nearestWithMemory(0));
    file(NODES + "node1/distance", "10 \n");
    assertArrayEquals(new int[] {1, 0, 2}, read().nearestWithMemory(1));
  }

  @Test
  void withoutTheListOfNodesWithMemoryTheirSizesDecide() throws IOException {
    twoSockets().node(0, "0-3", "10 21", 0);
    for (String text : new String[] {"N/A\n", "0-\n", "0-4096\n"}) {
      file(NODES + "has_memory", text);
      assertFalse(read().hasMemory(0), text);
      assertTrue(read().hasMemory(1), text);
    }
    Files.delete(directory.resolve(NODES + "has_memory"));
    assertArrayEquals(new int[] {1}, read().nearestWithMemory(0));
    Files.delete(directory.resolve(NODES + "node0/meminfo"));
    assertTrue(read().hasMemory(0));
    file(NODES + "has_memory", "\n");
    assertArrayEquals(new int[0], read().nearestWithMemory(0));
  }

  @Test
  void withoutTheListOfNodesTheDirectoriesCount() throws IOException {
    twoSockets().file(NODES + "online", "N/A\n").file(NODES + "node9999/cpulist", "0");
    file(NODES + "nodes/cpulist", "0");
    assertArrayEquals(new int[] {0, 1}, read().nodes());
  }

  @Test
  void nothingInSysfsIsTheUnknownTopology() throws IOException {
    assertSame(NumaTopology.unknown(), read());
    file(NODES + "online", "\n");
    assertSame(NumaTopology.unknown(), read());
    assertEquals("no known nodes", read().toString());
  }

  @ParameterizedTest
  @CsvSource({
    "2-nodes, 2",
    "1-node, 1",
    "8-nodes, 8",
    "4-nodes-2-without-memory, 4",
  })
  void textsOfNumactl(String name, int count) throws IOException {
    NumaTopology topology = NumactlText.resource(name + ".numactl.txt");
    assertEquals(count, topology.nodes().length);
    assertEquals(10, topology.distance(count - 1, count - 1));
    assertEquals(0, topology.nodeOfCpu(0));
  }

  @Test
  void textAndTreeOfOneMachineAgree() throws Exception {
    NumaTopology text = NumactlText.resource("4-nodes-2-without-memory.numactl.txt");
    NumaTopology tree = NumaTopology.read(recorded("4-nodes-2-without-memory"));
    assertEquals(tree.toString(), text.toString());
    for (int node : tree.nodes()) {
      assertArrayEquals(tree.nearestWithMemory(node), text.nearestWithMemory(node));
      for (int other : tree.nodes()) {
        assertEquals(tree.distance(node, other), text.distance(node, other));
      }
    }
    for (int cpu = 0; cpu <= 48; cpu++) {
      assertEquals(tree.nodeOfCpu(cpu), text.nodeOfCpu(cpu));
    }
    NumaTopology eight = NumactlText.resource("8-nodes.numactl.txt");
    assertArrayEquals(new int[] {5, 4, 6, 7, 0, 1, 2, 3}, eight.nearestWithMemory(5));
    assertSame(NumaTopology.unknown(), NumactlText.parse("No NUMA available on this system\n"));
  }

  @Test
  void readsThisMachine() {
    NumaTopology topology = NumaTopology.read(SystemRoot.host());
    for (int node : topology.nodes()) {
      assertEquals(10, topology.distance(node, node));
    }
    int cpu = CurrentCpu.number();
    assertTrue(cpu >= 0, "sched_getcpu(3) is in every glibc from 2.6 on, got " + cpu);
    assertEquals(topology.nodes().length == 0, CurrentCpu.node(topology) == UNKNOWN);
    assertEquals(UNKNOWN, CurrentCpu.node(NumaTopology.unknown()));
  }
}
