package io.rdma4j.status;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Events that belong together, with their causes: a picture of one moment. The same incident comes
 * again with a higher {@link #revision} when more is known.
 *
 * <p>Immutable.
 *
 * @param id number of the incident: the {@link Event#sequence} of the event that opened it
 * @param revision counts the pictures of this incident, from 1
 * @param state whether more may come
 * @param openedNs time of the first event, nanoseconds since the epoch
 * @param updatedNs time of this picture
 * @param subject what is concerned as a whole: without a port when several are, without a
 *     connection when several are
 * @param connections numbers of the connections concerned, in the order in which they turned up
 * @param events the events, oldest first, at most {@link #MAX_EVENTS}
 * @param moreEvents how many more there were
 * @param flushedRequests requests that were flushed: consequences, not failures of their own
 * @param causes the most probable first; empty when nothing that is known fits
 * @param counters windows of the ports concerned
 */
public record Incident(
    long id,
    int revision,
    State state,
    long openedNs,
    long updatedNs,
    EventSubject subject,
    List<Long> connections,
    List<Event> events,
    long moreEvents,
    long flushedRequests,
    List<Cause> causes,
    List<CounterWindow> counters) {

  /** The most events an incident keeps. */
  public static final int MAX_EVENTS = 64;

  /** Life of an incident. */
  public enum State {
    /** More events may join. */
    OPEN,
    /** Nothing has joined for a while. */
    CLOSED,
    /** It turned out to be a part of another incident, which has its events now. */
    MERGED
  }

  /** Copies the lists. */
  public Incident {
    connections = List.copyOf(connections);
    events = List.copyOf(events);
    causes = List.copyOf(causes);
    counters = List.copyOf(counters);
  }

  /** Returns the most probable cause; empty when nothing that is known fits. */
  public Optional<Cause> cause() {
    return causes.stream().findFirst();
  }

  /** Returns the first event that is trouble, or the first of all. */
  public Event trigger() {
    return events.stream()
        .filter(event -> event.kind().severity() != EventKind.Severity.INFO)
        .findFirst()
        .orElse(events.getFirst());
  }

  /** Returns the incident in one line: what happened, to what, why, and what to do. */
  public String headline() {
    StringBuilder line = new StringBuilder("incident ").append(id).append(": ");
    line.append(trigger().kind().text());
    String about = subject.toString();
    line.append(about.isEmpty() ? "" : " (" + about + ")");
    if (connections.size() > 1) {
      line.append(", ").append(connections.size()).append(" connections");
    }
    if (flushedRequests > 0) {
      line.append(", ").append(flushedRequests).append(" requests flushed");
    }
    cause()
        .ifPresentOrElse(
            cause -> {
              line.append("; cause: ").append(cause.title());
              line.append(" (").append(cause.confidence().name().toLowerCase(Locale.ROOT));
              line.append(
                  cause.evidence().isEmpty() ? "" : ": " + String.join(", ", cause.evidence()));
              line.append("); next: ").append(cause.nextStep());
            },
            () -> line.append("; cause unknown: ").append(trigger().text()));
    return line.toString();
  }
}
