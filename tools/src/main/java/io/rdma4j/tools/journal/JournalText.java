package io.rdma4j.tools.journal;

import io.rdma4j.status.Cause;
import io.rdma4j.status.CounterWindow;
import io.rdma4j.status.Event;
import io.rdma4j.status.Incident;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;

/** Events as a table, incidents as paragraphs. */
final class JournalText {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS");

  private final PrintWriter out;
  private final ZoneId zone;

  JournalText(PrintWriter out, ZoneId zone) {
    this.out = out;
    this.zone = zone;
  }

  private String time(long epochNs) {
    return TIME.format(Instant.ofEpochSecond(0, epochNs).atZone(zone));
  }

  void events(List<Event> events) {
    out.printf("%-23s  %-7s  %-20s  %s%n", "time", "", "kind", "what");
    for (Event event : events) {
      out.printf(
          "%s  %-7s  %-20s  %s%n",
          time(event.timeNs()), lower(event.kind().severity()), lower(event.kind()), what(event));
    }
  }

  private static String what(Event event) {
    StringBuilder what = new StringBuilder(event.subject().toString());
    append(what, event.text());
    if (event.code() != 0) {
      append(what, "code " + event.code());
    }
    if (event.vendorError() != 0) {
      append(what, "vendor error 0x" + Integer.toHexString(event.vendorError()));
    }
    if (event.value() != 0) {
      append(what, "value " + event.value());
    }
    return what.toString();
  }

  private static void append(StringBuilder what, String more) {
    if (!more.isEmpty()) {
      what.append(what.isEmpty() ? "" : "; ").append(more);
    }
  }

  void incident(Incident incident) {
    out.printf(
        "%n%s  incident %d, %s, %.1f s, %d events, %d requests flushed%n",
        time(incident.openedNs()),
        incident.id(),
        lower(incident.state()),
        EventFilter.seconds(incident.updatedNs() - incident.openedNs()),
        incident.events().size() + incident.moreEvents(),
        incident.flushedRequests());
    out.println("  " + incident.trigger().inWords());
    if (incident.connections().size() > 1) {
      out.println("  connections " + incident.connections());
    }
    if (incident.causes().isEmpty()) {
      out.println("  cause    unknown: nothing that is known looks like this");
    }
    for (Cause cause : incident.causes()) {
      out.printf("  cause    %s (%s, %s)%n", cause.title(), cause.id(), lower(cause.confidence()));
      out.println("  seen     " + String.join(", ", cause.evidence()));
      if (!cause.missing().isEmpty()) {
        out.println("  missing  " + String.join(", ", cause.missing()));
      }
      if (!cause.inseparableFrom().isEmpty()) {
        out.println("  or       " + String.join("; ", cause.inseparableFrom()));
      }
      out.println("  next     " + cause.nextStep());
    }
    incident.counters().forEach(this::window);
    for (Event event : incident.events()) {
      double afterS = EventFilter.seconds(event.timeNs() - incident.openedNs());
      out.printf(Locale.ROOT, "  %+8.3f s  %-20s  %s%n", afterS, lower(event.kind()), what(event));
    }
  }

  private void window(CounterWindow window) {
    out.printf(
        Locale.ROOT,
        "  counters %s%s, %.0f s: %s; %d stood still%s%s%n",
        window.device(),
        window.port() == 0 ? "" : " port " + window.port(),
        EventFilter.seconds(window.toNs() - window.fromNs()),
        window.increases().isEmpty()
            ? "nothing moved"
            : String.join(
                ", ",
                window.increases().entrySet().stream()
                    .map(row -> row.getKey() + " +" + row.getValue())
                    .toList()),
        window.unmoved(),
        window.unreadable().isEmpty() ? "" : ", " + window.unreadable().size() + " unreadable",
        window.cleared() ? ", cleared meanwhile" : "");
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
