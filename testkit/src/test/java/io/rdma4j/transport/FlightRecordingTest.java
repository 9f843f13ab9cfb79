package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.jfr.FallbackEvent;
import io.rdma4j.jfr.IncidentEvent;
import io.rdma4j.jfr.JournalEvent;
import io.rdma4j.jfr.RegistrationEvent;
import io.rdma4j.pool.ExhaustionPolicy;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.verbs.AsyncEvent;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a flight recording shows, and that it costs nothing while there is none. */
@Timeout(120)
final class FlightRecordingTest {
  private static final ConnectionHandler IGNORE = (connection, message) -> {};
  private static final int BLOCK_BYTES = 8192;

  @TempDir private Path dir;

  @Test
  void aRecordingHasWhatHappened() throws IOException, InterruptedException {
    Path file = dir.resolve("recording.jfr");
    try (Recording recording = new Recording()) {
      for (String name : List.of("AllocationFallback", "Registration", "Event", "Incident")) {
        recording.enable("rdma4j." + name);
      }
      recording.start();
      runAFaultyNode();
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> events = RecordingFile.readAllEvents(file);
    RecordedEvent fallback = first(events, "AllocationFallback", "blockBytes", BLOCK_BYTES);
    assertFalse(fallback.getStackTrace().getFrames().isEmpty(), "who allocated");
    RecordedEvent registration = first(events, "Registration", "device", "scripted0");
    assertTrue(registration.getBoolean("succeeded"));
    assertTrue(registration.getLong("lengthBytes") >= BLOCK_BYTES);
    assertTrue(first(events, "Event", "kind", "connection_opened").getLong("connection") > 0);
    first(events, "Event", "kind", "connection_lost");
    RecordedEvent incident = first(events, "Incident", "cause", "device-failed");
    assertTrue(incident.getString("headline").contains("device"), incident.toString());
  }

  private static RecordedEvent first(
      List<RecordedEvent> events, String name, String field, Object value) {
    return events.stream()
        .filter(e -> e.getEventType().getName().equals("rdma4j." + name))
        .filter(e -> Objects.equals(e.getValue(field), value))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no " + name + " with " + field + " " + value));
  }

  private static void runAFaultyNode() throws InterruptedException {
    ScriptedVerbs verbs = new ScriptedVerbs();
    ScriptedDevice device = verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    NodeConfig.Builder config =
        NodeConfig.builder()
            .verbs(verbs)
            .paths("verbs")
            .maxMessageBytes(4096)
            .window(16)
            .pool(
                PoolConfig.builder()
                    .blockSizes(BLOCK_BYTES)
                    .slabBytes(1 << 16)
                    .initialBytes(1 << 16)
                    .maxBytes(1 << 20)
                    .exhaustion(ExhaustionPolicy.FALL_BACK)
                    .backgroundThread(false)
                    .build());
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (Node db = Node.start(config.listen(any, (peer, path) -> IGNORE).build());
        Node app = Node.start(config.build())) {
      Connection connection = app.connect(Objects.requireNonNull(db.listenAddress()), IGNORE);
      List<RegisteredBuffer> leases = new ArrayList<>();
      while (app.pool().statistics().fallbacks() == 0) {
        leases.add(app.pool().allocate(BLOCK_BYTES));
        assertTrue(leases.size() < 1000, "the pool never falls back");
      }
      leases.forEach(RegisteredBuffer::release);
      device.raise(AsyncEvent.Type.DEVICE_FATAL, null, 0);
      for (int waitedMs = 0; connection.isOpen() || noCause(app); waitedMs += 5) {
        assertTrue(waitedMs < 60_000, "the fault shows");
        Thread.sleep(5);
      }
    }
  }

  private static boolean noCause(Node node) {
    return node.journal().incidents().stream().allMatch(i -> i.causes().isEmpty());
  }

  @Test
  void withoutARecordingNothingIsAllocated() {
    assertEquals(
        0,
        AllocationMeter.bytesPerOperation(
            50_000,
            10_000,
            () -> {
              FallbackEvent.record(BLOCK_BYTES);
              RegistrationEvent.end(RegistrationEvent.start(), "scripted0", 1, true);
              if (JournalEvent.isOn() || IncidentEvent.isOn()) {
                throw new AssertionError("nobody records");
              }
            }));
  }
}
