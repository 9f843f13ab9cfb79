package io.rdma4j.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.Cause;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Events become incidents, on a clock that the test moves. */
final class WatchTest {
  private static final long MS = 1_000_000L;
  private static final String PEER_A = "192.0.2.7:7400";
  private static final String PEER_B = "192.0.2.8:7400";
  private static final EventSubject FIRST = EventSubject.queuePair("mlx5_0", 1, 7).of(1, PEER_A);
  private static final EventSubject SECOND = EventSubject.queuePair("mlx5_0", 1, 8).of(2, PEER_A);
  private static final EventSubject OTHER_PEER =
      EventSubject.queuePair("mlx5_0", 1, 9).of(3, PEER_B);
  private static final EventSubject OTHER_PORT =
      EventSubject.queuePair("mlx5_0", 2, 10).of(4, PEER_B);

  @TempDir private Path root;
  private long nowNs = 1_000_000 * MS;
  private final EventJournal journal = EventJournal.inMemory(() -> nowNs);
  private final List<Incident> heard = new ArrayList<>();

  private Watch watch() {
    journal.listen(heard::add);
    return new Watch(journal, facts -> {}, () -> nowNs, HostSource.at(root), ns -> {});
  }

  private void pass(Watch watch, long ms) {
    for (long end = nowNs + ms * MS; nowNs < end; ) {
      nowNs += 50 * MS;
      watch.step(nowNs);
    }
  }

  private Incident only() {
    List<Incident> incidents = journal.incidents();
    assertEquals(1, incidents.size(), incidents.toString());
    return incidents.getFirst();
  }

  private static String causeOf(Incident incident) {
    return incident.cause().map(Cause::id).orElse("unknown");
  }

  private void completionError(EventSubject subject, int status, int vendor, int followers) {
    journal.emit(
        EventKind.COMPLETION_ERROR, subject, status, vendor, followers, "status " + status);
  }

  /** Field case O-19: one real error among 31 flushes, and one incident with one line. */
  @Test
  void oneBrokenConnectionIsOneIncident() {
    Watch watch = watch();
    completionError(FIRST, 12, 129, 31);
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "queue pair 7: retries exceeded");
    watch.step(nowNs);
    assertEquals(1, heard.size(), "heard at once");
    pass(watch, 7000);
    Incident incident = only();
    assertEquals(Incident.State.CLOSED, incident.state());
    assertEquals(31, incident.flushedRequests());
    assertEquals(2, incident.events().size(), "flushes are no events of their own");
    assertEquals(List.of(1L), incident.connections());
    assertEquals(FIRST, incident.subject());
    assertTrue(incident.headline().contains("31 requests flushed"), incident.headline());
    assertTrue(incident.headline().contains("queue pair 7"), incident.headline());
  }

  @Test
  void faultsOfTwoConnectionsAreApart() {
    Watch watch = watch();
    completionError(FIRST, 10, 0x88, 3);
    completionError(OTHER_PEER, 13, 0x87, 4);
    pass(watch, 1500);
    assertEquals(
        List.of("remote-access", "peer-not-ready"),
        journal.incidents().stream().map(WatchTest::causeOf).toList());
  }

  /** Such as an overrun of a queue that is gone meanwhile, or a counter of the port that grows. */
  @ParameterizedTest
  @EnumSource(names = {"SYMPTOM", "CQ_ERR", "QP_FATAL"})
  void whatNamesNothingButThePortMakesNoIncidentsOne(EventKind kind) {
    Watch watch = watch();
    completionError(FIRST, 10, 0x88, 3);
    completionError(OTHER_PEER, 13, 0x87, 4);
    pass(watch, 100);
    journal.emit(kind, EventSubject.device("mlx5_0", 1), "");
    pass(watch, 10_000);
    List<Incident> incidents = journal.incidents();
    assertEquals(
        List.of(Incident.State.CLOSED, Incident.State.CLOSED),
        incidents.stream().map(Incident::state).toList());
    assertEquals("remote-access", causeOf(incidents.getFirst()));
    assertEquals(List.of(1, 2), incidents.stream().map(i -> i.events().size()).toList());
  }

  @Test
  void aKilledPeerIsOneIncidentWhateverNumberOfConnections() {
    Watch watch = watch();
    journal.emit(EventKind.PEER_SOCKET_CLOSED, FIRST, "");
    journal.emit(EventKind.PEER_SOCKET_CLOSED, SECOND, "");
    pass(watch, 3500);
    completionError(FIRST, 12, 0x81, 17);
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "");
    journal.emit(EventKind.CONNECTION_LOST, SECOND, "");
    completionError(OTHER_PEER, 10, 0x88, 0);
    pass(watch, 1000);
    assertEquals(2, journal.incidents().size());
    Incident killed = journal.incidents().getFirst();
    assertEquals("peer-process-ended", causeOf(killed));
    assertEquals(List.of(1L, 2L), killed.connections());
    assertEquals("remote-access", causeOf(journal.incidents().getLast()));
  }

  @Test
  void aPeerThatStandsStillIsApartFromOneOfItsHostThatEnded() {
    Watch watch = watch();
    journal.emit(EventKind.PEER_SOCKET_CLOSED, FIRST, "");
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "");
    pass(watch, 1600);
    journal.emit(EventKind.PEER_SILENT, SECOND, "");
    pass(watch, 3000);
    journal.emit(EventKind.CONNECTION_LOST, SECOND, "");
    pass(watch, 1000);
    assertEquals(
        List.of("peer-process-ended", "peer-stalled"),
        journal.incidents().stream().map(WatchTest::causeOf).toList());
    assertEquals(List.of(2L), journal.incidents().getLast().connections());
  }

  @Test
  void aFailureOfItsOwnIsApartFromAPeerOfTheSameHostThatEnded() {
    Watch watch = watch();
    journal.emit(EventKind.PEER_SOCKET_CLOSED, FIRST, "");
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "");
    pass(watch, 1000);
    completionError(SECOND, 10, 0x88, 3);
    journal.emit(EventKind.COMPLETION_FLUSHED, SECOND, 5, 0, 3, "");
    journal.emit(EventKind.CONNECTION_LOST, SECOND, "");
    pass(watch, 1000);
    assertEquals(
        List.of("peer-process-ended", "remote-access"),
        journal.incidents().stream().map(WatchTest::causeOf).toList());
  }

  /** A connection may show it by what its device says before it hears of its socket. */
  @Test
  void flushesOfAKilledPeerBelongToItsIncident() {
    Watch watch = watch();
    journal.emit(EventKind.PEER_SOCKET_CLOSED, FIRST, "");
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "");
    pass(watch, 100);
    journal.emit(EventKind.COMPLETION_FLUSHED, SECOND, 5, 0, 20, "");
    journal.emit(EventKind.CONNECTION_LOST, SECOND, "");
    journal.emit(EventKind.PEER_SOCKET_CLOSED, SECOND, "");
    pass(watch, 1000);
    assertEquals("peer-process-ended", causeOf(only()));
    assertEquals(List.of(1L, 2L), only().connections());
  }

  /** Field case O-22, grouping: port 2 concerns nobody on port 1, and a flap is one incident. */
  @Test
  void aPortThatGoesDownTakesItsConnectionsAlong() {
    Watch watch = watch();
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "seen before its reason");
    journal.emit(EventKind.CONNECTION_LOST, OTHER_PEER, "seen before its reason");
    pass(watch, 100);
    assertEquals(2, journal.incidents().size());
    journal.emit(EventKind.PORT_ERR, EventSubject.device("mlx5_0", 1), "");
    journal.emit(EventKind.GID_CHANGE, EventSubject.device("mlx5_0", 1), "");
    completionError(OTHER_PORT, 10, 0x88, 0);
    pass(watch, 900);
    journal.emit(EventKind.PORT_ACTIVE, EventSubject.device("mlx5_0", 1), "");
    pass(watch, 2000);
    completionError(SECOND, 12, 0x81, 10);
    pass(watch, 6000);
    List<Incident> flaps =
        journal.incidents().stream().filter(i -> causeOf(i).equals("link-flap")).toList();
    assertEquals(1, flaps.size());
    assertEquals(List.of(1L, 3L, 2L), flaps.getFirst().connections());
    assertEquals(1, flaps.getFirst().subject().port());
    assertEquals(
        1,
        journal.incidents().stream().filter(i -> i.state() == Incident.State.MERGED).count(),
        "the one that turned out to be a part of it");
    assertEquals(
        1, journal.incidents().stream().filter(i -> causeOf(i).equals("remote-access")).count());
  }

  @Test
  void whatCameJustBeforeMayExplainIt() {
    Watch watch = watch();
    journal.emit(EventKind.GID_CHANGE, EventSubject.device("mlx5_0", 1), "");
    pass(watch, 3700);
    completionError(FIRST, 12, 0x81, 2);
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "");
    pass(watch, 1000);
    Incident incident = only();
    assertEquals("address-changed", causeOf(incident));
    assertEquals(EventKind.GID_CHANGE, incident.events().getFirst().kind());
    assertEquals(EventKind.COMPLETION_ERROR, incident.trigger().kind());
    assertEquals(2, incident.id(), "named by what opened it");
  }

  /** Field case O-20: an overrun with three connections. */
  @Test
  void anOverrunIsOneIncidentForEachQueue() {
    Watch watch = watch();
    journal.emit(EventKind.CQ_ERR, FIRST, "entries and depths");
    journal.emit(EventKind.COMPLETION_FLUSHED, FIRST, 5, 0, 20, "");
    journal.emit(EventKind.CONNECTION_LOST, FIRST, "");
    pass(watch, 1500);
    Incident incident = only();
    assertEquals("completion-queue-overrun", causeOf(incident));
    assertEquals(20, incident.flushedRequests());
    assertTrue(incident.events().getFirst().text().contains("entries and depths"));
  }

  @Test
  void goodEndsAndNormalEventsAreNoIncidents() {
    Watch watch = watch();
    for (EventKind kind : EventKind.values()) {
      if (kind.severity() == EventKind.Severity.INFO) {
        journal.emit(kind, FIRST, "");
        journal.emit(kind, EventSubject.device("mlx5_0", 1), "");
      }
    }
    pass(watch, 8000);
    assertEquals(List.of(), journal.incidents());
  }

  @Test
  void whatThePeerSawCompletesThePicture() {
    Watch watch = watch();
    completionError(FIRST, 12, 0x81, 5);
    pass(watch, 200);
    assertEquals("unknown", causeOf(only()));
    journal.emit(
        EventKind.PEER_DIGEST, FIRST, "event.qp_fatal=1 event.connection_lost=1 nonsense x=y");
    pass(watch, 200);
    assertEquals("peer-failed", causeOf(only()));
    assertEquals(List.of(1, 2), heard.stream().map(Incident::revision).toList());
  }

  @Test
  void aStormIsBounded() {
    Watch watch = watch();
    for (int i = 0; i < 1000; i++) {
      journal.emit(EventKind.QP_ACCESS_ERR, FIRST, "");
    }
    for (int i = 0; i < 200; i++) {
      completionError(EventSubject.queuePair("mlx5_0", 1, 100 + i).of(100 + i, PEER_B), 10, 0, 0);
    }
    pass(watch, 7000);
    Incident first = journal.incidents().getFirst();
    assertEquals(Incident.MAX_EVENTS, first.events().size());
    assertEquals(1000 - Incident.MAX_EVENTS, first.moreEvents());
    assertEquals(201, journal.incidents().size());
    assertTrue(
        journal.incidents().stream().allMatch(i -> i.state() == Incident.State.CLOSED), "closed");
  }

  @Test
  void anIncidentThatGoesOnForEverIsClosedAllTheSame() {
    Watch watch = watch();
    for (int i = 0; i < 40; i++) {
      journal.emit(EventKind.PEER_SILENT, FIRST, "");
      pass(watch, 2000);
    }
    assertTrue(journal.incidents().size() >= 2);
    assertEquals(Incident.State.CLOSED, journal.incidents().getFirst().state());
  }

  @Test
  void aPauseOfTheProcessIsMeasuredAndTold() {
    Watch watch = watch();
    pass(watch, 500);
    watch.pauses().woke(nowNs + 50 * MS, nowNs + 900 * MS);
    pass(watch, 1500);
    Incident incident = only();
    assertEquals("host-paused", causeOf(incident));
    assertTrue(incident.cause().orElseThrow().evidence().getFirst().contains("850"));
    pass(watch, 40_000);
    assertEquals(1, journal.incidents().size(), "told once");
  }

  // ---- counters
  // ----------------------------------------------------------------------------------

  private void counter(String name, String value) throws IOException {
    Path folder = root.resolve("sys/class/infiniband/mlx5_0/ports/1/hw_counters");
    Files.createDirectories(folder);
    Files.writeString(folder.resolve(name), value + "\n");
  }

  @Test
  void theWindowAroundAnIncidentIsKept() throws IOException {
    counter("out_of_sequence", "100");
    counter("packet_seq_err", "N/A (no PMA)");
    counter("duplicate_request", "5");
    Watch watch = watch();
    pass(watch, 3000);
    counter("out_of_sequence", "612");
    completionError(FIRST, 12, 0x81, 5);
    pass(watch, 1500);
    Incident incident = only();
    assertEquals("packet-loss", causeOf(incident));
    assertEquals(
        512, incident.counters().getFirst().increases().get("hw_counters/out_of_sequence"));
    assertEquals(1, incident.counters().getFirst().unmoved());
    assertTrue(incident.counters().getFirst().unreadable().getFirst().endsWith("packet_seq_err"));
  }

  @Test
  void countersAloneShowSymptoms() throws IOException {
    counter("out_of_sequence", "100");
    counter("rnr_nak_retry_err", "25");
    Watch watch = watch();
    pass(watch, 12_000);
    assertEquals(List.of(), journal.incidents(), "totals say nothing");
    for (int i = 1; i <= 20; i++) {
      counter("out_of_sequence", Integer.toString(100 + 50 * i));
      pass(watch, 1000);
    }
    Incident incident = only();
    assertEquals("packet-loss", causeOf(incident));
    assertEquals("mlx5_0", incident.subject().device());
    pass(watch, 60_000);
    assertEquals(1, journal.incidents().size());
    assertEquals(Incident.State.CLOSED, only().state());
    counter("out_of_sequence", "90000");
    pass(watch, 2000);
    assertEquals(2, journal.incidents().size(), "and again when it comes back");
  }

  // ---- the peer's account
  // -------------------------------------------------------------------------

  @Test
  void theDigestHasWhatConcernsThePeer() throws IOException {
    counter("out_of_sequence", "100");
    Watch watch = watch();
    pass(watch, 2000);
    counter("out_of_sequence", "140");
    completionError(FIRST, 4, 0x53, 5);
    completionError(OTHER_PEER, 10, 0x88, 5);
    journal.emit(EventKind.GID_CHANGE, EventSubject.device("mlx5_0", 1), "");
    nowNs += 100 * MS;
    List<String> told = new ArrayList<>();
    watch.digest(FIRST, told::add);
    watch.step(nowNs);
    String digest = told.getFirst();
    assertTrue(digest.contains("completion.loc_prot_err=1"), digest);
    assertTrue(digest.contains("vendor=83"), digest);
    assertTrue(digest.contains("counter.out_of_sequence=40"), digest);
    assertTrue(digest.contains("event.gid_change=1"), digest);
    assertFalse(digest.contains("rem_access_err"), digest);
    assertEquals(digest, FaultDigest.encode(FaultDigest.decode(digest)));
  }

  @Test
  void aDigestFromANastyPeerIsHarmless() {
    StringBuilder many = new StringBuilder();
    for (int i = 0; i < 100_000; i++) {
      many.append("event.x").append(i).append("=1 ");
    }
    assertEquals(FaultDigest.MAX_FACTS, FaultDigest.decode(many.toString()).size());
    assertEquals(
        List.of("event.a"),
        List.copyOf(
            FaultDigest.decode(
                    "event.a=1 event.b=NaN event.c=Infinity peer.known=1 event.D=1 =1 event.e= "
                        + "event./../x=1 event."
                        + "y".repeat(500)
                        + "=1 \u0000 config")
                .keySet()));
    assertEquals(0, FaultDigest.decode("").size());
  }
}
