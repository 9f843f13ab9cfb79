package io.rdma4j.diagnosis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.HostReport.Unreadable;
import io.rdma4j.host.PortCounters;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * An incident of the labelled corpus in {@code src/test/resources/incidents}, one file each.
 *
 * <pre>
 *  label    CAUSE | unknown | healthy
 *  also     CAUSE                      a second cause, as true as the first
 *  source   where the facts are from
 *  config   NAME NUMBER
 *  app      NAME NUMBER
 *  event    SECONDS KIND [connection=N] [device=D] [port=P] [code=N] [vendor=N] [value=N]
 *  counters DEVICE PORT
 *    FOLDER/NAME BEFORE AFTER          what the two readings of the file said, numbers or not
 *  peer     event|completion|counter|config|app NAME NUMBER
 *  peer     vendor NUMBER
 * </pre>
 */
final class RecordedIncident {
  static final String HEALTHY = "healthy";
  static final String UNKNOWN = "unknown";

  private static final Pattern ATTRIBUTE = Pattern.compile("(\\w+)=(\\S+)");

  private final String name;
  private String label = "";
  private String also = "";
  private String source = "";
  private final Facts.Builder facts = new Facts.Builder();
  private final TreeMap<String, Double> peer = new TreeMap<>();
  private final List<Event> events = new ArrayList<>();
  private final List<String[]> counterRows = new ArrayList<>();
  private String device = "";
  private int port;

  private RecordedIncident(String name) {
    this.name = name;
  }

  static List<RecordedIncident> all() throws IOException {
    URL folder = RecordedIncident.class.getResource("/incidents");
    if (folder == null) {
      throw new IOException("the folder of recorded incidents is missing");
    }
    List<RecordedIncident> all = new ArrayList<>();
    try (Stream<Path> files = Files.list(Path.of(folder.toURI()))) {
      for (Path file : files.sorted().toList()) {
        all.add(read(file));
      }
    } catch (URISyntaxException e) {
      throw new IOException(e);
    }
    return all;
  }

  private static RecordedIncident read(Path file) throws IOException {
    String fileName = file.getFileName().toString();
    RecordedIncident incident =
        new RecordedIncident(fileName.substring(0, fileName.length() - ".txt".length()));
    for (String line : Files.readString(file, UTF_8).lines().toList()) {
      try {
        incident.take(line);
      } catch (RuntimeException e) {
        throw new IOException(file + ": " + line, e);
      }
    }
    incident.end();
    if (incident.label.isEmpty() || incident.source.isEmpty()) {
      throw new IOException(file + " lacks label or source");
    }
    return incident;
  }

  private void take(String line) {
    String[] words = line.strip().split("\\s+", -1);
    if (line.startsWith("  ")) {
      counterRows.add(words);
      return;
    }
    switch (words[0]) {
      case "label" -> label = words[1];
      case "also" -> also = words[1];
      case "source" -> source = line.substring("source ".length());
      case "config", "app" -> facts.set(words[0] + "." + words[1], Double.parseDouble(words[2]));
      case "event" -> events.add(event(line, words));
      case "counters" -> {
        endPort();
        device = words[1];
        port = Integer.parseInt(words[2]);
      }
      case "peer" -> {
        if (words[1].equals("vendor")) {
          peer.put("vendor", (double) Long.decode(words[2]));
        } else {
          peer.put(
              words[1] + "." + words[2].toLowerCase(Locale.ROOT), Double.parseDouble(words[3]));
        }
      }
      default -> throw new IllegalArgumentException("unknown word " + words[0]);
    }
  }

  private Event event(String line, String[] words) {
    TreeMap<String, String> attributes = new TreeMap<>();
    Matcher matcher = ATTRIBUTE.matcher(line);
    while (matcher.find()) {
      attributes.put(matcher.group(1), matcher.group(2));
    }
    long atNs = Math.round(Double.parseDouble(words[1]) * 1e9);
    long connection = number(attributes, "connection");
    EventSubject subject =
        new EventSubject(
            attributes.getOrDefault("device", connection == 0 ? "" : "mlx5_0"),
            (int) number(attributes, "port"),
            (int) connection,
            connection,
            connection == 0 ? "" : "192.0.2.7:7400");
    return new Event(
        events.size() + 1L,
        atNs,
        atNs,
        EventKind.valueOf(words[2]),
        subject,
        (int) number(attributes, "code"),
        (int) number(attributes, "vendor"),
        number(attributes, "value"),
        "");
  }

  private static long number(Map<String, String> attributes, String key) {
    return Long.decode(attributes.getOrDefault(key, "0"));
  }

  /** The counters so far are those of one port. */
  private void endPort() {
    if (!device.isEmpty()) {
      FactSources.add(facts, CounterDelta.between(reading(1), reading(2)));
    }
    counterRows.clear();
  }

  private PortCounters reading(int column) {
    TreeMap<String, Long> values = new TreeMap<>();
    List<Unreadable> missing = new ArrayList<>();
    for (String[] row : counterRows) {
      if (row[column].matches("[0-9]+")) {
        values.put(row[0], Long.parseUnsignedLong(row[column]));
      } else {
        missing.add(new Unreadable(row[0], row[column]));
      }
    }
    return new PortCounters(device, port, null, null, values, missing);
  }

  String label() {
    return label;
  }

  /** A second cause, empty when there is one only. */
  String also() {
    return also;
  }

  Facts facts() {
    return facts.build();
  }

  private void end() {
    endPort();
    boolean first = true;
    for (Event event : events) {
      FactSources.add(facts, event, first);
      first &= event.kind() != EventKind.COMPLETION_ERROR;
    }
    if (!peer.isEmpty()) {
      facts.peer(peer);
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
