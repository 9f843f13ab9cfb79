package io.rdma4j.tools.journal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.status.Cause;
import io.rdma4j.status.CounterWindow;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

final class JournalCommandTest {
  @TempDir private Path dir;
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private Path file() {
    return dir.resolve("node.journal");
  }

  @BeforeEach
  void writeJournal() throws IOException {
    try (EventJournal journal = EventJournal.open(file(), 1 << 20)) {
      EventSubject subject = EventSubject.queuePair("mlx5_0", 1, 71).of(3, "192.0.2.7:7400");
      journal.emit(EventKind.CONNECTION_OPENED, subject, "verbs mlx5_0 port 1");
      journal.emit(EventKind.COMPLETION_ERROR, subject, 12, 129, 31, "retries \"exceeded\"");
      journal.emit(EventKind.PORT_ERR, EventSubject.device("mlx5_1", 2), 10, 0, 0, "");
      TreeMap<String, Long> increases = new TreeMap<>(Map.of("hw_counters/packet_seq_err", 21L));
      journal.publish(
          new Incident(
              3,
              1,
              Incident.State.CLOSED,
              journal.events().get(2).timeNs(),
              journal.events().get(2).timeNs() + 5_000_000_000L,
              subject,
              List.of(3L),
              List.of(journal.events().get(2)),
              0,
              31,
              List.of(
                  new Cause(
                      "packet-loss",
                      "packets are lost",
                      Cause.Confidence.LIKELY,
                      List.of("counter sequence_nak 21"),
                      List.of("counter pause_received"),
                      List.of(),
                      "look at the switch")),
              List.of(
                  new CounterWindow(
                      "mlx5_0", 1, 0, 10_000_000_000L, increases, 40, List.of(), false))));
    }
  }

  private int run(String... args) {
    return new CommandLine(new JournalCommand())
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .setExecutionExceptionHandler(
            (e, command, parsed) -> {
              err.write(String.valueOf(e.getMessage()));
              return 70;
            })
        .execute(args);
  }

  @Test
  void theTableHasEventsThenIncidents() {
    assertEquals(1, run(file().toString(), "--utc"));
    String text = out.toString();
    assertTrue(text.contains("completion_error"), text);
    assertTrue(text.contains("connection 3 to 192.0.2.7:7400, mlx5_0 port 1, queue pair 71"), text);
    assertTrue(text.contains("vendor error 0x81"), text);
    assertTrue(text.contains("cause    packets are lost (packet-loss, likely)"), text);
    assertTrue(text.contains("missing  counter pause_received"), text);
    assertTrue(text.contains("hw_counters/packet_seq_err +21; 40 stood still"), text);
    assertTrue(text.contains("4 of 4 events, 1 of 1 incidents"), text);
  }

  @Test
  void filtersChoose() {
    assertEquals(0, run(file().toString(), "--device", "mlx5_1"));
    assertTrue(out.toString().contains("1 of 4 events, 0 of 1 incidents"), out.toString());
    assertEquals(1, run(file().toString(), "--severity", "ERROR", "--peer", "192.0.2"));
    assertTrue(out.toString().contains("1 of 4 events, 1 of 1 incidents"), out.toString());
    assertEquals(0, run(file().toString(), "--kind", "port,opened", "--last", "1h"));
    assertTrue(out.toString().contains("3 of 4 events, 0 of 1 incidents"), out.toString());
    assertEquals(0, run(file().toString(), "--connection", "4"));
  }

  @Test
  @SuppressWarnings("unchecked")
  void jsonSaysTheSame() throws IOException {
    assertEquals(1, run(file().toString(), "--json"));
    Map<String, Object> root = JSON.std.mapFrom(out.toString());
    List<Map<String, Object>> events =
        (List<Map<String, Object>>) Objects.requireNonNull(root.get("events"));
    assertEquals(4, events.size());
    assertEquals("retries \"exceeded\"", events.get(2).get("text"));
    List<Map<String, Object>> incidents =
        (List<Map<String, Object>>) Objects.requireNonNull(root.get("incidents"));
    assertEquals(31, incidents.getFirst().get("flushedRequests"));
    assertEquals(0, root.get("torn"));
  }

  @Test
  void whatIsNoJournalIsRefused() throws IOException {
    assertEquals(70, run(Files.createFile(dir.resolve("empty")).toString()));
    assertTrue(err.toString().contains("is no journal"), err.toString());
    assertEquals(2, run(file().toString(), "--last", "soon"));
    assertTrue(err.toString().contains("30s, 10m"), err.toString());
    assertEquals(2, run(file().toString(), "--kind", "port,nonsense"));
    assertTrue(err.toString().contains("no kind of event has 'nonsense'"), err.toString());
    assertTrue(err.toString().contains("port_err"), err.toString());
    assertFalse(out.toString().contains("incident"));
  }
}
