package io.rdma4j.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Topology, control groups, namespaces, settings and odd names. */
final class DoctorHostTest {
  private static final String MLX = "sys/class/infiniband/mlx5_0/";

  @TempDir Path temporary;

  private CaseTree roce() throws IOException {
    return CaseTree.copyOf("mlx5-roce-loss/t0", temporary);
  }

  private CaseTree container() throws IOException {
    return CaseTree.copyOf("container-partial-uverbs", temporary);
  }

  @Test
  void cardOnANodeWithoutMemory() throws IOException {
    CaseTree.copyOf("numa/4node-2-without-memory", temporary);
    CaseTree tree = CaseTree.copyOf("vm-vf-numa-minus1", temporary);
    CaseTree.copyOf("numa/4node-2-without-memory", temporary);
    tree.file(MLX + "device/numa_node", "0");
    Doctor doctor = Doctor.json(temporary);
    assertEquals(4, doctor.json().get("numaNodes"));
    assertEquals(0, doctor.device("mlx5_0").get("numaNode"));
    String text = Doctor.text(doctor.finding("numa-node-without-memory"), "text");
    assertTrue(text.contains("nearest that has some is node "), text);
    assertTrue(Doctor.text(temporary).text.contains(", without memory: "));
  }

  @ParameterizedTest
  @CsvSource({"-1", "''", "one", "99999999999"})
  void nodeThatIsNoNode(String node) throws IOException {
    CaseTree tree = CaseTree.copyOf("vm-vf-numa-minus1", temporary);
    tree.file(MLX + "device/numa_node", node);
    Doctor doctor = Doctor.json(temporary);
    assertNull(doctor.device("mlx5_0").get("numaNode"), node);
    assertFalse(doctor.findingIds().contains("numa-node-without-memory"));
  }

  @Test
  void quotasOfTheControlGroup() throws IOException {
    Doctor doctor = Doctor.json(CaseTree.recorded("container-partial-uverbs"));
    Map<String, Object> quota = Doctor.list(doctor.object("limits"), "rdmaQuotas").getFirst();
    assertEquals("mlx5_0", quota.get("device"));
    assertEquals("unlimited", quota.get("maxHandles"));
    assertEquals(12, quota.get("usedObjects"));
    assertEquals(2, doctor.object("limits").get("cgroupVersion"));
  }

  @Test
  void quotaThatIsSpent() throws IOException {
    CaseTree tree = container();
    tree.file("sys/fs/cgroup/rdma.max", "mlx5_0 hca_handle=1 hca_object=40");
    Doctor doctor = Doctor.json(temporary);
    assertEquals(false, doctor.device("mlx5_0").get("usable"));
    assertEquals("warning", doctor.finding("rdma-quota-spent").get("severity"));
    assertTrue(Doctor.text(doctor.finding("rdma-quota-low"), "text").contains("leaves 28 objects"));
    assertEquals(true, doctor.device("mlx5_2").get("usable"));
  }

  @Test
  void theTightestGroupOnTheWayToTheRootCounts() throws IOException {
    container()
        .file("proc/self/cgroup", "0::/pod/app")
        .file("sys/fs/cgroup/pod/memory.max", "1073741824")
        .file("sys/fs/cgroup/pod/memory.current", "4096")
        .file("sys/fs/cgroup/pod/app/memory.max", "max")
        .file("sys/fs/cgroup/pod/rdma.max", "mlx5_2 hca_handle=9 hca_object=1000")
        .file("sys/fs/cgroup/pod/app/rdma.max", "mlx5_2 hca_handle=max hca_object=500");
    Doctor doctor = Doctor.json(temporary);
    assertEquals(1 << 30, doctor.object("limits").get("cgroupMemoryBytes"));
    assertTrue(Doctor.text(doctor.finding("cgroup-memory"), "evidence").contains("4 KiB"));
    Map<String, Object> quota = Doctor.list(doctor.object("limits"), "rdmaQuotas").getLast();
    assertEquals("mlx5_2", quota.get("device"));
    assertEquals(9, quota.get("maxHandles"));
    assertEquals(500, quota.get("maxObjects"));
  }

  @Test
  void controlGroupsOfVersion1() throws IOException {
    container()
        .without("sys/fs/cgroup/rdma.max")
        .without("sys/fs/cgroup/rdma.current")
        .file("proc/self/cgroup", "9:rdma:/docker/abc\n4:cpu,memory:/docker/abc")
        .file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712")
        .file("sys/fs/cgroup/rdma/rdma.max", "mlx5_0 hca_handle=3 hca_object=max");
    Doctor doctor = Doctor.json(temporary);
    assertEquals(1, doctor.object("limits").get("cgroupVersion"));
    assertEquals("unlimited", doctor.object("limits").get("cgroupMemoryBytes"));
    Map<String, Object> quota = Doctor.list(doctor.object("limits"), "rdmaQuotas").getFirst();
    assertEquals(3, quota.get("maxHandles"), "the mount of a container shows its own group");
  }

  @Test
  void networkDeviceInAnotherNamespace() throws IOException {
    roce().file("sys/class/net/eth0/mtu", "1500");
    Doctor doctor = Doctor.json(temporary);
    assertTrue(Doctor.text(doctor.finding("netdev-not-visible"), "text").startsWith("bond0, "));
    roce().file("sys/class/net/bond0/mtu", "9000");
    assertFalse(Doctor.json(temporary).findingIds().contains("netdev-not-visible"));
  }

  @ParameterizedTest
  @CsvSource({
    "16.0 GT/s PCIe, 16, false",
    "16.0 GT/s PCIe, 8, true",
    "8.0 GT/s PCIe, 16, true",
    "Unknown, 16, false",
    "16.0 GT/s PCIe, 0, false"
  })
  void slotOfTheCard(String speed, String width, boolean degraded) throws IOException {
    String dir = "sys/class/infiniband/mlx5_bond_0/device/";
    roce()
        .file(dir + "max_link_speed", "16.0 GT/s PCIe")
        .file(dir + "max_link_width", "16")
        .file(dir + "current_link_speed", speed)
        .file(dir + "current_link_width", width);
    assertEquals(degraded, Doctor.json(temporary).findingIds().contains("pcie-degraded"));
  }

  @Test
  void signsOfFlowAndCongestionControl() throws IOException {
    roce()
        .file("sys/class/net/bond0/mtu", "9000")
        .file("sys/class/net/bond0/qos/trust", "dscp")
        .file("sys/class/net/bond0/ecn/roce_np/enable/3", "1")
        .file("sys/class/net/bond0/ecn/roce_np/enable/4", "0")
        .file("sys/class/net/bond0/ecn/roce_rp/enable/3", "1")
        .file("sys/class/infiniband/mlx5_bond_0/tc/1/traffic_class", "Global tclass=106");
    Doctor doctor = Doctor.json(temporary);
    assertEquals(0, doctor.status);
    String evidence = Doctor.text(doctor.finding("advice-roce"), "evidence");
    for (String sign :
        List.of(
            "priority 3", "by dscp", "on priorities [3]", "DSCP 26", "ECN marks since start 0")) {
      assertTrue(evidence.contains(sign), evidence);
    }
    assertTrue(doctor.nextStep("advice-roce").contains("DSCP"));
    assertEquals(26, Doctor.map(doctor.port("mlx5_bond_0"), "roce").get("dscp"));
  }

  @Test
  void settingsThatContradictEachOther() throws IOException {
    roce()
        .file("sys/class/net/bond0/mtu", "9000")
        .file("sys/class/net/bond0/qos/trust", "pcp")
        .file("sys/class/net/bond0/ecn/roce_np/enable/3", "1")
        .file("sys/class/net/bond0/ecn/roce_rp/enable/3", "0");
    Doctor doctor = Doctor.json(temporary);
    assertEquals("warning", doctor.finding("roce-trust-pcp").get("severity"));
    assertEquals("warning", doctor.finding("dcqcn-one-sided").get("severity"));
  }

  @Test
  void adviceFollowsWhatIsThere() {
    Doctor mixed = Doctor.json(CaseTree.recorded("i40iw-no-pma-plus-mlx5"));
    for (String transport : List.of("infiniband", "roce", "iwarp")) {
      assertEquals("info", mixed.finding("advice-" + transport).get("severity"));
    }
    assertTrue(Doctor.text(mixed.finding("advice-iwarp"), "text").contains("rdma_cm only"));
    assertEquals(
        List.of("advice-infiniband"),
        Doctor.json(CaseTree.recorded("mlx5-ib-2socket")).findingIds().stream()
            .filter(id -> id.toString().startsWith("advice-"))
            .toList());
    assertFalse(Doctor.json(CaseTree.recorded("rxe-virtual")).findingIds().contains("advice-roce"));
  }

  @Test
  void cardsOfOneModelWithTwoFirmwares() throws IOException {
    container().file("sys/class/infiniband/mlx5_2/fw_ver", "1.2.3");
    Doctor doctor = Doctor.json(temporary);
    assertTrue(Doctor.text(doctor.finding("firmware-differs"), "evidence").contains("1.2.3"));
  }

  /** Names of other machines reach JSON as they are, and a terminal without harm. */
  @ParameterizedTest
  @ValueSource(strings = {"rack-7\"a", "c:\\temp", "two\nlines", "ü", "\u001b[31mred", "tab\there"})
  void oddNames(String name) throws IOException {
    String dir = "sys/class/infiniband/" + name + "/";
    CaseTree.empty(temporary)
        .file(dir + "node_type", "1: CA")
        .file(dir + "ports/1/state", "4: ACTIVE")
        .file(dir + "ports/1/link_layer", "InfiniBand")
        .file(dir + "ports/1/gids/0", "fe80:0000:0000:0000:0200:0003:00aa:0010");
    Doctor json = Doctor.json(temporary);
    assertEquals(name, json.devices().getFirst().get("name"));
    Doctor text = Doctor.text(temporary);
    assertFalse(text.text.contains("\u001b") || text.text.contains("\t"), text.text);
    assertTrue(text.text.contains(name.equals("two\nlines") ? "two<0a>lines" : "usable"));
  }
}
