package io.rdma4j.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.host.DeviceReport.Transport;
import io.rdma4j.host.DeviceReport.VerbsNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The facts read from small trees, the broken ones included. */
final class HostReportTest {
  private static final String DEVICE = "sys/class/infiniband/rocep1s0/";

  @TempDir Path root;

  private void file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
  }

  private HostReport read() throws IOException {
    return HostReport.read(root);
  }

  private void roceDevice() throws IOException {
    file(DEVICE + "node_type", "1: CA");
    file(DEVICE + "device/numa_node", "1");
    file(DEVICE + "ports/1/state", "4: ACTIVE");
    file(DEVICE + "ports/1/link_layer", "Ethernet");
    file(DEVICE + "ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:c000:0201");
    file(DEVICE + "ports/1/gid_attrs/types/0", "RoCE v2");
  }

  @Test
  void deviceRenamedByUdevIsKnownByItsKernelDriver() throws IOException {
    roceDevice();
    Files.createDirectories(root.resolve("sys/bus/pci/drivers/mlx5_core"));
    Files.createSymbolicLink(
        root.resolve(DEVICE + "device/driver"), Path.of("/sys/bus/pci/drivers/mlx5_core"));
    DeviceReport device = read().devices().getFirst();
    assertEquals("mlx5", device.driver());
    assertEquals(Transport.ROCE, device.transport());
    assertEquals(1, device.numaNode());
    assertFalse(device.virtual());
    assertEquals("192.0.2.1", device.ports().getFirst().gids().getFirst().ipv4());
  }

  @Test
  void aPortInUseDecidesTheTransportOfACardWithBothLinks() throws IOException {
    roceDevice();
    file(DEVICE + "ports/1/state", "1: DOWN");
    file(DEVICE + "ports/2/state", "4: ACTIVE");
    file(DEVICE + "ports/2/link_layer", "InfiniBand");
    DeviceReport device = read().devices().getFirst();
    assertEquals(Transport.INFINIBAND, device.transport());
    assertEquals(List.of(1, 2), device.ports().stream().map(PortReport::number).toList());
  }

  @Test
  void unknownNodeTypeAndLinkLeaveTheTransportOpen() throws IOException {
    file(DEVICE + "node_type", "7: unspecified");
    file(DEVICE + "ports/1/link_layer", "Unspecified");
    assertNull(read().devices().getFirst().transport());
  }

  @Test
  void aNodeListedInATreeIsNotOpened() throws IOException {
    roceDevice();
    file("sys/class/infiniband_verbs/uverbs4/ibdev", "rocep1s0");
    assertEquals(VerbsNode.State.UNKNOWN, read().devices().getFirst().node().state());
    file("dev/infiniband/uverbs4", "");
    VerbsNode node = read().devices().getFirst().node();
    assertEquals(VerbsNode.State.LISTED, node.state());
    assertEquals("/dev/infiniband/uverbs4", node.path());
  }

  @Test
  void aNodeOfThisMachineIsTriedByOpeningIt() throws IOException {
    file("node", "");
    VerbsNode openable = DeviceReader.open(root.resolve("node").toString());
    assertEquals(VerbsNode.State.OPENABLE, openable.state());
    VerbsNode denied = DeviceReader.open(root.toString());
    assertEquals(VerbsNode.State.DENIED, denied.state());
    assertTrue(denied.detail().startsWith(root + ": "), denied.detail());
  }

  @Test
  void softwareDevicesAreToldFromHardwareWhoseLinkWasNotCopied() throws IOException {
    file("sys/class/infiniband/rxe0/node_type", "1: CA");
    file("sys/class/infiniband/mlx5_0/node_type", "1: CA");
    file("sys/class/infiniband/named/parent", "eth0");
    HostReport report = read();
    assertEquals(
        List.of("mlx5_0 false mlx5", "named true null", "rxe0 true rxe"),
        report.devices().stream()
            .map(device -> device.name() + " " + device.virtual() + " " + device.driver())
            .toList());
  }

  @Test
  void brokenValuesAreReportedAndCostOnlyThemselves() throws IOException {
    roceDevice();
    file(DEVICE + "device/numa_node", "one");
    file(DEVICE + "ports/1/gids/1", "not-a-gid");
    file("proc/self/limits", "Limit  Soft Limit  Hard Limit  Units");
    file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise never");
    HostReport report = read();
    assertNull(report.devices().getFirst().numaNode());
    assertEquals(1, report.devices().getFirst().ports().getFirst().gids().size());
    assertEquals(
        List.of(
            "/" + DEVICE + "ports/1/gids/1",
            "/" + DEVICE + "device/numa_node",
            "/proc/self/limits",
            "/sys/kernel/mm/transparent_hugepage/enabled"),
        report.unreadable().stream().map(HostReport.Unreadable::path).toList());
  }

  @Test
  void hugePagesBySize() throws IOException {
    file("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1");
    file("sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0");
    file("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512");
    file("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500");
    file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    HugePagesReport hugePages = read().hugePages();
    assertEquals(
        List.of(
            new HugePagesReport.Pool(2L << 20, 512L, 500L),
            new HugePagesReport.Pool(1L << 30, 1L, 0L)),
        hugePages.pools());
    assertEquals("madvise", hugePages.transparent());
  }

  @Test
  void modulesComeFromBothLists() throws IOException {
    Files.createDirectories(root.resolve("sys/module/ib_core"));
    Files.createDirectories(root.resolve("sys/module/ext4"));
    file(
        "proc/modules",
        "mlx5_ib 450560 0 - Live 0x0\nib_uverbs 1 0 - Live 0x0\nxfs 1 0 - Live 0x0");
    assertEquals(List.of("ib_core", "ib_uverbs", "mlx5_ib"), read().kernelModules());
  }

  @Test
  void librariesInFoldersOfTheLoaderConfiguration() throws IOException {
    file("etc/ld.so.conf", "# comment\ninclude ld.so.conf.d/*.conf");
    file("etc/ld.so.conf.d/rdma.conf", "/opt/rdma/lib # vendor");
    file("etc/ld.so.conf.d/ignored.txt", "/opt/other");
    file("opt/rdma/lib/libibverbs.so.1", "");
    file("opt/rdma/lib/libibverbs/libmlx5-rdmav57.so", "");
    file("opt/other/librdmacm.so.1", "");
    List<LibraryReport> libraries = read().libraries();
    assertEquals("/opt/rdma/lib/libibverbs.so.1", libraries.get(0).path());
    assertEquals(false, libraries.get(1).found());
    assertEquals("mlx5", libraries.get(2).name());
    assertEquals("rdmav57", libraries.get(2).version());
  }

  @Test
  void softLimitAndHardLimitAreToldApart() throws IOException {
    file(
        "proc/self/limits",
        "Max locked memory         65536                unlimited            bytes");
    LimitsReport limits = read().limits();
    assertEquals(65536L, limits.memlockBytes());
    assertEquals(LimitsReport.UNLIMITED, limits.memlockHardBytes());
    assertNull(limits.ipcLock());
  }

  @Test
  void thisProcessKnowsItsOwnLimit() throws IOException {
    HostReport live = HostReport.read(Path.of("/"));
    assertTrue(live.live());
    String limits = Files.readString(Path.of("/proc/self/limits"));
    Long soft = live.limits().memlockBytes();
    String shown = soft != null && soft == LimitsReport.UNLIMITED ? "unlimited" : soft + "";
    assertTrue(limits.matches("(?s).*Max locked memory +" + shown + " .*"), limits);
  }
}
