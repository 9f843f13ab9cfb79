package io.rdma4j.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the doctor says when something is missing or broken. */
final class DoctorFaultsTest {
  private static final String PORT = "sys/class/infiniband/mlx5_0/ports/1/";

  @TempDir Path temporary;

  private CaseTree container() throws IOException {
    return CaseTree.copyOf("container-partial-uverbs", temporary);
  }

  private static void assertUnusable(Doctor doctor, String findingId) {
    assertEquals(2, doctor.status, doctor.text);
    assertTrue(
        doctor.devices().stream().noneMatch(device -> Boolean.TRUE.equals(device.get("usable"))),
        doctor.text);
    assertEquals("error", doctor.finding(findingId).get("severity"));
  }

  @Test
  void noDeviceNodesAtAll() throws IOException {
    Doctor doctor = Doctor.json(container().without("dev/infiniband").root());
    assertUnusable(doctor, "uverbs-node-missing");
    assertTrue(doctor.nextStep("rdma-cm-node-missing").contains("modprobe rdma_ucm"));
  }

  @Test
  void noConnectionManagerNode() throws IOException {
    Doctor doctor = Doctor.json(container().without("dev/infiniband/rdma_cm").root());
    assertUnusable(doctor, "rdma-cm-node-missing");
  }

  @Test
  void kernelGaveTheDeviceNoNode() throws IOException {
    Doctor doctor = Doctor.json(container().without("sys/class/infiniband_verbs/uverbs0").root());
    assertEquals(false, doctor.device("mlx5_0").get("usable"));
    assertEquals("absent", doctor.device("mlx5_0").get("nodeState"));
    assertNull(doctor.device("mlx5_0").get("node"));
  }

  @Test
  void librariesNotInstalled() throws IOException {
    Doctor doctor = Doctor.json(container().directory("usr/lib/x86_64-linux-gnu").root());
    assertUnusable(doctor, "library-missing");
    assertTrue(doctor.nextStep("library-missing").contains("apt install libibverbs1 librdmacm1"));
    assertTrue(doctor.nextStep("library-missing").contains("dnf install libibverbs librdmacm"));
    assertEquals(
        List.of("libibverbs.so.1 is not installed.", "librdmacm.so.1 is not installed."),
        doctor.device("mlx5_0").get("reasons"));
  }

  @Test
  void providerOfTheCardNotInstalled() throws IOException {
    CaseTree tree =
        container()
            .file("usr/lib64/libibverbs.so.1.14.44.0", "")
            .link("usr/lib64/libibverbs.so.1", "libibverbs.so.1.14.44.0")
            .file("usr/lib64/librdmacm.so.1", "")
            .file("usr/lib64/libibverbs/librxe-rdmav34.so", "")
            .link("usr/lib64/libibverbs/libmlx5-rdmav34.so", "../libmlx5.so.1");
    Doctor doctor = Doctor.json(tree.root());
    assertUnusable(doctor, "provider-missing");
    assertTrue(doctor.nextStep("provider-missing").contains("ibverbs-providers"));
    tree.file("usr/lib64/libmlx5.so.1", "");
    Doctor repaired = Doctor.json(tree.root());
    assertEquals(1, repaired.status);
    assertEquals("1.14.44.0", Doctor.list(repaired.json(), "libraries").getFirst().get("version"));
  }

  @Test
  void absoluteLinksStayInsideTheTree() throws IOException {
    CaseTree tree =
        container()
            .link("usr/lib", "/usr/lib")
            .link("usr/lib64", temporary.resolve("outside").toString())
            .link("etc", "/etc");
    Doctor doctor = Doctor.json(tree.root());
    assertNull(Doctor.list(doctor.json(), "libraries").getFirst().get("found"));
    assertEquals(2, Doctor.list(doctor.json(), "libraries").size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"1: DOWN", "2: INIT", "3: ARMED"})
  void portNotActive(String state) throws IOException {
    Doctor doctor = Doctor.json(container().file(PORT + "state", state).root());
    Map<String, Object> device = doctor.device("mlx5_0");
    assertEquals(false, device.get("usable"));
    assertTrue(Doctor.text(device, "reasons").contains(state.substring(3)), doctor.text);
    assertEquals("warning", doctor.finding("port-not-active").get("severity"));
    assertEquals(state.contains("INIT"), doctor.nextStep("port-not-active").contains("opensm"));
  }

  @Test
  void portStateThatCannotBeRead() throws IOException {
    Doctor doctor = Doctor.json(container().unreadable(PORT + "state").root());
    assertEquals(false, doctor.device("mlx5_0").get("usable"));
    assertNull(doctor.port("mlx5_0").get("state"));
    assertTrue(
        Doctor.text(doctor.finding("unreadable"), "evidence").contains("/" + PORT + "state"));
  }

  @Test
  void gidAttributesThatCannotBeReadAreOrdinary() throws IOException {
    CaseTree tree = CaseTree.copyOf("mlx5-roce-loss/t0", temporary);
    tree.unreadable("sys/class/infiniband/mlx5_bond_0/ports/1/gid_attrs/types/3");
    Doctor doctor = Doctor.json(tree.root());
    assertNull(doctor.gids("mlx5_bond_0").get(3).get("type"));
    assertEquals(5, doctor.port("mlx5_bond_0").get("recommendedGidIndex"));
    assertFalse(doctor.findingIds().contains("unreadable"));
  }

  @Test
  void globalIpv6GoesBeforeLinkLocal() throws IOException {
    CaseTree tree = CaseTree.copyOf("vm-vf-numa-minus1", temporary);
    String port = "sys/class/infiniband/mlx5_0/ports/1/";
    tree.without(port + "gid_attrs/types/2")
        .without(port + "gid_attrs/types/3")
        .file(port + "gids/2", "2001:0db8:0000:0000:0000:0000:0000:0007")
        .file(port + "gid_attrs/types/2", "IB/RoCE v1")
        .file(port + "gids/3", "2001:0db8:0000:0000:0000:0000:0000:0007")
        .file(port + "gid_attrs/types/3", "RoCE v2");
    Doctor doctor = Doctor.json(tree.root());
    assertEquals(3, doctor.port("mlx5_0").get("recommendedGidIndex"));
    assertFalse(doctor.findingIds().contains("gid-link-local"));
  }

  @Test
  void roceV1OnlyIsAWarning() throws IOException {
    CaseTree tree = CaseTree.copyOf("vm-vf-numa-minus1", temporary);
    tree.file("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "IB/RoCE v1");
    Doctor doctor = Doctor.json(tree.root());
    assertEquals(0, doctor.port("mlx5_0").get("recommendedGidIndex"));
    assertEquals("warning", doctor.finding("gid-not-roce-v2").get("severity"));
  }

  @Test
  void rocePortWithoutAddress() throws IOException {
    CaseTree tree = CaseTree.copyOf("vm-vf-numa-minus1", temporary);
    tree.without("sys/class/infiniband/mlx5_0/ports/1/gids");
    Doctor doctor = Doctor.json(tree.root());
    assertUnusable(doctor, "gid-missing");
    assertTrue(doctor.nextStep("gid-missing").contains("ip addr add"));
  }

  @Test
  void memlockTooLowForOneRegistrationWithoutTheCapability() throws IOException {
    CaseTree tree = CaseTree.copyOf("vm-vf-numa-minus1", temporary);
    tree.file("proc/self/status", "Name:\tjava\nCapEff:\t0000000000000000");
    assertUnusable(Doctor.json(tree.root()), "memlock-too-low");
    tree.file("proc/self/status", "Name:\tjava\nCapEff:\t0000000000004000");
    Doctor lifted = Doctor.json(tree.root());
    assertEquals(true, lifted.device("mlx5_0").get("usable"));
    assertFalse(lifted.findingIds().contains("memlock-low"));
    tree.file("proc/self/uid_map", "         0       1000          1");
    assertUnusable(Doctor.json(tree.root()), "memlock-too-low");
  }

  @Test
  void treeThatLostItsLinks() throws IOException {
    CaseTree tree =
        CaseTree.empty(temporary)
            .file("sys/class/infiniband/mlx5_0", "../../devices/pci0000:17/infiniband/mlx5_0");
    Doctor doctor = Doctor.json(tree.root());
    assertUnusable(doctor, "no-port");
    assertTrue(doctor.nextStep("no-port").contains("symbolic links"));
  }

  @Test
  void emptyRootKnowsNothing() throws IOException {
    Doctor doctor = Doctor.json(temporary);
    assertUnusable(doctor, "no-device");
    assertEquals(List.of(), doctor.devices());
    assertNull(doctor.json().get("deviceNodes"));
    assertNull(doctor.json().get("kernelModules"));
    assertNull(doctor.json().get("numaNodes"));
    assertNull(doctor.object("limits").get("memlockBytes"));
    assertNull(doctor.object("limits").get("ipcLock"));
    assertNull(doctor.object("hugePages").get("pools"));
    assertNull(doctor.object("hugePages").get("transparent"));
    Doctor.list(doctor.json(), "libraries").forEach(library -> assertNull(library.get("found")));
    assertEquals(List.of("no-device", "not-in-tree"), doctor.findingIds());
  }

  @Test
  void jsonHasEveryKeyInItsPlace() throws IOException {
    Doctor doctor = Doctor.json(container().root());
    assertEquals(
        "[devices, limits, libraries, hugePages, deviceNodes, kernelModules, numaNodes,"
            + " comparison, findings]",
        doctor.json().keySet().toString());
    assertEquals(
        "[name, transport, numaNode, usable, reasons, firmware, model, driver, software, node,"
            + " nodeState, pcie, ports]",
        doctor.device("mlx5_1").keySet().toString());
    assertEquals(
        "[port, state, linkLayer, rate, mtu, mtuSource, gids, recommendedGidIndex, netdev,"
            + " roce, counters, unreadableCounters]",
        doctor.port("mlx5_1").keySet().toString());
    assertEquals(
        "[index, type, gid, netdev]", doctor.gids("mlx5_1").getFirst().keySet().toString());
    assertEquals(
        "[id, severity, text, evidence, nextStep]",
        doctor.findings().getFirst().keySet().toString());
  }

  @Test
  void wrongCommandLineIsNoAnswer() {
    assertEquals(64, Doctor.run(false, "doctor", "--nonsense").status);
    assertEquals(64, Doctor.run(false, "no-such-command").status);
    assertEquals(64, Doctor.run(false).status);
    Doctor missing = Doctor.text(temporary.resolve("missing"));
    assertEquals(64, missing.status);
    assertTrue(missing.error.contains("missing is not a directory"), missing.error);
    assertEquals("", missing.text);
  }

  @Test
  void helpAndVersion() {
    assertEquals(0, Doctor.run(false, "--help").status);
    Doctor help = Doctor.run(false, "doctor", "--help");
    assertEquals(0, help.status);
    assertTrue(help.text.contains("--root"), help.text);
    Doctor version = Doctor.run(false, "--version");
    assertEquals(0, version.status);
    assertTrue(version.text.startsWith("rdma4j "), version.text);
  }

  @Test
  void thisMachineWithoutADeviceIsToldWhatToDo() {
    assumeFalse(
        Files.exists(Path.of("/sys/class/infiniband")), "this machine lists RDMA devices itself");
    Doctor doctor = Doctor.run(false, "doctor");
    assertEquals(2, doctor.status);
    assertTrue(doctor.text.startsWith("This machine: RDMA cannot be used"), doctor.text);
    assertTrue(doctor.text.contains("modprobe rdma_rxe"), doctor.text);
    assertTrue(doctor.text.contains("--device=/dev/infiniband"), doctor.text);
  }
}
