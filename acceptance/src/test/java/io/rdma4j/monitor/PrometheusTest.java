package io.rdma4j.monitor;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is shipped for Prometheus, with the real one and the real Alertmanager. */
@Timeout(300)
class PrometheusTest {
  private static final Path SHIPPED =
      Path.of("").toAbsolutePath().resolveSibling("monitor/prometheus");
  private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(60);

  /** From the fault to the alert at Alertmanager. */
  private static final double PROMISED_S = 5;

  private static final int ROUNDS = 3;
  private static final ConnectionHandler DEAF =
      new ConnectionHandler() {
        @Override
        public void onMessage(Connection from, Message message) {}
      };

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();

  @BeforeAll
  static void requireTools() {
    Tool.require("promtool", "prometheus");
    Tool.require("prometheus", "prometheus");
    Tool.require("prometheus-alertmanager", "prometheus-alertmanager");
  }

  @Test
  void rulesAndConfigurationsAreSoundAndEachAlertFiresInItsCase() throws Exception {
    String shipped = SHIPPED.toString();
    Tool.check("promtool", "check", "rules", shipped + "/alerts.yml");
    Tool.check("promtool", "check", "config", shipped + "/prometheus.yml");
    Tool.check("promtool", "test", "rules", shipped + "/alerts-test.yml");
    Tool.check("amtool", "check-config", shipped + "/alertmanager.yml");
  }

  @Test
  void aKilledPeerIsAnAlertWithinFiveSeconds() throws Exception {
    int prometheusPort = freePort();
    int alertmanagerPort = freePort();
    MonitorConfig anyPort = ShownNode.anyPort();
    try (Node node = Node.start(NodeConfig.builder().build());
        Monitor monitor = Monitor.start(anyPort, node.metrics())) {
      write("alerts.yml", Files.readString(SHIPPED.resolve("alerts.yml")));
      write("alertmanager.yml", Files.readString(SHIPPED.resolve("alertmanager.yml")));
      String config = Files.readString(SHIPPED.resolve("prometheus.yml"));
      config = replaced(config, "127.0.0.1:9093", "127.0.0.1:" + alertmanagerPort);
      config = replaced(config, "127.0.0.1:7480", "127.0.0.1:" + monitor.address().getPort());
      write("prometheus.yml", config);
      try (Tool alertmanager =
              Tool.start(
                  folder.resolve("alertmanager.log"),
                  "prometheus-alertmanager",
                  "--config.file=" + folder.resolve("alertmanager.yml"),
                  "--storage.path=" + folder.resolve("alertmanager"),
                  "--web.listen-address=127.0.0.1:" + alertmanagerPort,
                  "--cluster.listen-address=");
          Tool prometheus =
              Tool.start(
                  folder.resolve("prometheus.log"),
                  "prometheus",
                  "--config.file=" + folder.resolve("prometheus.yml"),
                  "--storage.tsdb.path=" + folder.resolve("prometheus"),
                  "--web.listen-address=127.0.0.1:" + prometheusPort)) {
        double bestS = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS && bestS > PROMISED_S; round++) {
          awaitQuiet(prometheus, prometheusPort, alertmanager, alertmanagerPort);
          bestS = Math.min(bestS, secondsFromKillToAlert(node, alertmanagerPort));
          System.out.printf("peer killed, alert at Alertmanager after %.1f s%n", bestS);
        }
        // A machine under load may miss it once; it has to be kept by configuration, though.
        assertTrue(bestS <= PROMISED_S, "the best of " + ROUNDS + " rounds took " + bestS + " s");
      }
    }
  }

  private static String replaced(String text, String old, String now) {
    assertTrue(text.contains(old), old + " in the shipped configuration");
    return text.replace(old, now);
  }

  private void write(String name, String text) throws IOException {
    Files.writeString(folder.resolve(name), text);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /** Waits until Prometheus has seen the node twice and no alert is active. */
  private void awaitQuiet(Tool prometheus, int prometheusPort, Tool alertmanager, int alertPort)
      throws Exception {
    long endNs = System.nanoTime() + 2 * LIMIT_NS;
    String query =
        "count_over_time(rdma4j_node_connections_ended_total%7Bcause=%22peer_lost%22%7D%5B10s%5D)";
    while (true) {
      String samples = get("http://127.0.0.1:" + prometheusPort + "/api/v1/query?query=" + query);
      boolean seen = samples.contains("\"value\"") && !samples.contains(",\"1\"]");
      List<String> active = alerts(alertPort);
      if (seen && active != null && active.isEmpty()) {
        return;
      }
      assertTrue(prometheus.isAlive(), prometheus::said);
      assertTrue(alertmanager.isAlive(), alertmanager::said);
      assertTrue(System.nanoTime() < endNs, () -> "not quiet: " + samples + prometheus.said());
      Thread.sleep(200);
    }
  }

  private double secondsFromKillToAlert(Node node, int alertPort) throws Exception {
    Process peer = startPeer();
    try (BufferedReader said = peer.inputReader()) {
      String line = said.readLine();
      assertNotNull(line, "the peer did not start");
      Connection connection = node.connect("127.0.0.1:" + line.split(" ")[1], DEAF);
      assertTrue(connection.isOpen());
      // The fault shall show as a change between two scrapes.
      Thread.sleep(2500);
      long killedNs = System.nanoTime();
      peer.destroyForcibly();
      while (System.nanoTime() - killedNs < LIMIT_NS) {
        List<String> firing = alerts(alertPort);
        if (firing != null && firing.contains("Rdma4jConnectionLost")) {
          return (System.nanoTime() - killedNs) / 1e9;
        }
        Thread.sleep(50);
      }
      throw new AssertionError("no alert within 60 s; there are " + alerts(alertPort));
    } finally {
      peer.destroyForcibly().waitFor();
    }
  }

  private static Process startPeer() throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            whereIs(PeerProcess.class) + ":" + whereIs(Node.class),
            PeerProcess.class.getName())
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  /** Test runners hide the class path. */
  private static Path whereIs(Class<?> type) {
    return Path.of(URI.create(type.getProtectionDomain().getCodeSource().getLocation().toString()));
  }

  /** Returns the names of active alerts, null while Alertmanager does not answer. */
  private @Nullable List<String> alerts(int port) throws Exception {
    String answer = get("http://127.0.0.1:" + port + "/api/v2/alerts?active=true");
    if (!answer.startsWith("[")) {
      return null;
    }
    List<String> names = new ArrayList<>();
    for (Object alert : JSON.std.listFrom(answer)) {
      if (((Map<?, ?>) alert).get("labels") instanceof Map<?, ?> labels) {
        names.add(String.valueOf(labels.get("alertname")));
      }
    }
    return names;
  }

  private String get(String url) throws InterruptedException {
    try {
      return http.send(
              HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (IOException e) {
      return "no answer: " + e;
    }
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
    write("metrics.txt", get(url));
    StringBuilder said = new StringBuilder();
    int status = Tool.run(said, folder.resolve("metrics.txt"), "promtool", "check", "metrics");
    assertEquals(0, status, said::toString);
    HttpResponse<String> open =
        http.send(
            HttpRequest.newBuilder(URI.create(url))
                .header("Accept", "application/openmetrics-text; version=1.0.0")
                .build(),
            HttpResponse.BodyHandlers.ofString());
    write("openmetrics.txt", open.body());
    StringBuilder count = new StringBuilder();
    status = Tool.run(count, folder.resolve("openmetrics.txt"), PYTHON, "-c", STRICT);
    assertEquals(0, status, count::toString);
    return Long.parseLong(count.toString().strip());
  }
}
