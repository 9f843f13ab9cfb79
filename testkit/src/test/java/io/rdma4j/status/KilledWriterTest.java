package io.rdma4j.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.concurrent.NanoClock;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A process that writes a journal is killed with SIGKILL, and everything it wrote is there. */
@Timeout(120)
final class KilledWriterTest {
  private static final int SLOTS = 500;

  /** Several rounds of the ring. */
  private static final int BURST = 3000;

  @TempDir private Path dir;

  @Test
  void aKilledProcessLeavesWhatItHadWritten() throws IOException, InterruptedException {
    Path journalFile = dir.resolve("events.journal");
    Path told = Files.createFile(dir.resolve("told"));
    Process child =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Writer.class.getName(),
                journalFile.toString(),
                told.toString())
            .inheritIO()
            .start();
    try {
      while (lastTold(told) < BURST) {
        assertTrue(child.isAlive(), "the child ended by itself");
        Thread.sleep(1);
      }
    } finally {
      child.destroyForcibly();
    }
    assertTrue(child.waitFor(60, TimeUnit.SECONDS));
    assertEquals(128 + 9, child.exitValue(), "killed, not ended");

    JournalContents contents = JournalReader.read(journalFile);
    List<Long> values =
        contents.events().stream()
            .filter(event -> event.kind() == EventKind.COMPLETION_ERROR)
            .map(Event::value)
            .toList();
    assertTrue(contents.torn() <= 1, contents.torn() + " records torn by one kill");
    assertTrue(values.getLast() >= lastTold(told), "the last one that was told to be written");
    assertEquals(
        values.getLast() - values.getFirst(), values.size() - 1, "none in between missing");
    assertTrue(values.size() >= SLOTS - 2, values.size() + " events in " + SLOTS + " slots");

    try (EventJournal journal = EventJournal.open(journalFile, 0, NanoClock.SYSTEM)) {
      journal.emit(EventKind.PORT_ERR, EventSubject.device("mlx5_0", 1), "the next life");
    }
    List<Event> events = JournalReader.read(journalFile).events();
    assertEquals("the next life", events.getLast().text());
    assertEquals(
        events.getLast().sequence() - events.getFirst().sequence() + 1,
        events.size(),
        "numbered on");
  }

  /** The last number on a whole line. */
  private static long lastTold(Path told) throws IOException {
    String text = Files.readString(told, StandardCharsets.US_ASCII);
    int end = text.lastIndexOf('\n');
    return end < 0 ? 0 : Long.parseLong(text.substring(text.lastIndexOf('\n', end - 1) + 1, end));
  }

  /** The child: writes events as fast as it can, and tells each once it is written. */
  static final class Writer {
    private Writer() {}

    public static void main(String[] args) throws IOException {
      try (EventJournal journal =
              EventJournal.open(
                  Path.of(args[0]), (SLOTS + 1L) * JournalLayout.SLOT_BYTES, NanoClock.SYSTEM);
          FileOutputStream told = new FileOutputStream(args[1])) {
        for (long value = 1; value < 10_000_000; value++) {
          journal.emit(
              EventKind.COMPLETION_ERROR,
              EventSubject.queuePair("mlx5_0", 1, 71),
              12,
              129,
              value,
              "transport retry counter exceeded");
          told.write((value + "\n").getBytes(StandardCharsets.US_ASCII));
        }
      }
    }
  }
}
