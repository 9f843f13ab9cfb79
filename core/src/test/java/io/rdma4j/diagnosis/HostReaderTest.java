package io.rdma4j.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.PortCounters;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Readings of a small tree, on a clock that the test moves. */
final class HostReaderTest {
  private static final long MS = 1_000_000L;
  private static final String PORT = "sys/class/infiniband/mlx5_0/ports/1/";
  private static final String IPV4 = "0000:0000:0000:0000:0000:ffff:c000:0201";
  private static final String EMPTY = "0000:0000:0000:0000:0000:0000:0000:0000";

  @TempDir private Path root;
  private long nowNs = 1_000_000 * MS;

  private void file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
  }

  @BeforeEach
  void aRocePort() throws IOException {
    file("sys/class/infiniband/mlx5_0/node_type", "1: CA");
    file(PORT + "state", "4: ACTIVE");
    file(PORT + "link_layer", "Ethernet");
    file(PORT + "counters/port_xmit_data", "1");
    addressAt(3);
  }

  /** Puts the only IPv4 address of RoCE v2 at an index, and empties the rest of the table. */
  private void addressAt(int index) throws IOException {
    for (int i = 0; i < 8; i++) {
      file(PORT + "gids/" + i, i == index ? IPV4 : EMPTY);
      file(PORT + "gid_attrs/types/" + i, i == index ? "RoCE v2" : "");
    }
  }

  private static int index(@Nullable HostReport settings) {
    GidReport gid =
        Objects.requireNonNull(settings).devices().getFirst().ports().getFirst().recommendedGid();
    return Objects.requireNonNull(gid).index();
  }

  private HostReader.Reading read(HostReader reader) {
    reader.request();
    return Objects.requireNonNull(reader.take());
  }

  @Test
  void settingsAreReadNowAndThenOnly() throws IOException {
    HostReader reader = new HostReader(HostSource.at(root), () -> nowNs);
    assertEquals(3, index(read(reader).settings()));
    assertNull(reader.take(), "each reading is taken once");
    addressAt(5);
    nowNs += 10_000 * MS;
    assertEquals(3, index(read(reader).settings()));
    nowNs += 21_000 * MS;
    assertEquals(5, index(read(reader).settings()));
  }

  /**
   * Field case O-22: after a flap the address is at index 5 instead of 3. A connection has its
   * index from the kernel, by the address ({@code rdma_cm}); what this library tells people has to
   * follow.
   */
  @ParameterizedTest
  @EnumSource(names = {"PORT_ACTIVE", "PORT_ERR", "GID_CHANGE", "LID_CHANGE", "PKEY_CHANGE"})
  void anEventOfThePortHasTheTablesReadAnew(EventKind kind) throws IOException {
    EventJournal journal = EventJournal.inMemory(() -> nowNs);
    AtomicReference<HostReport> seen = new AtomicReference<>();
    HostSource files = HostSource.at(root);
    HostSource source =
        new HostSource() {
          @Override
          public List<PortCounters> counters() {
            return files.counters();
          }

          @Override
          public @Nullable HostReport report() {
            HostReport report = Objects.requireNonNull(files.report());
            seen.set(report);
            return report;
          }
        };
    Watch watch = new Watch(journal, facts -> {}, () -> nowNs, source, ns -> {});
    watch.step(nowNs);
    assertEquals(3, index(seen.get()));
    addressAt(5);
    nowNs += 1100 * MS;
    watch.step(nowNs);
    assertEquals(3, index(seen.get()), "nothing told of a change");
    journal.emit(kind, EventSubject.device("mlx5_0", 1), "");
    nowNs += 1100 * MS;
    watch.step(nowNs);
    assertEquals(3, index(seen.get()), "the tables are long, and the news go first");
    for (int second = 0; second < 2; second++) {
      nowNs += 1100 * MS;
      watch.step(nowNs);
    }
    assertEquals(5, index(seen.get()));
  }

  @Test
  void aMachineWithoutPortsHasNoSettings() throws IOException {
    Path empty = Files.createDirectory(root.resolve("empty"));
    HostReader.Reading reading = read(new HostReader(HostSource.at(empty), () -> nowNs));
    assertTrue(reading.ports().isEmpty());
    assertNull(reading.settings());
  }
}
