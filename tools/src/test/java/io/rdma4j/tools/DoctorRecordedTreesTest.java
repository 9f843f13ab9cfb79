package io.rdma4j.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the doctor says of recorded machines. */
final class DoctorRecordedTreesTest {
  @TempDir Path temporary;

  private static Doctor examine(String tree) {
    return Doctor.json(CaseTree.recorded(tree));
  }

  private static List<Object> each(Doctor doctor, String key) {
    List<Object> values = new ArrayList<>();
    doctor.devices().forEach(device -> values.add(device.get(key)));
    return values;
  }

  private static List<Object> eachGid(Doctor doctor, String device, String key) {
    List<Object> values = new ArrayList<>();
    doctor.gids(device).forEach(gid -> values.add(gid.get(key)));
    return values;
  }

  @Test
  void containerWithNodesForTwoOfFourDevices() {
    Doctor doctor = examine("container-partial-uverbs");
    assertEquals(1, doctor.status);
    assertEquals(List.of("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"), each(doctor, "name"));
    assertEquals(List.of(true, false, true, false), each(doctor, "usable"));
    assertEquals(List.of(0, 0, 1, 1), each(doctor, "numaNode"));
    assertEquals(List.of(), doctor.device("mlx5_2").get("reasons"));
    assertEquals(
        List.of("sysfs lists mlx5_3, but /dev/infiniband/uverbs3 is missing."),
        doctor.device("mlx5_3").get("reasons"));
    assertEquals("warning", doctor.finding("uverbs-node-missing").get("severity"));
    assertTrue(doctor.nextStep("uverbs-node-missing").contains("--device=/dev/infiniband/uverbs1"));
    assertEquals(67108864, doctor.object("limits").get("memlockBytes"));
  }

  @Test
  void threeTransportsSideBySide() {
    Doctor doctor = examine("i40iw-no-pma-plus-mlx5");
    assertEquals(0, doctor.status);
    assertEquals(List.of("i40iw0", "irdma1", "mlx5_0"), each(doctor, "name"));
    assertEquals(List.of("iWARP", "RoCE", "InfiniBand"), each(doctor, "transport"));
    assertEquals(List.of(true, true, true), each(doctor, "usable"));
    assertNull(doctor.device("i40iw0").get("firmware"));
    assertEquals("1.60", doctor.device("irdma1").get("firmware"));
    assertNull(doctor.port("i40iw0").get("recommendedGidIndex"));
    assertEquals(List.of("iWARP"), eachGid(doctor, "i40iw0", "type"));
    assertEquals(1, doctor.port("irdma1").get("recommendedGidIndex"));
    assertEquals(0, doctor.port("mlx5_0").get("recommendedGidIndex"));
  }

  @Test
  void infiniBandCardsOnTwoSockets() {
    Doctor doctor = examine("mlx5-ib-2socket");
    assertEquals(0, doctor.status);
    assertEquals(List.of(0, 1), each(doctor, "numaNode"));
    assertEquals(2, doctor.json().get("numaNodes"));
    assertEquals("unlimited", doctor.object("limits").get("memlockBytes"));
    assertEquals(List.of(0), eachGid(doctor, "mlx5_1", "index"));
    assertEquals(List.of("InfiniBand"), eachGid(doctor, "mlx5_1", "type"));
    assertNull(doctor.gids("mlx5_1").getFirst().get("netdev"));
    assertNull(doctor.port("mlx5_1").get("mtu"));
    assertEquals("ACTIVE", doctor.port("mlx5_1").get("state"));
    assertEquals("InfiniBand", doctor.port("mlx5_1").get("linkLayer"));
  }

  @Test
  void roceTakesTheFirstIpv4AddressOfVersion2() {
    Doctor doctor = examine("mlx5-roce-loss/t0");
    assertEquals(0, doctor.status);
    assertEquals(List.of(0, 1, 2, 3, 4, 5), eachGid(doctor, "mlx5_bond_0", "index"));
    assertEquals(
        List.of("RoCE v1", "RoCE v2", "RoCE v1", "RoCE v2", "RoCE v1", "RoCE v2"),
        eachGid(doctor, "mlx5_bond_0", "type"));
    assertEquals("bond0.120", doctor.gids("mlx5_bond_0").get(5).get("netdev"));
    assertEquals(3, doctor.port("mlx5_bond_0").get("recommendedGidIndex"));
    assertNull(doctor.object("limits").get("memlockBytes"));
  }

  @ParameterizedTest
  @CsvSource({"1500, 1024", "4200, 4096", "9000, 4096", "4191, 2048", "352, 256"})
  void rocePathMtuFollowsTheEthernetMtu(int ethernetMtu, int pathMtu) throws IOException {
    CaseTree tree = CaseTree.copyOf("mlx5-roce-loss/t0", temporary);
    tree.file("sys/class/net/bond0/mtu", Integer.toString(ethernetMtu));
    Doctor doctor = Doctor.json(tree.root());
    Map<String, Object> port = doctor.port("mlx5_bond_0");
    assertEquals(pathMtu, port.get("mtu"));
    assertEquals("from bond0 MTU " + ethernetMtu, port.get("mtuSource"));
    assertEquals(pathMtu < 4096, doctor.findingIds().contains("mtu-small"));
  }

  @Test
  void ethernetMtuBelowAnyPathMtu() throws IOException {
    CaseTree tree = CaseTree.copyOf("mlx5-roce-loss/t0", temporary);
    tree.file("sys/class/net/bond0/mtu", "351");
    assertNull(Doctor.json(tree.root()).port("mlx5_bond_0").get("mtu"));
  }

  @Test
  void softRoceHasNoHardwareBehindIt() {
    Doctor doctor = examine("rxe-virtual");
    assertEquals(1, doctor.status);
    Map<String, Object> device = doctor.device("rxe0");
    assertEquals("RoCE", device.get("transport"));
    assertNull(device.get("numaNode"));
    assertNull(device.get("firmware"));
    assertEquals(true, device.get("software"));
    assertEquals(true, device.get("usable"));
    assertEquals(1, doctor.port("rxe0").get("recommendedGidIndex"));
    assertEquals("info", doctor.finding("software-device").get("severity"));
    assertEquals("warning", doctor.finding("memlock-low").get("severity"));
  }

  @Test
  void virtualFunctionWithoutNumaNodeAndWithLinkLocalAddressesOnly() {
    Doctor doctor = examine("vm-vf-numa-minus1");
    assertEquals(1, doctor.status);
    assertNull(doctor.device("mlx5_0").get("numaNode"));
    assertEquals(1, doctor.port("mlx5_0").get("recommendedGidIndex"));
    assertEquals(65536, doctor.object("limits").get("memlockBytes"));
    assertTrue(doctor.nextStep("gid-link-local").contains("enp0s7"));
    assertTrue(doctor.nextStep("memlock-low").contains("LimitMEMLOCK=infinity"));
  }

  @ParameterizedTest
  @CsvSource({"8MiB, 8388608, true", "64KiB, 65536, true", "unlimited, unlimited, false"})
  void memlockLimit(String file, String bytes, boolean low) throws IOException {
    CaseTree tree = CaseTree.copyOf("mlx5-ib-2socket", temporary);
    tree.file(
        "proc/self/limits",
        Files.readString(CaseTree.recorded("limits").resolve(file + ".limits")));
    Doctor doctor = Doctor.json(tree.root());
    assertEquals(bytes, Doctor.text(doctor.object("limits"), "memlockBytes"));
    assertEquals(low, doctor.findingIds().contains("memlock-low"));
    assertEquals(low ? 1 : 0, doctor.status);
  }

  @Test
  void textListsDevicesBeforeFindingsAndHasNoEscapesWithoutATerminal() {
    Doctor doctor = Doctor.text(CaseTree.recorded("container-partial-uverbs"));
    assertEquals(1, doctor.status);
    assertTrue(
        doctor.text.startsWith("This tree: RDMA can be used, with warnings: 2 of 4 devices"));
    assertTrue(doctor.text.indexOf("\nDevices") < doctor.text.indexOf("\nFindings"));
    assertTrue(
        doctor.text.contains(
            "because sysfs lists mlx5_1, but /dev/infiniband/uverbs1 is missing."));
    assertFalse(doctor.text.contains("\u001b"));
    assertTrue(doctor.text.lines().allMatch(line -> line.length() <= 110), doctor.text);
  }

  @Test
  void coloursOnATerminal() {
    String root = CaseTree.recorded("container-partial-uverbs").toString();
    assertTrue(Doctor.run(true, "doctor", "--root", root).text.contains("\u001b["));
    assertFalse(Doctor.run(true, "doctor", "--json", "--root", root).text.contains("\u001b"));
  }
}
