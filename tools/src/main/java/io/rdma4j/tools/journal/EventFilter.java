package io.rdma4j.tools.journal;

import io.rdma4j.status.Event;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventKind.Severity;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which events and incidents are wanted; what is not given does not choose. */
final class EventFilter {
  private static final long NS_PER_SECOND = 1_000_000_000L;

  @Option(
      names = "--kind",
      split = ",",
      paramLabel = "KIND",
      description =
          "Kinds of events, for example port_err,completion_error; a part of a name will do.")
  List<String> kinds = List.of();

  @Option(
      names = "--severity",
      description = "The least severity of an event: ${COMPLETION-CANDIDATES}.")
  @Nullable Severity severity;

  @Option(names = "--device", description = "Kernel name of a device.")
  @Nullable String device;

  @Option(names = "--peer", description = "A part of the peer's address.")
  @Nullable String peer;

  @Option(names = "--connection", description = "Number of a connection within its node.")
  @Nullable Long connection;

  @Option(
      names = "--last",
      paramLabel = "TIME",
      description = "How far back from the last event, for example 30s, 10m, 2h.")
  @Nullable String last;

  /** Returns the first of the kinds that no event can have. */
  Optional<String> unknownKind() {
    return kinds.stream()
        .filter(k -> Stream.of(EventKind.values()).noneMatch(kind -> isPartOfName(k, kind)))
        .findFirst();
  }

  private static boolean isPartOfName(String part, EventKind kind) {
    return kind.name().toLowerCase(Locale.ROOT).contains(part.toLowerCase(Locale.ROOT));
  }

  boolean accepts(Event event, long endNs) {
    return (kinds.isEmpty() || kinds.stream().anyMatch(k -> isPartOfName(k, event.kind())))
        && (severity == null || event.kind().severity().compareTo(severity) >= 0)
        && accepts(event.subject())
        && isRecent(event.timeNs(), endNs);
  }

  /** An incident is wanted when one of its events is. */
  boolean accepts(Incident incident, long endNs) {
    return incident.events().stream().anyMatch(event -> accepts(event, endNs));
  }

  private boolean accepts(EventSubject subject) {
    return (device == null || device.equals(subject.device()))
        && (peer == null || subject.peer().contains(peer))
        && (connection == null || connection == subject.connection());
  }

  private boolean isRecent(long timeNs, long endNs) {
    return last == null || endNs - timeNs <= duration(last).toNanos();
  }

  /**
   * Reads a time with its unit.
   *
   * @throws IllegalArgumentException when it is none
   */
  static Duration duration(String text) {
    if (!text.matches("[0-9]{1,9}[smhd]")) {
      throw new IllegalArgumentException("'" + text + "' is no time; examples: 30s, 10m, 2h, 1d");
    }
    long number = Long.parseLong(text.substring(0, text.length() - 1));
    return switch (text.charAt(text.length() - 1)) {
      case 's' -> Duration.ofSeconds(number);
      case 'm' -> Duration.ofMinutes(number);
      case 'h' -> Duration.ofHours(number);
      default -> Duration.ofDays(number);
    };
  }

  static double seconds(long ns) {
    return (double) ns / NS_PER_SECOND;
  }
}
