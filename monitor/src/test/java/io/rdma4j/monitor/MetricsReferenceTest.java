package io.rdma4j.monitor;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.status.MetricDescriptor;
import io.rdma4j.status.StatusRegistry;
import io.rdma4j.status.TableDescriptor;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The reference of metrics is what the descriptors say, and alerts and dashboards ask for metrics
 * that there are. {@code -Dtest.args=-Dupdate=true} writes the reference anew.
 */
class MetricsReferenceTest {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final Path REFERENCE = ROOT.resolve("docs/operating/metrics.md");
  private static final String MARK = "<!-- Below: written by MetricsReferenceTest. -->\n";
  private static final Pattern NAME = Pattern.compile("rdma4j_[a-z0-9_]+");

  private record Stated(List<MetricDescriptor> metrics, List<TableDescriptor> tables) {}

  private static Stated stated() {
    try (Node node = Node.start(NodeConfig.builder().paths("tcp").build())) {
      MonitorConfig anyPort =
          MonitorConfig.defaults()
              .withAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      StatusRegistry registry = node.metrics();
      try (Monitor monitor = Monitor.start(anyPort, registry, node.journal())) {
        assertTrue(monitor.address().getPort() > 0);
        return new Stated(registry.descriptors(), registry.tables());
      }
    }
  }

  @Test
  void theReferenceIsWhatTheDescriptorsSay() throws IOException {
    String old = Files.readString(REFERENCE);
    int end = old.indexOf(MARK) + MARK.length();
    assertTrue(end >= MARK.length(), "the mark is missing in " + REFERENCE);
    String wanted = old.substring(0, end) + reference(stated());
    if (Boolean.getBoolean("update")) {
      Files.writeString(REFERENCE, wanted);
    } else {
      assertEquals(wanted, old, "write it anew: -Dtest.args=-Dupdate=true");
    }
  }

  private static String reference(Stated stated) {
    StringBuilder text = new StringBuilder("\n## Metrics\n\n");
    text.append("| name | kind | labels | meaning |\n|---|---|---|---|\n");
    for (MetricDescriptor metric : stated.metrics) {
      String alias = metric.alias() == null ? "" : "<br>`" + metric.alias() + "`";
      text.append(
          "| `%s`%s | %s | %s | %s |\n"
              .formatted(
                  metric.name(),
                  alias,
                  metric.kind().name().toLowerCase(Locale.ROOT),
                  String.join(", ", metric.labels()),
                  metric.meaning()));
    }
    for (TableDescriptor table : stated.tables) {
      text.append("\n## Table `/%s`\n\n%s\n\n".formatted(table.name(), table.meaning()));
      text.append("| column | kind | meaning |\n|---|---|---|\n");
      for (TableDescriptor.Column column : table.columns()) {
        text.append(
            "| `%s` | %s | %s |\n"
                .formatted(
                    column.name(),
                    column.kind().name().toLowerCase(Locale.ROOT),
                    column.meaning()));
      }
    }
    return text.toString();
  }

  @Test
  void alertsAndDashboardsAskForMetricsThatThereAre() throws IOException {
    Set<String> known =
        stated().metrics.stream()
            .flatMap(
                m ->
                    m.kind() == MetricDescriptor.Kind.HISTOGRAM
                        ? Stream.of(m.name(), m.name() + "_bucket", m.name() + "_count")
                        : Stream.of(m.name()))
            .collect(Collectors.toSet());
    for (String file :
        List.of(
            "monitor/prometheus/alerts.yml",
            "monitor/prometheus/grafana-dashboard.json",
            "monitor/src/main/resources/io/rdma4j/monitor/dashboard.js",
            "monitor/src/main/java/io/rdma4j/monitor/Point.java",
            "monitor/src/main/java/io/rdma4j/monitor/Health.java")) {
      Set<String> asked = new TreeSet<>();
      Matcher names = NAME.matcher(Files.readString(ROOT.resolve(file)));
      while (names.find()) {
        asked.add(names.group());
      }
      assertTrue(asked.size() > 1, "no names found in " + file);
      asked.removeAll(known);
      assertEquals(Set.of(), asked, file + " asks for what there is not");
    }
  }

  @Test
  void everyAlertIsDocumentedAndTested() throws IOException {
    Pattern alert = Pattern.compile("alert: (Rdma4j\\w+)");
    Matcher names = alert.matcher(Files.readString(ROOT.resolve("monitor/prometheus/alerts.yml")));
    String document = Files.readString(ROOT.resolve("docs/operating/alerts.md"));
    String tests = Files.readString(ROOT.resolve("monitor/prometheus/alerts-test.yml"));
    Set<String> found = new TreeSet<>();
    while (names.find()) {
      found.add(names.group(1));
      assertTrue(document.contains("`" + names.group(1) + "`"), names.group(1) + " in alerts.md");
      assertTrue(
          tests.contains("- alertname: " + names.group(1) + "\n"),
          names.group(1) + " in the tests");
    }
    assertTrue(found.size() > 20, found.toString());
  }

  @Test
  void theGrafanaDashboardIsWhole() throws IOException {
    var dashboard =
        JSON.std.mapFrom(
            Files.readString(ROOT.resolve("monitor/prometheus/grafana-dashboard.json")));
    Set<Object> ids = new TreeSet<>();
    for (Object panel : (List<?>) requireNonNull(dashboard.get("panels"))) {
      var fields = (java.util.Map<?, ?>) panel;
      assertTrue(ids.add(fields.get("id")), "an id stands twice: " + fields.get("id"));
      if (!"row".equals(fields.get("type"))) {
        assertTrue(
            fields.get("targets") instanceof List<?> targets && !targets.isEmpty(),
            fields.get("title") + " is empty");
      }
    }
    assertTrue(ids.size() > 20, ids.toString());
  }
}
