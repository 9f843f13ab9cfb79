package io.rdma4j.tools.journal;

import io.rdma4j.status.Event;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.Incident;
import io.rdma4j.status.JournalContents;
import io.rdma4j.status.JournalJson;
import io.rdma4j.status.JournalReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.ZoneId;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code rdma4j journal}: what a node's journal file holds, of a living process or a dead one. */
@Command(
    name = "journal",
    description = {
      "Show the events and incidents in a journal file.",
      "A node writes one with NodeConfig.journal; it can be read while the node runs and after it"
          + " was killed."
    },
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:no incident among what is shown",
      "1:some",
      "64:wrong command line",
      "70:the file can not be read"
    })
public final class JournalCommand implements Callable<Integer> {
  private static final int EXIT_INCIDENTS = 1;

  @Parameters(paramLabel = "FILE", description = "The journal file.")
  private Path file = Path.of("");

  @Option(
      names = "--json",
      description = "Write JSON: events, incidents, and what could not be read.")
  private boolean json;

  @Option(names = "--incidents", description = "Incidents alone.")
  private boolean incidentsOnly;

  @Option(names = "--utc", description = "Times in UTC instead of the local zone.")
  private boolean utc;

  @Mixin private EventFilter filter = new EventFilter();

  @Spec private CommandSpec spec = CommandSpec.create();

  /** Created by picocli. */
  public JournalCommand() {}

  @Override
  public Integer call() throws IOException {
    if (filter.last != null) {
      checkDuration(filter.last);
    }
    filter.unknownKind().ifPresent(this::refuseKind);
    JournalContents contents = JournalReader.read(file);
    long endNs = contents.events().isEmpty() ? 0 : contents.events().getLast().timeNs();
    List<Event> events =
        contents.events().stream().filter(event -> filter.accepts(event, endNs)).toList();
    List<Incident> incidents =
        contents.incidents().stream().filter(incident -> filter.accepts(incident, endNs)).toList();
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      writeJson(out, incidentsOnly ? List.of() : events, incidents, contents);
    } else {
      writeText(out, events, incidents, contents);
    }
    return incidents.isEmpty() ? 0 : EXIT_INCIDENTS;
  }

  private void checkDuration(String text) {
    try {
      EventFilter.duration(text);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "--last: " + e.getMessage(), e);
    }
  }

  private void refuseKind(String kind) {
    throw new ParameterException(
        spec.commandLine(),
        "--kind: no kind of event has '%s' in its name; there are: %s"
            .formatted(
                kind,
                Stream.of(EventKind.values())
                    .map(k -> k.name().toLowerCase(Locale.ROOT))
                    .collect(Collectors.joining(" "))));
  }

  private static void writeJson(
      PrintWriter out, List<Event> events, List<Incident> incidents, JournalContents contents) {
    out.println("{\"events\":" + JournalJson.events(events) + ",");
    out.println("\"incidents\":" + JournalJson.incidents(incidents) + ",");
    out.printf(
        "\"torn\":%d,\"cut\":%d,\"unknown\":%d}%n",
        contents.torn(), contents.cut(), contents.unknown());
  }

  private void writeText(
      PrintWriter out, List<Event> events, List<Incident> incidents, JournalContents contents) {
    JournalText text = new JournalText(out, utc ? ZoneId.of("UTC") : ZoneId.systemDefault());
    if (!incidentsOnly) {
      text.events(events);
    }
    incidents.forEach(text::incident);
    out.printf(
        "%n%d of %d events, %d of %d incidents%s%n",
        events.size(),
        contents.events().size(),
        incidents.size(),
        contents.incidents().size(),
        damage(contents));
  }

  private static String damage(JournalContents contents) {
    if (contents.torn() + contents.cut() + contents.unknown() == 0) {
      return "";
    }
    return "; not readable: %d torn by a kill or just being written, %d partly overwritten, %d of a later version"
        .formatted(contents.torn(), contents.cut(), contents.unknown());
  }
}
