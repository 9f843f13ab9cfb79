package io.rdma4j.monitor;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The real Prometheus and the real Alertmanager with what is shipped for them, looking at one node.
 */
public final class Alerting implements AutoCloseable {
  static final Path SHIPPED = testClasses().resolve("../../prometheus").normalize();

  private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(60);

  private final HttpClient http = HttpClient.newHttpClient();
  private final Path folder;
  private final int prometheusPort = freePort();
  private final int alertmanagerPort = freePort();
  private final Tool alertmanager;
  private final Tool prometheus;

  /**
   * Starts both.
   *
   * @param folder for their files
   * @param nodePort where the node's monitor listens
   */
  public Alerting(Path folder, int nodePort) throws IOException {
    this.folder = folder;
    write("alerts.yml", Files.readString(SHIPPED.resolve("alerts.yml")));
    write("alertmanager.yml", Files.readString(SHIPPED.resolve("alertmanager.yml")));
    String config = Files.readString(SHIPPED.resolve("prometheus.yml"));
    config = replaced(config, "127.0.0.1:9093", "127.0.0.1:" + alertmanagerPort);
    config = replaced(config, "127.0.0.1:7480", "127.0.0.1:" + nodePort);
    write("prometheus.yml", config);
    alertmanager =
        Tool.start(
            folder.resolve("alertmanager.log"),
            "prometheus-alertmanager",
            "--config.file=" + folder.resolve("alertmanager.yml"),
            "--storage.path=" + folder.resolve("alertmanager"),
            "--web.listen-address=127.0.0.1:" + alertmanagerPort,
            "--cluster.listen-address=");
    try {
      prometheus =
          Tool.start(
              folder.resolve("prometheus.log"),
              "prometheus",
              "--config.file=" + folder.resolve("prometheus.yml"),
              "--storage.tsdb.path=" + folder.resolve("prometheus"),
              "--web.listen-address=127.0.0.1:" + prometheusPort);
    } catch (IOException e) {
      alertmanager.close();
      throw e;
    }
  }

  private static Path testClasses() {
    return Path.of(
        URI.create(Alerting.class.getProtectionDomain().getCodeSource().getLocation().toString()));
  }

  /** Skips the test unless they are installed. */
  static void requireTools() {
    Tool.require("promtool", "prometheus");
    Tool.require("prometheus", "prometheus");
    Tool.require("prometheus-alertmanager", "prometheus-alertmanager");
  }

  private static String replaced(String text, String old, String now) {
    assertTrue(text.contains(old), old + " in the shipped configuration");
    return text.replace(old, now);
  }

  private void write(String name, String text) throws IOException {
    Files.writeString(folder.resolve(name), text);
  }

  private static int freePort() {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new AssertionError("no free port", e);
    }
  }

  /** Waits until Prometheus has seen the node twice and no alert is active. */
  public void awaitQuiet() throws Exception {
    long endNs = System.nanoTime() + 2 * LIMIT_NS;
    String query =
        "count_over_time(rdma4j_node_connections_ended_total%7Bcause=%22peer_lost%22%7D%5B10s%5D)";
    while (true) {
      String samples = get("http://127.0.0.1:" + prometheusPort + "/api/v1/query?query=" + query);
      boolean seen = samples.contains("\"value\"") && !samples.contains(",\"1\"]");
      List<Map<?, ?>> active = alerts();
      if (seen && active != null && active.isEmpty()) {
        return;
      }
      assertTrue(prometheus.isAlive(), prometheus::said);
      assertTrue(alertmanager.isAlive(), alertmanager::said);
      assertTrue(System.nanoTime() < endNs, () -> "not quiet: " + samples + prometheus.said());
      Thread.sleep(200);
    }
  }

  /** Returns the causes of incidents that Alertmanager has alerts of. */
  public Set<String> incidentCauses() throws InterruptedException, IOException {
    List<Map<?, ?>> firing = alerts();
    return firing == null
        ? Set.of()
        : firing.stream()
            .filter(labels -> "Rdma4jIncident".equals(labels.get("alertname")))
            .map(labels -> String.valueOf(labels.get("cause")))
            .collect(Collectors.toSet());
  }

  /** Waits for the alert of an incident with one of some causes, and returns how long it took. */
  double secondsUntilIncident(List<String> causes, long sinceNs) throws Exception {
    while (Collections.disjoint(incidentCauses(), causes)) {
      if (System.nanoTime() - sinceNs > LIMIT_NS) {
        throw new AssertionError("no incident of " + causes + " in 60 s; alerts: " + alerts());
      }
      Thread.sleep(50);
    }
    return (System.nanoTime() - sinceNs) / 1e9;
  }

  /** Waits until no incident is open: what happens to the same peer soon after belongs to it. */
  void awaitNoIncident() throws Exception {
    long endNs = System.nanoTime() + 2 * LIMIT_NS;
    while (!incidentCauses().isEmpty()) {
      assertTrue(System.nanoTime() < endNs, "an incident is still open");
      Thread.sleep(200);
    }
  }

  /** Returns the labels of active alerts, null while Alertmanager does not answer. */
  private @Nullable List<Map<?, ?>> alerts() throws InterruptedException, IOException {
    String answer = get("http://127.0.0.1:" + alertmanagerPort + "/api/v2/alerts?active=true");
    if (!answer.startsWith("[")) {
      return null;
    }
    List<Map<?, ?>> all = new ArrayList<>();
    for (Object alert : JSON.std.listFrom(answer)) {
      if (((Map<?, ?>) alert).get("labels") instanceof Map<?, ?> labels) {
        all.add(labels);
      }
    }
    return all;
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

  @Override
  public void close() {
    prometheus.close();
    alertmanager.close();
    http.shutdownNow();
  }
}
