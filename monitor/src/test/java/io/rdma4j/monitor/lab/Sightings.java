package io.rdma4j.monitor.lab;

import io.rdma4j.monitor.Alerting;
import io.rdma4j.monitor.Monitor;
import io.rdma4j.monitor.MonitorConfig;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.Incident;
import io.rdma4j.status.StatusRegistry.Registration;
import io.rdma4j.transport.Node;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * When and where an operator can see a fault with its cause: looks at all places at once, as their
 * users do. One thread asks.
 */
final class Sightings {
  /** Where a fault can be seen. */
  enum Place {
    /** The event of the device or the path stands in the journal. */
    JOURNAL,
    /** A listener in the process is told the cause. */
    LISTENER,
    /** {@code /incidents} names it. */
    INCIDENTS,
    /** {@code /metrics} counts the event, and has an incident of this cause. */
    METRICS,
    /** The dashboard's stream names it. */
    DASHBOARD,
    /** Alertmanager has an alert of its incident. */
    ALERTMANAGER
  }

  /** All but Alertmanager, which keeps an alert for a while. */
  static final Set<Place> OWN = EnumSet.complementOf(EnumSet.of(Place.ALERTMANAGER));

  private static final Pattern INCIDENT =
      Pattern.compile(
          "\\{\"id\":(\\d+),\"revision\":.*?\"causes\":\\[(?:\\{\"id\":\"([a-z-]+)\")?");

  private static final Pattern SAMPLE =
      Pattern.compile(
          "rdma4j_(events_total|incidents_open|incidents_total)\\{[a-z]+=\"([a-z_-]+)\"\\}"
              + " ([0-9.E+]+)");

  /** As often as the emulated processors can bear it beside what they measure. */
  private static final long LOOK_EVERY_MS = 200;

  private static final int WARM_UPS = 4;
  private static final int TIMEOUT_MS = 60_000;
  private static final long LIMIT_NS = 90_000_000_000L;

  private final Node node;
  private final Monitor monitor;
  private final Alerting alerting;
  private final Registration listening;
  private final List<Thread> threads = new ArrayList<>();

  /** What was seen since the last {@link #forget}, and when first. */
  private final ConcurrentMap<String, Long> firstNs = new ConcurrentHashMap<>();

  /** The incidents that the dashboard was sent last. */
  private volatile String lastSent = "";

  private volatile long lastEvent;
  private volatile boolean closed;

  /** Starts to look at a node. */
  Sightings(Node node) throws Exception {
    this.node = node;
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    monitor =
        Monitor.start(MonitorConfig.defaults().withAddress(any), node.metrics(), node.journal());
    listening = node.journal().listen(this::hear);
    warmUp();
    alerting = new Alerting(Files.createTempDirectory("alerting"), monitor.address().getPort());
    alerting.awaitQuiet();
    look("alerts", this::lookAtAlerts);
    look("incidents", this::lookAtIncidents);
    look("metrics", this::lookAtMetrics);
    look("dashboard", this::follow);
  }

  /** Pages come quickly once all their code has been used, which takes seconds in emulation. */
  private void warmUp() throws IOException {
    for (int i = 0; i < WARM_UPS; i++) {
      read("/metrics");
      read("/incidents?format=json");
    }
  }

  private interface Look {
    void run() throws IOException, InterruptedException;
  }

  private void look(String name, Look look) {
    threads.add(
        Thread.ofPlatform().name("sightings-" + name).daemon(true).start(() -> runQuietly(look)));
  }

  private void runQuietly(Look look) {
    try {
      look.run();
    } catch (IOException e) {
      if (!closed) {
        throw new UncheckedIOException(e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // closed
    }
  }

  private URLConnection open(String page) throws IOException {
    String url = "http://127.0.0.1:" + monitor.address().getPort() + page;
    URLConnection connection = URI.create(url).toURL().openConnection();
    connection.setReadTimeout(TIMEOUT_MS);
    return connection;
  }

  private String read(String page) throws IOException {
    try (var in = open(page).getInputStream()) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private void note(Place place, String what) {
    firstNs.putIfAbsent(place + " " + what, System.nanoTime());
  }

  private void hear(Incident incident) {
    if (incident.id() > lastEvent) {
      incident.cause().ifPresent(cause -> note(Place.LISTENER, cause.id()));
    }
  }

  private void lookAtIncidents() throws IOException, InterruptedException {
    while (!closed) {
      noteCauses(Place.INCIDENTS, read("/incidents?format=json"));
      Thread.sleep(LOOK_EVERY_MS);
    }
  }

  private void noteCauses(Place place, String json) {
    for (Matcher incident = INCIDENT.matcher(json); incident.find(); ) {
      if (incident.group(2) != null && Long.parseLong(incident.group(1)) > lastEvent) {
        note(place, incident.group(2));
      }
    }
  }

  /** Notes what has grown, by its label. */
  private void lookAtMetrics() throws IOException, InterruptedException {
    Map<String, Double> before = new HashMap<>();
    while (!closed) {
      for (Matcher sample = SAMPLE.matcher(read("/metrics")); sample.find(); ) {
        double value = Double.parseDouble(sample.group(3));
        Double old = before.put(sample.group(1) + sample.group(2), value);
        if (value > (old == null ? 0 : old)) {
          note(Place.METRICS, sample.group(2));
        }
      }
      Thread.sleep(LOOK_EVERY_MS);
    }
  }

  /** Notes the causes of alerts that are new. */
  private void lookAtAlerts() throws IOException, InterruptedException {
    Set<String> before = Set.of();
    while (!closed) {
      Set<String> causes = alerting.incidentCauses();
      for (String cause : causes) {
        if (!before.contains(cause)) {
          note(Place.ALERTMANAGER, cause);
        }
      }
      before = causes;
      Thread.sleep(LOOK_EVERY_MS);
    }
  }

  private void follow() throws IOException {
    try (var lines =
        new BufferedReader(
            new InputStreamReader(open("/stream").getInputStream(), StandardCharsets.UTF_8))) {
      for (String line; !closed && (line = lines.readLine()) != null; ) {
        int incidents = line.indexOf("\"incidents\":");
        if (incidents >= 0) {
          lastSent = line.substring(incidents);
          noteCauses(Place.DASHBOARD, lastSent);
        }
      }
    }
  }

  /** What was seen before counts no longer. */
  void forget() {
    List<Event> events = node.journal().events();
    lastEvent = events.isEmpty() ? 0 : events.getLast().sequence();
    firstNs.clear();
  }

  /**
   * Waits until a fault can be seen.
   *
   * @param places in all of these
   * @param kinds any of these in the journal
   * @return when, by {@link System#nanoTime}
   */
  Map<Place, Long> await(Set<Place> places, String cause, Set<EventKind> kinds)
      throws InterruptedException {
    long startNs = System.nanoTime();
    while (true) {
      Map<Place, Long> seen = seen(cause, kinds);
      if (seen.keySet().containsAll(places)) {
        return seen;
      }
      if (System.nanoTime() - startNs > LIMIT_NS) {
        throw new AssertionError(
            "%s is seen in %s alone; seen are %s; the dashboard was sent %s; events behind %d: %s"
                .formatted(
                    cause,
                    seen.keySet(),
                    firstNs.keySet(),
                    lastSent,
                    lastEvent,
                    node.journal().eventsAfter(lastEvent)));
      }
      Thread.sleep(LOOK_EVERY_MS); // when something was seen, is noted where it was seen
    }
  }

  private Map<Place, Long> seen(String cause, Set<EventKind> kinds) {
    Map<Place, Long> seen = new EnumMap<>(Place.class);
    for (Event event : node.journal().eventsAfter(lastEvent)) {
      if (kinds.contains(event.kind())) {
        seen.putIfAbsent(Place.JOURNAL, event.monotonicNs());
      }
    }
    for (Place place :
        List.of(Place.LISTENER, Place.INCIDENTS, Place.DASHBOARD, Place.ALERTMANAGER)) {
      Long atNs = firstNs.get(place + " " + cause);
      if (atNs != null) {
        seen.put(place, atNs);
      }
    }
    Long openNs = firstNs.get(Place.METRICS + " " + cause);
    for (EventKind kind : kinds) {
      Long countedNs = firstNs.get(Place.METRICS + " " + kind.name().toLowerCase(Locale.ROOT));
      if (openNs != null && countedNs != null) {
        seen.merge(Place.METRICS, Math.max(openNs, countedNs), Math::min);
      }
    }
    return seen;
  }

  void close() throws InterruptedException {
    closed = true;
    listening.close();
    monitor.close();
    for (Thread thread : threads) {
      thread.interrupt();
      thread.join(TIMEOUT_MS);
    }
    alerting.close();
  }
}
