package io.rdma4j.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.concurrent.NanoClock;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A journal in memory and in a file, whole, cut and torn. */
@Timeout(120)
final class EventJournalTest {
  private static final int SLOT = JournalLayout.SLOT_BYTES;

  @TempDir private Path dir;

  private Path file() {
    return dir.resolve("events.journal");
  }

  private EventJournal open(long sizeBytes) throws IOException {
    return EventJournal.open(file(), sizeBytes, NanoClock.SYSTEM);
  }

  private static void emit(EventJournal journal, long value) {
    journal.emit(
        EventKind.COMPLETION_ERROR,
        new EventSubject("mlx5_0", 1, 71, 3, "192.0.2.7:7400"),
        12,
        129,
        value,
        "transport retry counter exceeded");
  }

  private static Incident incident(long id, int revision, int events) {
    List<Event> list = new ArrayList<>();
    for (int i = 0; i < events; i++) {
      list.add(
          new Event(
              id + i,
              5,
              6,
              EventKind.QP_FATAL,
              EventSubject.queuePair("mlx5_0", 1, -2),
              1,
              2,
              3,
              "t\u00fcr " + i));
    }
    TreeMap<String, Long> increases = new TreeMap<>();
    increases.put("hw_counters/out_of_sequence", 20L);
    return new Incident(
        id,
        revision,
        Incident.State.CLOSED,
        1,
        2,
        EventSubject.device("mlx5_0", 1),
        List.of(3L, 4L),
        list,
        7,
        31,
        List.of(
            new Cause(
                "c", "t", Cause.Confidence.LIKELY, List.of("e"), List.of("m"), List.of("i"), "n")),
        List.of(new CounterWindow("mlx5_0", 1, 1, 2, increases, 40, List.of("x"), true)));
  }

  @Test
  void whatWasWrittenIsRead() throws IOException {
    List<Event> written;
    try (EventJournal journal = open(1 << 16)) {
      emit(journal, 31);
      journal.emit(EventKind.PORT_ERR, EventSubject.device("mlx5_0", 2), "");
      journal.publish(incident(2, 1, 3));
      journal.publish(incident(2, 2, 40));
      written = journal.events();
      assertEquals(written, JournalReader.read(file()).events(), "readable while it is open");
    }
    JournalContents contents = JournalReader.read(file());
    assertEquals(written, contents.events());
    assertEquals(List.of(incident(2, 2, 40)), contents.incidents(), "the last picture");
    assertEquals(0, contents.torn() + contents.cut() + contents.unknown());
  }

  @Test
  void theFileIsARing() throws IOException {
    try (EventJournal journal = open(11L * SLOT)) {
      for (int i = 0; i < 1000; i++) {
        emit(journal, i);
      }
    }
    JournalContents contents = JournalReader.read(file());
    assertEquals(
        LongStream.range(990, 1000).boxed().toList(),
        contents.events().stream().map(Event::value).toList());
    assertEquals(11L * SLOT, Files.size(file()));
    assertEquals(0, contents.torn() + contents.cut());
  }

  @Test
  void aRecordWhoseBeginningIsOverwrittenIsCut() throws IOException {
    try (EventJournal journal = open(21L * SLOT)) {
      journal.publish(incident(2, 1, 40));
      for (int i = 0; i < 15; i++) {
        emit(journal, i);
      }
    }
    JournalContents contents = JournalReader.read(file());
    assertEquals(List.of(), contents.incidents());
    assertEquals(15, contents.events().stream().filter(e -> e.code() == 12).count());
    assertTrue(contents.cut() >= 1);
  }

  @Test
  void aJournalGoesOnWhereItEnded() throws IOException {
    try (EventJournal journal = open(1 << 16)) {
      emit(journal, 1);
    }
    try (EventJournal journal = open(1 << 20)) {
      emit(journal, 2);
    }
    List<Event> events = JournalReader.read(file()).events();
    assertEquals(List.of(1L, 2L, 3L, 4L), events.stream().map(Event::sequence).toList());
    assertEquals(EventKind.JOURNAL_OPENED, events.get(2).kind());
    assertEquals(1 << 16, Files.size(file()), "a file keeps its size");
  }

  @Test
  void damagedSlotsCostTheirRecordsAlone() throws IOException {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    try (EventJournal journal = open(101L * SLOT)) {
      for (int i = 0; i < 99; i++) {
        emit(journal, i);
      }
    }
    TreeMap<Integer, Integer> hit = new TreeMap<>();
    try (RandomAccessFile raw = new RandomAccessFile(file().toFile(), "rw")) {
      for (int i = 0; i < 10; i++) {
        int slot = 2 + random.nextInt(99);
        int at = random.nextInt(JournalLayout.PAYLOAD + 60);
        if (at >= JournalLayout.LENGTH + 2 && at < JournalLayout.PAYLOAD) {
          at = 0;
        }
        raw.seek((long) slot * SLOT + at);
        int old = raw.read();
        raw.seek((long) slot * SLOT + at);
        raw.write(old ^ 0xff);
        hit.merge(slot, 1, Integer::sum);
      }
    }
    JournalContents contents = JournalReader.read(file());
    assertTrue(contents.torn() <= hit.size(), "seed " + seed);
    assertTrue(contents.events().size() >= 100 - hit.size(), "seed " + seed);
    for (Event event : contents.events()) {
      assertTrue(event.code() == 12 || event.kind() == EventKind.JOURNAL_OPENED, "seed " + seed);
    }
  }

  @Test
  void onlyAJournalIsTakenForOne() throws IOException {
    Files.writeString(file(), "not a journal, and it must not be overwritten".repeat(100));
    String before = Files.readString(file());
    IOException refused = assertThrows(IOException.class, () -> open(1 << 16));
    assertTrue(String.valueOf(refused.getMessage()).contains("is no journal"));
    assertThrows(IOException.class, () -> JournalReader.read(file()));
    assertEquals(before, Files.readString(file()));
    Path empty = Files.createFile(dir.resolve("empty"));
    assertThrows(IOException.class, () -> JournalReader.read(empty));
    assertThrows(IOException.class, () -> JournalReader.read(dir.resolve("missing")));
    assertThrows(IOException.class, () -> EventJournal.open(empty, 100, NanoClock.SYSTEM));
  }

  @Test
  void aFileHasOneWriter() throws IOException {
    try (EventJournal journal = open(1 << 16)) {
      IOException refused = assertThrows(IOException.class, () -> open(1 << 16));
      assertTrue(String.valueOf(refused.getMessage()).contains("its own file"));
      emit(journal, 1);
    }
    open(1 << 16).close();
  }

  @Test
  void aFileCutShortUnderTheWriterCostsTheFileAlone() throws IOException {
    try (EventJournal journal = open(1 << 20)) {
      try (RandomAccessFile raw = new RandomAccessFile(file().toFile(), "rw")) {
        raw.setLength(SLOT);
      }
      for (int i = 0; i < 20; i++) {
        emit(journal, i);
      }
      assertEquals(21, journal.events().size());
    }
  }

  @Test
  void memoryIsBounded() {
    EventJournal journal = EventJournal.inMemory();
    for (int i = 0; i < EventJournal.MAX_EVENTS + 10; i++) {
      emit(journal, i);
    }
    for (int i = 1; i < EventJournal.MAX_INCIDENTS + 10; i++) {
      journal.publish(incident(i, 1, 1));
    }
    assertEquals(EventJournal.MAX_EVENTS, journal.events().size());
    assertEquals(10, journal.events().getFirst().value());
    assertEquals(EventJournal.MAX_INCIDENTS, journal.incidents().size());
    assertEquals(
        List.of(8L, 9L),
        journal.eventsAfter(EventJournal.MAX_EVENTS + 8).stream()
            .map(e -> e.value() - EventJournal.MAX_EVENTS)
            .toList());
  }

  @Test
  void anEventOfAQueuePairGetsItsConnection() {
    EventJournal journal = EventJournal.inMemory();
    EventSubject queuePair = EventSubject.queuePair("mlx5_0", 1, 71);
    EventSubject connection = queuePair.of(3, "192.0.2.7:7400");
    journal.emit(EventKind.QP_FATAL, queuePair, "before");
    journal.emit(EventKind.CONNECTION_OPENED, connection, "");
    journal.emit(EventKind.QP_FATAL, queuePair, "during");
    journal.emit(EventKind.QP_FATAL, EventSubject.queuePair("mlx5_1", 1, 71), "another device");
    journal.emit(EventKind.CONNECTION_LOST, connection, "");
    journal.emit(EventKind.QP_FATAL, queuePair, "after");
    assertEquals(
        List.of(0L, 3L, 3L, 0L, 3L, 0L),
        journal.events().stream().map(e -> e.subject().connection()).toList());
  }

  @Test
  void aListenerThatThrowsHarmsNobody() {
    EventJournal journal = EventJournal.inMemory();
    List<Incident> heard = new ArrayList<>();
    journal.listen(
        incident -> {
          throw new IllegalStateException("on purpose");
        });
    StatusRegistry.Registration second = journal.listen(heard::add);
    journal.publish(incident(1, 1, 1));
    second.close();
    journal.publish(incident(1, 2, 1));
    assertEquals(List.of(incident(1, 1, 1)), heard);
  }

  @Test
  void seriesDoNotGrowWithConnections() {
    EventJournal journal = EventJournal.inMemory();
    StatusRegistry registry = new StatusRegistry();
    registry.register("events", journal);
    int after100 = 0;
    for (int i = 1; i <= 10_000; i++) {
      EventSubject subject =
          EventSubject.queuePair("mlx5_0", 1, i).of(i, "192.0.2." + i % 5 + ":" + i);
      journal.emit(EventKind.CONNECTION_OPENED, subject, "");
      journal.emit(EventKind.QP_ACCESS_ERR, subject, "");
      journal.emit(EventKind.CONNECTION_LOST, subject, "");
      if (i == 100) {
        after100 = registry.snapshot().metrics().size();
      }
    }
    assertEquals(after100, registry.snapshot().metrics().size());
    assertTrue(VarsText.of(registry.snapshot()).contains("kind=\"qp_access_err\"} : 10000"));
  }

  @Test
  void codesOfKindsAreKnownAndApart() {
    for (EventKind kind : EventKind.values()) {
      assertEquals(kind, EventKind.of(kind.code()));
    }
    assertEquals(EventKind.UNKNOWN, EventKind.of(200));
    assertEquals(EventKind.PORT_ERR, EventKind.ofDeviceEvent(10), "IBV_EVENT_PORT_ERR");
    assertEquals(EventKind.GID_CHANGE, EventKind.ofDeviceEvent(18), "IBV_EVENT_GID_CHANGE");
    assertEquals(EventKind.WQ_FATAL, EventKind.ofDeviceEvent(19), "IBV_EVENT_WQ_FATAL");
    assertEquals(EventKind.UNKNOWN_DEVICE_EVENT, EventKind.ofDeviceEvent(20));
    assertEquals(EventKind.UNKNOWN_DEVICE_EVENT, EventKind.ofDeviceEvent(-1));
  }
}
