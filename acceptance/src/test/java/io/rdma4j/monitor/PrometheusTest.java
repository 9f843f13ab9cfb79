package io.rdma4j.monitor;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is shipped for Prometheus, with the real one and the real Alertmanager. */
@Timeout(300)
class PrometheusTest {
  private static final ConnectionHandler DEAF =
      new ConnectionHandler() {
        @Override
        public void onMessage(Connection from, Message message) {}
      };

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();

  @BeforeAll
  static void requireTools() {
    Alerting.requireTools();
  }

  @Test
  void rulesAndConfigurationsAreSoundAndEachAlertFiresInItsCase() throws Exception {
    String shipped = Alerting.SHIPPED.toString();
    Tool.check("promtool", "check", "rules", shipped + "/alerts.yml");
    Tool.check("promtool", "check", "config", shipped + "/prometheus.yml");
    Tool.check("promtool", "test", "rules", shipped + "/alerts-test.yml");
    Tool.check("amtool", "check-config", shipped + "/alertmanager.yml");
  }

  @Test
  void tenThousandConnectionsLeaveTheSeriesOfOneHundred() throws Exception {
    assumeTrue(
        Tool.run(new StringBuilder(), null, PYTHON, "-c", "import prometheus_client") == 0,
        "no strict parser here; install it: apt-get install python3-prometheus-client");
    MonitorConfig anyPort = ShownNode.anyPort();
    try (Node server =
            Node.start(
                NodeConfig.builder()
                    .paths("tcp")
                    .listen(ShownNode.loopback(0), (peer, path) -> DEAF)
                    .build());
        Node client = Node.start(NodeConfig.builder().paths("tcp").build());
        Monitor monitor = Monitor.start(anyPort, client.metrics())) {
      InetSocketAddress address = requireNonNull(server.listenAddress());
      long afterHundred = 0;
      long startNs = System.nanoTime();
      for (int i = 1; i <= 10_000; i++) {
        client.connect(address, DEAF).close();
        if (i == 100 || i % 2500 == 0) {
          long series = checkedSeries(monitor);
          afterHundred = i == 100 ? series : afterHundred;
          assertEquals(afterHundred, series, "series after " + i + " connections");
        }
      }
      System.out.printf(
          "10000 connects and disconnects in %.1f s: %d series%n",
          (System.nanoTime() - startNs) / 1e9, afterHundred);
      assertTrue(afterHundred > 100, "series: " + afterHundred);
    }
  }

  private void write(String name, String text) throws IOException {
    Files.writeString(folder.resolve(name), text);
  }

  /** The system's, since its packages are meant. */
  private static final String PYTHON = "/usr/bin/python3";

  private static final String STRICT =
      """
      import sys
      from prometheus_client.openmetrics import parser
      print(sum(len(f.samples) for f in parser.text_string_to_metric_families(sys.stdin.read())))
      """;

  /** Has promtool and a strict parser read a page, and returns how many samples it has. */
  private long checkedSeries(Monitor monitor) throws Exception {
    String url = "http://127.0.0.1:" + monitor.address().getPort() + "/metrics";
    write("metrics.txt", send(HttpRequest.newBuilder(URI.create(url))));
    StringBuilder said = new StringBuilder();
    int status = Tool.run(said, folder.resolve("metrics.txt"), "promtool", "check", "metrics");
    assertEquals(0, status, said::toString);
    write(
        "openmetrics.txt",
        send(
            HttpRequest.newBuilder(URI.create(url))
                .header("Accept", "application/openmetrics-text; version=1.0.0")));
    StringBuilder count = new StringBuilder();
    status = Tool.run(count, folder.resolve("openmetrics.txt"), PYTHON, "-c", STRICT);
    assertEquals(0, status, count::toString);
    return Long.parseLong(count.toString().strip());
  }

  private String send(HttpRequest.Builder request) throws IOException, InterruptedException {
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString()).body();
  }
}
