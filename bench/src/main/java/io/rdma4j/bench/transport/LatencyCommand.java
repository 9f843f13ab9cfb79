package io.rdma4j.bench.transport;

import io.rdma4j.bench.Progress;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Round trips. */
@Command(
    name = "latency",
    description = "Round trips between two processes, one at a time and at a fixed rate.")
public final class LatencyCommand extends TransportCommand {
  private static final Task ROUND_TRIP = Task.roundTrip(64);
  private static final Task READ = Task.read(64);
  private static final long NS_PER_SECOND = 1_000_000_000L;

  @Option(
      names = "--rate",
      paramLabel = "N",
      defaultValue = "20000",
      description = "Round trips per second of the fixed rate, ${DEFAULT-VALUE} by default.")
  private int rate;

  /** Created by picocli. */
  public LatencyCommand() {}

  @Override
  List<Task> tasks() {
    return List.of(ROUND_TRIP, READ);
  }

  @Override
  List<Figure> figures() {
    return List.of(
        Figure.time("rtt64_socket_vs_shm", ROUND_TRIP, "socket", "shm"),
        Figure.time("rtt64_socket_blocking_vs_shm", ROUND_TRIP, "socket_blocking", "shm"),
        Figure.time("rtt64_netty_vs_shm", ROUND_TRIP, "netty", "shm"),
        Figure.time("rtt64_aeron_vs_shm", ROUND_TRIP, "aeron", "shm"),
        Figure.time("rtt64_line_vs_shm", ROUND_TRIP, "line", "shm"),
        Figure.time("rtt64_lines_vs_shm", ROUND_TRIP, "lines", "shm"),
        Figure.time("rtt64_jucx_vs_shm", ROUND_TRIP, "jucx", "shm"),
        Figure.time("rtt64_ibsendlat_vs_verbs", ROUND_TRIP, "ibsendlat", "verbs"),
        Figure.time("read64_ibreadlat_vs_verbs", READ, "ibreadlat", "verbs"));
  }

  @Override
  List<Tool> tools() {
    return List.of(
        new Tool(ROUND_TRIP, "ibsendlat", "ib_send_lat"),
        new Tool(ROUND_TRIP, "ibwritelat", "ib_write_lat"),
        new Tool(READ, "ibreadlat", "ib_read_lat"));
  }

  @Override
  void measureMore(Map<String, LinkSubject> subjects, Result result, Progress progress)
      throws IOException {
    int lengthBytes = ROUND_TRIP.lengthBytes();
    for (Map.Entry<String, LinkSubject> way : subjects.entrySet()) {
      result.addDistribution(ROUND_TRIP.key() + "_" + way.getKey(), way.getValue().roundTripNs());
    }
    long intervalNs = NS_PER_SECOND / rate;
    long count = plan().distributionNs() / intervalNs;
    for (Map.Entry<String, LinkSubject> way : subjects.entrySet()) {
      if (!way.getValue().carriesStreams()) {
        continue; // one message at a time can not be paced
      }
      progress.show("times at " + rate + " a second: " + way.getKey());
      Histogram ns = new Histogram(3);
      way.getValue().pacedRoundTrips(count, intervalNs, lengthBytes, ns);
      result.addDistribution(ROUND_TRIP.key() + "_at_" + rate + "_" + way.getKey(), ns);
    }
    progress.clear();
  }
}
