package io.rdma4j.tools.demo;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The demo's result as a table for people and as JSON for machines. */
final class DemoReport {
  private final List<DemoRun> runs;
  private final Map<String, String> unavailable;

  /**
   * Creates the report.
   *
   * @param unavailable ways that cannot be used here, each with the reason
   */
  DemoReport(List<DemoRun> runs, Map<String, String> unavailable) {
    this.runs = runs;
    this.unavailable = unavailable;
  }

  String table() {
    StringBuilder text = new StringBuilder();
    line(
        text,
        "%-13s %9s %9s %9s %13s %8s %5s %5s %5s %8s   %s",
        "transport",
        "rtt p50",
        "p99",
        "p99.9",
        "messages/s",
        "cpu/msg",
        "lost",
        "dup",
        "bad",
        "pool hit",
        "against sockets: rtt, rate, cpu");
    DemoRun socket = baseline();
    for (DemoRun run : runs) {
      if (run.failure() != null) {
        line(
            text,
            "%-13s failed: %s (lost %d, duplicated %d, corrupted %d)",
            label(run),
            run.failure(),
            run.lost(),
            run.duplicated(),
            run.corrupted());
        continue;
      }
      line(
          text,
          "%-13s %6.2f us %6.1f us %6.1f us %,13.0f %5.2f us %5d %5d %5d %8s   %s",
          label(run),
          run.p50Ns() / 1e3,
          run.p99Ns() / 1e3,
          run.p999Ns() / 1e3,
          run.messagesPerSecond(),
          run.cpuMicrosPerMessage(),
          run.lost(),
          run.duplicated(),
          run.corrupted(),
          Double.isNaN(run.poolHitRate())
              ? "-"
              : String.format(Locale.ROOT, "%.2f %%", 100 * run.poolHitRate()),
          socket == null || run.transport().equals("socket")
              ? ""
              : String.format(
                  Locale.ROOT,
                  "%.1fx, %.1fx, %.1fx",
                  (double) socket.p50Ns() / run.p50Ns(),
                  run.messagesPerSecond() / socket.messagesPerSecond(),
                  socket.cpuMicrosPerMessage() / run.cpuMicrosPerMessage()));
    }
    for (DemoRun run : runs) {
      if (!run.description().isEmpty()) {
        line(text, "%-13s = %s", label(run), run.description());
      }
    }
    unavailable.forEach((way, reason) -> line(text, "%-13s not here: %s", way, reason));
    return text.toString();
  }

  private static void line(StringBuilder text, String format, @Nullable Object... values) {
    text.append(String.format(Locale.ROOT, format, values).stripTrailing()).append('\n');
  }

  private static String label(DemoRun run) {
    return run.device().isEmpty() ? run.transport() : run.transport() + " " + run.device();
  }

  private @Nullable DemoRun baseline() {
    Predicate<DemoRun> isSocket = run -> run.transport().equals("socket") && run.failure() == null;
    return runs.stream().filter(isSocket).findFirst().orElse(null);
  }

  void writeJson(Path file) throws IOException {
    List<Map<String, Object>> rows = new ArrayList<>();
    DemoRun socket = baseline();
    for (DemoRun run : runs) {
      rows.add(row(run, socket));
    }
    Map<String, Object> root = new LinkedHashMap<>();
    root.put("runs", rows);
    root.put("unavailable", unavailable);
    Files.writeString(file, JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT).asString(root) + "\n");
  }

  private static @Nullable Double finiteOrNull(double value) {
    return Double.isFinite(value) ? value : null;
  }

  private static Map<String, Object> row(DemoRun run, @Nullable DemoRun socket) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("transport", run.transport());
    row.put("device", run.device());
    if (run.failure() != null) {
      row.put("failure", run.failure());
    }
    row.put("description", run.description());
    row.put("messages", run.messages());
    row.put("lost", run.lost());
    row.put("duplicated", run.duplicated());
    row.put("corrupted", run.corrupted());
    Map<String, Object> rtt = new LinkedHashMap<>();
    rtt.put("p50", run.p50Ns());
    rtt.put("p99", run.p99Ns());
    rtt.put("p999", run.p999Ns());
    row.put("rttNs", rtt);
    row.put("messagesPerSecond", finiteOrNull(run.messagesPerSecond()));
    row.put("cpuMicrosPerMessage", finiteOrNull(run.cpuMicrosPerMessage()));
    if (!Double.isNaN(run.poolHitRate())) {
      row.put("poolHitRate", run.poolHitRate());
    }
    if (socket != null && run.failure() == null) {
      Map<String, Object> ratio = new LinkedHashMap<>();
      ratio.put("rtt", (double) socket.p50Ns() / run.p50Ns());
      ratio.put("throughput", run.messagesPerSecond() / socket.messagesPerSecond());
      ratio.put("cpu", socket.cpuMicrosPerMessage() / run.cpuMicrosPerMessage());
      row.put("ratioToSocket", ratio);
    }
    return row;
  }
}
