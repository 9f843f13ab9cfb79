package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.MetricDescriptor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** Holds the tables in docs/operating/pool.md to the settings and metrics declared. */
class PoolDocumentTest {
  private static final Path DOCUMENT =
      Path.of(System.getProperty("basedir", "."), "..", "docs", "operating", "pool.md");

  @Test
  void theTableSaysWhatTheSettingsAre() throws IOException {
    List<String> documented =
        Files.readAllLines(DOCUMENT).stream()
            .filter(line -> line.startsWith("| `" + PoolSetting.PROPERTY_PREFIX))
            .toList();
    List<String> declared = PoolSetting.ALL.stream().map(PoolDocumentTest::row).toList();
    assertTrue(
        declared.equals(documented),
        () -> DOCUMENT + " should have these rows:\n" + String.join("\n", declared));
  }

  @Test
  void theTableSaysWhatTheMetricsMean() throws IOException {
    List<String> documented =
        Files.readAllLines(DOCUMENT).stream()
            .filter(line -> line.startsWith("| `rdma4j_pool_"))
            .toList();
    List<String> declared = PoolMetric.ALL.stream().map(PoolDocumentTest::row).toList();
    assertTrue(
        declared.equals(documented),
        () -> DOCUMENT + " should have these rows:\n" + String.join("\n", declared));
  }

  private static String row(MetricDescriptor metric) {
    String alias = metric.alias();
    return "| `%s`%s | %s | %s | %s |"
        .formatted(
            metric.name(),
            alias == null ? "" : ", `" + alias + "`",
            metric.kind().name().toLowerCase(Locale.ROOT),
            String.join(", ", metric.labels()),
            metric.meaning());
  }

  private static String row(PoolSetting<?> setting) {
    // A default in words is one that depends on others.
    String byDefault = setting.defaultText();
    String cell = setting.text().parse(byDefault).isPresent() ? "`" + byDefault + "`" : byDefault;
    return "| `%s` | %s | `%s` | %s | %s | %s |"
        .formatted(
            setting.property(),
            setting.meaning(),
            setting.variable(),
            cell,
            setting.advice(),
            setting.reason());
  }
}
