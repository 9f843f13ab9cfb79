package io.rdma4j.tools.top;

import io.rdma4j.tools.top.NodePicture.Row;
import io.rdma4j.tools.top.PoolScreen.Style;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Lays a node out on a screen: a function of its arguments alone. */
final class NodeScreen {
  private static final String RESET = "\033[0m";
  private static final String BOLD = "\033[1m";
  private static final String GREEN = "\033[32m";
  private static final String YELLOW = "\033[33m";
  private static final String RED = "\033[31m";
  private static final int MOST_FINDINGS = 4;
  private static final int MOST_INCIDENTS = 6;

  /** Rows of the screen for all but connections. */
  private static final int OTHER_ROWS = 16;

  private static final String UNICODE_BARS = "▁▂▃▄▅▆▇█";
  private static final String ASCII_BARS = ".:-=+*#@";
  private static final DateTimeFormatter CLOCK =
      DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT).withZone(ZoneId.systemDefault());

  private final Style style;
  private final List<String> lines = new ArrayList<>();

  private NodeScreen(Style style) {
    this.style = style;
  }

  /**
   * Returns the lines of one frame.
   *
   * @param before the second before, null at the first
   */
  static List<String> lines(
      String title, @Nullable NodePicture before, NodePicture now, Style style) {
    NodeScreen screen = new NodeScreen(style);
    screen.summary(title, now);
    screen.pool(now);
    screen.connections(before, now);
    screen.incidents(now);
    return screen.lines.subList(0, Math.min(screen.lines.size(), style.rows()));
  }

  private void summary(String title, NodePicture now) {
    String colour =
        switch (now.status()) {
          case "OK" -> GREEN;
          case "DEGRADED" -> YELLOW;
          default -> RED;
        };
    line(
        BOLD + colour,
        "rdma4j top   %s   %s   %s",
        title,
        CLOCK.format(Instant.ofEpochMilli(now.epochMs())),
        now.status());
    now.findings().stream().limit(MOST_FINDINGS).forEach(finding -> line(colour, "  %s", finding));
    line(
        "",
        "messages     sent %s   received %s   refused %s",
        rate(now, "sent_per_second"),
        rate(now, "received_per_second"),
        rate(now, "back_pressured_per_second"));
    line(
        "",
        "payload      sent %s   received %s",
        bytesRate(now.figure("sent_bytes_per_second")),
        bytesRate(now.figure("received_bytes_per_second")));
    line(
        "",
        "requests     p50 %s   p99 %s   p99.9 %s",
        seconds(now.figure("request_p50_seconds")),
        seconds(now.figure("request_p99_seconds")),
        seconds(now.figure("request_p999_seconds")));
    line("", "sent         %s", bars(now.history()));
  }

  private static String rate(NodePicture now, String figure) {
    double value = now.figure(figure);
    return Double.isNaN(value) ? "-" : Units.rate(value);
  }

  private static String bytesRate(double perSecond) {
    return Double.isNaN(perSecond) ? "-" : Units.bytes(Math.round(perSecond)) + "/s";
  }

  private static String seconds(double seconds) {
    return Double.isNaN(seconds) ? "-" : Units.duration(Math.round(seconds * 1e9));
  }

  /** The last seconds, each as high as its share of the highest. */
  private String bars(List<Double> history) {
    String steps = style.unicode() ? UNICODE_BARS : ASCII_BARS;
    int width = Math.max(10, Math.min(history.size(), style.columns() - 14));
    List<Double> shown = history.subList(Math.max(0, history.size() - width), history.size());
    double most = shown.stream().mapToDouble(Double::doubleValue).max().orElse(0);
    StringBuilder bars = new StringBuilder();
    for (double value : shown) {
      int step = most <= 0 ? 0 : (int) Math.round(value / most * (steps.length() - 1));
      bars.append(steps.charAt(step));
    }
    return bars.toString();
  }

  private void pool(NodePicture now) {
    line(
        "",
        "pool         used %s of %s registered   allocations %s   from thread cache %s",
        bytes(now.figure("pool_used_bytes")),
        bytes(now.figure("pool_registered_bytes")),
        rate(now, "allocations_per_second"),
        Units.percent(now.figure("thread_cache_hit_ratio")));
    for (Map.Entry<String, Map<String, Long>> entry : now.classes().entrySet()) {
      Map<String, Long> bytes = entry.getValue();
      line(
          "",
          "  %-14s used %-10s cached %-10s free %-10s pending %s",
          className(entry.getKey()),
          Units.bytes(bytes.getOrDefault("used", 0L)),
          Units.bytes(bytes.getOrDefault("cached", 0L)),
          Units.bytes(bytes.getOrDefault("free", 0L)),
          Units.bytes(bytes.getOrDefault("pending", 0L)));
    }
    line("", "");
  }

  private static String bytes(double bytes) {
    return Double.isNaN(bytes) ? "-" : Units.bytes(Math.round(bytes));
  }

  private static String className(String sizeClass) {
    boolean receive = sizeClass.startsWith("receive_");
    String size = receive ? sizeClass.substring("receive_".length()) : sizeClass;
    return (receive ? "rx " : "") + Units.bytes(Long.parseLong(size));
  }

  private void connections(@Nullable NodePicture before, NodePicture now) {
    String format = "%5s  %-22s %-6s %-10s %-10s %8s %11s %11s %8s %8s %6s";
    line(
        BOLD,
        format,
        "id",
        "peer",
        "path",
        "state",
        "queue pair",
        "age",
        "sent",
        "received",
        "waiting",
        "refused",
        "moved");
    int room = Math.max(3, style.rows() - OTHER_ROWS - now.classes().size());
    for (Row row : now.connections().stream().limit(room).toList()) {
      line(
          row.state().equals("OPEN") && !row.queuePair().endsWith("ERR") ? "" : YELLOW,
          format,
          row.id(),
          row.peer(),
          row.path(),
          row.state(),
          row.queuePair(),
          Units.duration(Math.round(row.ageSeconds() * 1e9)),
          countRate(now.perSecondSince(before, row, Row::sent)),
          countRate(now.perSecondSince(before, row, Row::received)),
          row.outstanding(),
          row.refused(),
          row.pathChanges());
    }
    long more = now.moreConnections() + Math.max(0, now.connections().size() - room);
    line("", more == 0 ? "" : "  and " + more + " more");
  }

  private static String countRate(double perSecond) {
    return Double.isNaN(perSecond) ? "-" : Units.rate(perSecond);
  }

  private void incidents(NodePicture now) {
    line(BOLD, "incidents");
    if (now.incidents().isEmpty()) {
      line("", "  none");
    }
    now.incidents().stream().limit(MOST_INCIDENTS).forEach(i -> line("", "  %s", i));
  }

  /** Adds a line cut to the width. */
  private void line(String colour, String format, Object... values) {
    String text = String.format(Locale.ROOT, format, values);
    String cut = text.substring(0, Math.min(text.length(), style.columns()));
    lines.add(style.colour() && !colour.isEmpty() ? colour + cut + RESET : cut);
  }

  /** Returns one line for a log: what the frame says, in short. */
  static String plain(NodePicture now) {
    return String.format(
        Locale.ROOT,
        "%s  %s  connections %d  sent %s  received %s  p50 %s  p99 %s  pool %s of %s  incidents"
            + " %d%s",
        CLOCK.format(Instant.ofEpochMilli(now.epochMs())),
        now.status(),
        now.connections().size() + now.moreConnections(),
        rate(now, "sent_per_second"),
        rate(now, "received_per_second"),
        seconds(now.figure("request_p50_seconds")),
        seconds(now.figure("request_p99_seconds")),
        bytes(now.figure("pool_used_bytes")),
        bytes(now.figure("pool_registered_bytes")),
        now.incidents().size(),
        now.findings().isEmpty() ? "" : "  " + now.findings().getFirst());
  }
}
