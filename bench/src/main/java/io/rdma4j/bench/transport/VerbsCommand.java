package io.rdma4j.bench.transport;

import java.util.List;
import picocli.CommandLine.Command;

/**
 * The verbs path beside the C programs of perftest, and nothing else: what the lab's guest runs.
 */
@Command(
    name = "verbs",
    description =
        "Round trips, reads and streams over an RDMA device, beside perftest's C programs.")
public final class VerbsCommand extends TransportCommand {
  private static final Task ROUND_TRIP = Task.roundTrip(64);
  private static final Task READ = Task.read(64);
  private static final Task LONG = ThroughputCommand.LONG;
  private static final Task SHORT = ThroughputCommand.SHORT;

  /** Created by picocli. */
  public VerbsCommand() {}

  @Override
  List<Task> tasks() {
    return List.of(ROUND_TRIP, READ, LONG, SHORT);
  }

  @Override
  boolean takesPart(Way way, Task task) {
    return way.name().equals("verbs");
  }

  @Override
  List<Tool> tools() {
    return List.of(
        new Tool(ROUND_TRIP, "ibsendlat", "ib_send_lat"),
        new Tool(ROUND_TRIP, "ibwritelat", "ib_write_lat"),
        new Tool(READ, "ibreadlat", "ib_read_lat"),
        new Tool(LONG, "ibsendbw", "ib_send_bw"),
        new Tool(SHORT, "ibsendbw", "ib_send_bw"));
  }

  @Override
  List<Figure> figures() {
    return List.of(
        Figure.time("rtt64_ibsendlat_vs_verbs", ROUND_TRIP, "ibsendlat", "verbs"),
        Figure.time("read64_ibreadlat_vs_verbs", READ, "ibreadlat", "verbs"),
        Figure.time("bw64k_ibsendbw_vs_verbs", LONG, "ibsendbw", "verbs"),
        Figure.time("msgrate_b16_ibsendbw_vs_verbs", SHORT, "ibsendbw", "verbs"));
  }
}
