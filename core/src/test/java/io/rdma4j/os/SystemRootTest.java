package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SystemRootTest {
  @TempDir Path directory;
  private SystemRoot root;

  @BeforeEach
  void makeTree() throws Exception {
    root = SystemRoot.at(directory);
    Path device = Files.createDirectories(directory.resolve("sys/devices/pci0/mlx5_10"));
    Files.writeString(device.resolve("numa_node"), "-1\n");
    Files.writeString(device.resolve("counter"), "N/A (no PMA)\n");
    Files.createDirectories(device.resolve("unreadable"));
    Path classes = Files.createDirectories(directory.resolve("sys/class/infiniband"));
    Files.createDirectories(classes.resolve("mlx5_2"));
    Files.createSymbolicLink(classes.resolve("mlx5_10"), Path.of("../../devices/pci0/mlx5_10"));
  }

  @Test
  void readsThroughRelativeLinks() {
    assertEquals(Optional.of("-1"), root.read("/sys/class/infiniband/mlx5_10/numa_node"));
    assertEquals(OptionalLong.of(-1), root.readLong("/sys/class/infiniband/mlx5_10/numa_node"));
    assertEquals(Optional.of("mlx5_10"), root.linkName("/sys/class/infiniband/mlx5_10"));
  }

  @Test
  void unreadableIsAbsentButExists() {
    String attribute = "/sys/class/infiniband/mlx5_10/unreadable";
    assertEquals(Optional.empty(), root.read(attribute));
    assertTrue(root.exists(attribute));
    assertEquals(Optional.empty(), root.read("/sys/class/infiniband/mlx5_3/numa_node"));
    assertFalse(root.exists("/sys/class/infiniband/mlx5_3/numa_node"));
    assertEquals(OptionalLong.empty(), root.readLong("/sys/class/infiniband/mlx5_10/counter"));
    assertEquals(List.of(), root.list("/sys/class/net"));
    assertEquals(Optional.empty(), root.linkName("/sys/class/infiniband/mlx5_2"));
  }

  @Test
  void listsInNaturalOrder() {
    assertEquals(List.of("mlx5_2", "mlx5_10"), root.list("/sys/class/infiniband"));
    assertTrue(SystemRoot.compareNaturally("rxe9", "rxe010") < 0);
    assertTrue(SystemRoot.compareNaturally("a", "a0") < 0);
    assertTrue(SystemRoot.compareNaturally("7", "07") != 0);
  }

  @Test
  void staysBelowTheRoot() {
    assertThrows(IllegalArgumentException.class, () -> root.read("/../../etc/passwd"));
    assertThrows(IllegalArgumentException.class, () -> root.read("sys/class"));
  }

  @Test
  void readsThisMachine() {
    assertFalse(SystemRoot.host().read("/proc/self/status").orElseThrow().isEmpty());
  }
}
