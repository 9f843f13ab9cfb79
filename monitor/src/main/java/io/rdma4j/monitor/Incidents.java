package io.rdma4j.monitor;

import io.rdma4j.monitor.Health.Finding;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.Incident;
import io.rdma4j.status.JournalJson;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The incidents of a journal as pages show them, the latest first; and what the health says of
 * those that are open. Safe for use by several threads.
 */
final class Incidents {
  /** Those that a browser is sent each second. */
  private static final int LIVE = 20;

  private static final DateTimeFormatter CLOCK =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSS'Z'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  /**
   * A JSON text, and what it was made of: an incident that has ended is sent each second and never
   * changes again.
   */
  private record Live(List<Long> idsAndRevisions, String json) {}

  private final @Nullable EventJournal journal;
  private volatile Live live = new Live(List.of(), JournalJson.incidents(List.of()));

  /**
   * Creates the view.
   *
   * @param journal null for none: there are no incidents then
   */
  Incidents(@Nullable EventJournal journal) {
    this.journal = journal;
  }

  /** Returns all of them but those that have become part of another. */
  private List<Incident> latestFirst() {
    return journal == null
        ? List.of()
        : journal.incidents().stream()
            .filter(incident -> incident.state() != Incident.State.MERGED)
            .sorted((a, b) -> Long.compare(b.openedNs(), a.openedNs()))
            .toList();
  }

  Response page(boolean json) {
    List<Incident> incidents = latestFirst();
    if (json) {
      return Response.json("{\"incidents\":" + JournalJson.incidents(incidents) + "}\n");
    }
    StringBuilder text = new StringBuilder();
    incidents.forEach(incident -> append(incident, text));
    return Response.text(text.isEmpty() ? "no incidents\n" : text.toString());
  }

  private static void append(Incident incident, StringBuilder text) {
    text.append(time(incident.openedNs()))
        .append(' ')
        .append(incident.state().name())
        .append(' ')
        .append(oneLine(incident.headline()))
        .append('\n');
    for (Event event : incident.events()) {
      text.append("  ").append(line(event));
    }
    if (incident.moreEvents() > 0) {
      text.append("  and ").append(incident.moreEvents()).append(" more events\n");
    }
  }

  Response events(boolean json) {
    List<Event> events = journal == null ? List.of() : journal.events();
    if (json) {
      return Response.json("{\"events\":" + JournalJson.events(events) + "}\n");
    }
    StringBuilder text = new StringBuilder();
    events.forEach(event -> text.append(line(event)));
    return Response.text(text.isEmpty() ? "no events\n" : text.toString());
  }

  private static String line(Event event) {
    return time(event.timeNs()) + " " + oneLine(event.inWords()) + "\n";
  }

  private static String time(long epochNs) {
    return CLOCK.format(Instant.ofEpochSecond(0, epochNs));
  }

  /** What a peer said is part of these texts. */
  private static String oneLine(String text) {
    return text.replaceAll("\\p{Cntrl}", " ");
  }

  /** Returns the latest ones as JSON. */
  String live() {
    List<Incident> latest = latestFirst().stream().limit(LIVE).toList();
    List<Long> idsAndRevisions =
        latest.stream().flatMap(i -> Stream.of(i.id(), (long) i.revision())).toList();
    Live known = live;
    if (!known.idsAndRevisions.equals(idsAndRevisions)) {
      known = new Live(idsAndRevisions, JournalJson.incidents(latest));
      live = known;
    }
    return known.json;
  }

  /** Returns a finding for each incident that is open and is trouble. */
  List<Finding> findings() {
    return latestFirst().stream()
        .filter(incident -> incident.state() == Incident.State.OPEN)
        .filter(incident -> incident.trigger().kind().severity() != EventKind.Severity.INFO)
        .map(i -> new Finding("incident", Health.Level.DEGRADED, oneLine(i.headline())))
        .toList();
  }
}
