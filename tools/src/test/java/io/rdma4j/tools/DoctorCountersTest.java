package io.rdma4j.tools;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.host.CounterReader;
import io.rdma4j.host.PortCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Counters of recorded machines: read tolerantly, compared, judged. */
final class DoctorCountersTest {
  private static final String IB = "sys/class/infiniband/";
  private static final String BOND = IB + "mlx5_bond_0/ports/1/";

  @TempDir Path temporary;
  private Path before = Path.of("");
  private Path after = Path.of("");

  @BeforeEach
  void name() {
    before = temporary.resolve("before");
    after = temporary.resolve("after");
  }

  private static PortCounters read(String tree, String device) throws IOException {
    return CounterReader.at(CaseTree.recorded(tree)).read().stream()
        .filter(port -> port.device().equals(device))
        .findFirst()
        .orElseThrow();
  }

  private CaseTree lossy() throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before);
    CaseTree.copyOf("mlx5-roce-loss/t0", after);
    return CaseTree.copyOf("mlx5-roce-loss/t1-overlay", after);
  }

  @Test
  void anOddDeviceCostsItsOwnValuesOnly() throws IOException {
    String tree = "i40iw-no-pma-plus-mlx5";
    PortCounters odd = read(tree, "i40iw0");
    assertEquals(16, odd.missing().size());
    assertTrue(odd.values().keySet().stream().allMatch(name -> name.startsWith("hw_counters/")));
    assertEquals(881123, odd.values().get("hw_counters/tcpInSegs"));
    PortCounters withoutFolder = read(tree, "irdma1");
    assertEquals(List.of(), withoutFolder.missing());
    assertEquals(12345678901L, withoutFolder.values().get("hw_counters/ip4InOctets"));
    PortCounters healthy = read(tree, "mlx5_0");
    assertEquals(List.of(), healthy.missing());
    assertEquals(41, healthy.values().size());
    assertEquals(25, healthy.values().get("counters/link_downed"));
    for (PortCounters port : List.of(odd, withoutFolder, healthy)) {
      assertEquals(10, port.lifespanMs());
      assertFalse(port.values().containsKey("hw_counters/lifespan"));
    }
    Doctor doctor = Doctor.json(CaseTree.recorded(tree));
    assertEquals(0, doctor.status);
    assertTrue(Doctor.text(doctor.finding("counters-unreadable"), "text").contains("16"));
    assertEquals(
        16, requireNonNull((List<?>) doctor.port("i40iw0").get("unreadableCounters")).size());
  }

  @Test
  void softwareDevice() throws IOException {
    PortCounters rxe = read("rxe-virtual", "rxe0");
    assertEquals(42112, rxe.values().get("hw_counters/sent_pkts"));
    assertEquals(15, rxe.values().size());
  }

  @Test
  void noDevicesAndNoFolderAreNoFailure() throws IOException {
    assertEquals(List.of(), CounterReader.at(temporary).read());
    CaseTree.empty(temporary).directory("sys/class/infiniband");
    assertEquals(List.of(), CounterReader.at(temporary).read());
  }

  @ParameterizedTest
  @CsvSource({"N/A (no PMA)", "-1", "''", "18446744073709551616", "0x10", "'1 2'"})
  void nonsenseIsLeftOut(String text) throws IOException {
    CaseTree tree = CaseTree.copyOf("mlx5-roce-loss/t0", temporary);
    tree.file(BOND + "hw_counters/out_of_sequence", text);
    PortCounters port = CounterReader.at(temporary).read().getFirst();
    assertFalse(port.values().containsKey("hw_counters/out_of_sequence"));
    assertEquals(1200, port.values().get("hw_counters/packet_seq_err"));
  }

  @Test
  void attributeThatFailsToRead() throws IOException {
    CaseTree tree = CaseTree.copyOf("mlx5-roce-loss/t0", temporary);
    tree.unreadable(BOND + "hw_counters/out_of_sequence");
    PortCounters port = CounterReader.at(temporary).read().getFirst();
    assertFalse(port.values().containsKey("hw_counters/out_of_sequence"));
    assertEquals(
        List.of("/" + BOND + "hw_counters/out_of_sequence"),
        port.missing().stream().map(missing -> missing.path()).toList());
  }

  @Test
  void lossOnAClassThatIsNotLossless() throws IOException {
    lossy();
    Doctor doctor = Doctor.compare(before, after);
    assertEquals(1, doctor.status);
    Map<String, Object> delta = doctor.delta("mlx5_bond_0");
    assertEquals(2_000_000, delta.get("sentBytes"));
    assertEquals(400_000, delta.get("receivedBytes"));
    Map<String, Object> increases = Doctor.map(delta, "increases");
    assertEquals(20, increases.get("hw_counters/out_of_sequence"));
    assertEquals(21, increases.get("hw_counters/packet_seq_err"));
    assertEquals(2, increases.get("hw_counters/local_ack_timeout_err"));
    assertEquals(330, increases.get("ethtool/rx_discards_phy"));
    assertEquals(
        Map.of("hw_counters/out_of_sequence", "wrapped"), Doctor.map(delta, "notPlainlyCounted"));
    Map<String, Object> finding = doctor.finding("packet-loss-not-lossless");
    assertEquals("warning", finding.get("severity"));
    assertTrue(Doctor.text(finding, "text").contains("no pause frame, no ECN mark and no CNP"));
    assertTrue(Doctor.text(finding, "evidence").contains("rx_discards_phy +330"));
    assertTrue(doctor.nextStep("packet-loss-not-lossless").contains("priority flow control"));
    assertFalse(doctor.findingIds().contains("watch-quiet"));
    assertFalse(doctor.findingIds().contains("peer-silent"), "loss explains the timeouts");
  }

  @Test
  void whatCannotBeReadIsSaidAndNotTakenForSilence() throws IOException {
    lossy().without("ethtool-S-bond0-slave.txt").without(BOND + "hw_counters/np_cnp_sent");
    Doctor doctor = Doctor.compare(before, after);
    String evidence = Doctor.text(doctor.finding("packet-loss-not-lossless"), "evidence");
    assertTrue(evidence.contains("not readable: pause frames"), evidence);
    assertFalse(evidence.contains("discards"), evidence);
    assertTrue(
        Doctor.text(doctor.finding("packet-loss-not-lossless"), "text")
            .contains("as far as can be seen"));
  }

  @Test
  void lossBesidePausesIsAnotherCase() throws IOException {
    lossy()
        .file(
            "ethtool-S-bond0-slave.txt",
            "NIC statistics:\n     rx_discards_phy: 500\n     rx_prio3_pause: 77");
    Doctor doctor = Doctor.compare(before, after);
    assertFalse(doctor.findingIds().contains("packet-loss-not-lossless"));
    assertTrue(
        Doctor.text(doctor.finding("packet-loss"), "text").contains("pause frames are seen"));
    assertEquals("info", doctor.finding("paused-by-network").get("severity"));
  }

  @Test
  void aLaterTreeMayHoldCountersAlone() throws IOException {
    Doctor doctor =
        Doctor.compare(
            CaseTree.recorded("mlx5-roce-loss/t0"), CaseTree.recorded("mlx5-roce-loss/t1-overlay"));
    assertEquals("ACTIVE", doctor.port("mlx5_bond_0").get("state"));
    assertEquals(
        20,
        Doctor.map(doctor.delta("mlx5_bond_0"), "increases").get("hw_counters/out_of_sequence"));
  }

  @Test
  void totalsRaiseNoAlarmAndIncreasesDo() throws IOException {
    CaseTree.copyOf("i40iw-no-pma-plus-mlx5", before);
    CaseTree later = CaseTree.copyOf("i40iw-no-pma-plus-mlx5", after);
    assertEquals(0, Doctor.json(before).status);
    Doctor same = Doctor.compare(before, after);
    assertEquals(0, same.status);
    assertTrue(same.findingIds().contains("watch-quiet"));
    later.file(IB + "mlx5_0/ports/1/counters/link_downed", "26");
    Doctor doctor = Doctor.compare(before, after);
    assertEquals(1, doctor.status);
    assertEquals("counters/link_downed +1", doctor.finding("link-went-down").get("evidence"));
    assertTrue(Doctor.text(doctor.finding("link-went-down"), "text").contains("mlx5_0 port 1"));
  }

  @ParameterizedTest
  @CsvSource({
    "hw_counters/out_of_buffer, receiver-not-ready, warning",
    "hw_counters/rnr_nak_retry_err, peer-not-ready, warning",
    "hw_counters/local_ack_timeout_err, peer-silent, warning",
    "hw_counters/np_ecn_marked_roce_packets, cnp-not-sent, warning",
    "hw_counters/rp_cnp_ignored, cnp-ignored, warning",
    "hw_counters/rp_cnp_handled, congestion-controlled, info",
    "hw_counters/req_remote_access_errors, access-refused, warning",
    "hw_counters/resp_remote_access_errors, access-refused, warning",
    "hw_counters/rx_icrc_encapsulated, link-errors, warning",
    "counters/symbol_error, link-errors, warning",
    "counters/port_xmit_discards, send-discards, warning",
    "counters/port_xmit_wait, send-waited, info",
    "counters/link_downed, link-went-down, warning",
  })
  void eachSignatureHasItsFinding(String counter, String finding, String severity)
      throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before);
    CaseTree later = CaseTree.copyOf("mlx5-roce-loss/t0", after);
    later.file(BOND + counter, "90");
    Doctor doctor = Doctor.compare(before, after);
    assertEquals(severity, doctor.finding(finding).get("severity"));
    assertTrue(Doctor.text(doctor.finding(finding), "evidence").contains(counter + " +"));
    assertEquals(severity.equals("warning") ? 1 : 0, doctor.status);
  }

  @ParameterizedTest
  @CsvSource({
    "tx_prio3_pause, slow-receiver",
    "tx_pause_storm_error_events, pause-storm",
    "outbound_pci_stalled_wr_events, pcie-stalled",
    "rx_prio3_pause, paused-by-network",
    "link_down_events_phy, link-went-down"
  })
  void ethtoolSignatures(String counter, String finding) throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before)
        .file("ethtool-S-bond0-slave.txt", "NIC statistics:\n     " + counter + ": 5");
    CaseTree.copyOf("mlx5-roce-loss/t0", after)
        .file("ethtool-S-bond0-slave.txt", "NIC statistics:\n     " + counter + ": 9");
    Doctor doctor = Doctor.compare(before, after);
    assertEquals("ethtool/" + counter + " +4", doctor.finding(finding).get("evidence"));
  }

  @Test
  void lateAnswersAreToldFromMissingOnes() throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before);
    CaseTree.copyOf("mlx5-roce-loss/t0", after)
        .file(BOND + "hw_counters/local_ack_timeout_err", "9")
        .file(BOND + "hw_counters/duplicate_request", "4");
    Doctor doctor = Doctor.compare(before, after);
    assertEquals("warning", doctor.finding("acks-late").get("severity"));
    assertFalse(doctor.findingIds().contains("peer-silent"));
  }

  @Test
  void countersThatWereCleared() throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before);
    CaseTree.copyOf("mlx5-roce-loss/t0", after)
        .file(BOND + "hw_counters/packet_seq_err", "0")
        .file(BOND + "hw_counters/out_of_sequence", "0");
    Doctor doctor = Doctor.compare(before, after);
    assertEquals(0, doctor.status);
    assertEquals(true, doctor.delta("mlx5_bond_0").get("reset"));
    assertTrue(
        Doctor.text(doctor.finding("counters-cleared"), "evidence").contains("packet_seq_err"));
    assertFalse(doctor.findingIds().contains("packet-loss"));
  }

  /** Two ports of one card: what befalls one says nothing of the other. */
  @Test
  void aFlapOfOnePortLeavesTheOtherAlone() throws IOException {
    for (Path root : List.of(before, after)) {
      CaseTree tree = CaseTree.copyOf("mlx5-roce-loss/t0", root);
      tree.file(IB + "mlx5_bond_0/ports/2/state", "4: ACTIVE")
          .file(IB + "mlx5_bond_0/ports/2/link_layer", "Ethernet")
          .file(IB + "mlx5_bond_0/ports/2/gids/0", "fe80:0000:0000:0000:0000:5eff:fe00:5399")
          .file(IB + "mlx5_bond_0/ports/2/counters/link_downed", "0");
    }
    CaseTree.empty(after)
        .file(IB + "mlx5_bond_0/ports/2/state", "1: DOWN")
        .file(IB + "mlx5_bond_0/ports/2/counters/link_downed", "1");
    Doctor doctor = Doctor.compare(before, after);
    assertTrue(Doctor.text(doctor.finding("port-went-down"), "text").contains("port 2"));
    assertTrue(Doctor.text(doctor.finding("link-went-down"), "text").contains("port 2"));
    assertFalse(doctor.text.contains("mlx5_bond_0 port 1 lost"));
    assertEquals(true, doctor.device("mlx5_bond_0").get("usable"));
  }

  /** After a flap the address stands at another index of the table. */
  @Test
  void anAddressThatMoved() throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before).file(BOND + "state", "1: DOWN");
    String empty = "0000:0000:0000:0000:0000:0000:0000:0000";
    CaseTree.copyOf("mlx5-roce-loss/t0", after)
        .file(BOND + "gids/2", empty)
        .file(BOND + "gids/3", empty)
        .file(BOND + "gids/5", "0000:0000:0000:0000:0000:ffff:c000:0206")
        .file(BOND + "gid_attrs/ndevs/5", "bond0");
    Doctor doctor = Doctor.compare(before, after);
    assertEquals(5, doctor.port("mlx5_bond_0").get("recommendedGidIndex"));
    assertEquals("info", doctor.finding("port-came-up").get("severity"));
    String text = Doctor.text(doctor.finding("gid-moved"), "text");
    assertTrue(text.contains("192.0.2.6 at GID index 5 now, it was 3"), text);
  }

  @Test
  void aDeviceThatIsGone() throws IOException {
    CaseTree.copyOf("i40iw-no-pma-plus-mlx5", before);
    CaseTree.copyOf("i40iw-no-pma-plus-mlx5", after).without(IB + "irdma1");
    Doctor doctor = Doctor.compare(before, after);
    assertEquals("error", doctor.finding("device-gone").get("severity"));
    assertEquals(1, doctor.status, "others can be used");
    assertEquals(2, doctor.devices().size());
  }

  @Test
  void theOnlyPortGoesDown() throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before);
    CaseTree.copyOf("mlx5-roce-loss/t0", after).file(BOND + "state", "1: DOWN");
    assertEquals(2, Doctor.compare(before, after).status);
  }

  @Test
  void watchReadsTwice() throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before);
    Doctor doctor =
        Doctor.run(false, "doctor", "--json", "--watch=0.1", "--root", before.toString());
    assertEquals(0, doctor.status, doctor.error);
    assertTrue(
        requireNonNull((Number) doctor.object("comparison").get("seconds")).doubleValue() >= 0.1);
    assertTrue(doctor.findingIds().contains("watch-quiet"));
    Doctor text = Doctor.run(false, "doctor", "--watch", "0.1", "--root", before.toString());
    assertTrue(text.text.contains("\nBetween the readings (0."), text.text);
  }

  @Test
  void withoutASecondReadingThereIsNoComparison() {
    assertNull(Doctor.json(CaseTree.recorded("rxe-virtual")).json().get("comparison"));
  }

  @Test
  void wrongUseOfTheSecondReading() throws IOException {
    CaseTree.copyOf("mlx5-roce-loss/t0", before);
    String root = before.toString();
    assertEquals(64, Doctor.run(false, "doctor", "--then", root).status);
    assertEquals(
        64, Doctor.run(false, "doctor", "--root", root, "--then", root, "--watch=1").status);
    for (String seconds : List.of("0", "-1", "NaN", "1e9", "soon")) {
      assertEquals(64, Doctor.run(false, "doctor", "--watch=" + seconds).status, seconds);
    }
    Doctor empty = Doctor.run(false, "doctor", "--root", root, "--then", temporary.toString());
    assertEquals(64, empty.status);
    assertTrue(empty.error.contains("no sys/class/infiniband"), empty.error);
  }
}
