package io.rdma4j.bench.transport;

import io.rdma4j.bench.Ratio;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** A {@link Result} as one page: no script, nothing to load, light and dark. */
final class HtmlReport {
  private static final double[] PERCENTILES = {50, 90, 99, 99.9, 99.99};
  private static final int COLOURS = 8;
  private static final double BAR_DECADES = 3;

  private static final String HEAD =
      """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>rdma4j bench %s</title>
      <style>
      :root { color-scheme: light dark; --bg:#fff; --fg:#1c2024; --dim:#5c646e; --line:#dfe3e8;
        --good:#1a7f4e; --bad:#b3402a;
        --c0:#0b62d6; --c1:#6b7280; --c2:#b45309; --c3:#7c3aed; --c4:#c0263d; --c5:#0f766e;
        --c6:#a21caf; --c7:#4d7c0f }
      @media (prefers-color-scheme: dark) { :root { --bg:#14171b; --fg:#e6e9ed; --dim:#9aa3ae;
        --line:#2c323a; --good:#4cc38a; --bad:#f0876f;
        --c0:#6aa9ff; --c1:#a3abb7; --c2:#f2a65a; --c3:#b79bff; --c4:#ff7f8e; --c5:#4fd1c5;
        --c6:#e58af0; --c7:#a3d65c } }
      body { background:var(--bg); color:var(--fg); font:15px/1.5 system-ui,sans-serif;
        margin:0 auto; padding:24px; max-width:1080px }
      h1 { font-size:22px; margin:0 } h2 { font-size:17px; margin:32px 0 8px }
      p, figcaption, dd { color:var(--dim) } p { margin:4px 0 }
      figure { margin:0 0 24px } figcaption { margin-bottom:4px }
      svg { width:100%%; height:auto; max-width:860px }
      .grid { stroke:var(--line) } .tick, .axis { fill:var(--dim); font-size:12px }
      .name { font-size:12px; font-weight:600 }
      polyline { fill:none; stroke-width:2 }
      .wide { overflow-x:auto } table { border-collapse:collapse; font-variant-numeric:tabular-nums }
      th, td { padding:4px 12px 4px 0; text-align:right; white-space:nowrap;
        border-bottom:1px solid var(--line) }
      th { color:var(--dim); font-weight:500 } th:first-child, td:first-child { text-align:left }
      .bar { width:240px } .bar i { display:block; height:10px; border-radius:2px }
      .less { color:var(--bad) }
      dl { display:grid; grid-template-columns:max-content 1fr; gap:2px 16px } dd { margin:0;
        overflow-wrap:anywhere }
      </style></head><body>
      """;

  private final Result result;
  private final StringBuilder page = new StringBuilder();
  private final Map<String, Integer> colours = new LinkedHashMap<>();

  private HtmlReport(Result result) {
    this.result = result;
    for (String way : result.ways().keySet()) {
      colours.put(way, colours.size() % COLOURS);
    }
  }

  static void write(Result result, Path file) throws IOException {
    HtmlReport report = new HtmlReport(result);
    report.build();
    Files.writeString(file, report.page);
  }

  private void build() {
    text(HEAD, result.command());
    text("<h1>rdma4j bench %s</h1>", result.command());
    text(
        "<p>%s, %s processors, %s, load %s</p>",
        escape(result.machine().get("cpu")),
        escape(result.machine().get("processors")),
        escape(result.machine().get("jdk")),
        escape(result.machine().get("load")));
    comparison();
    distributions();
    if (result.rows().values().stream().anyMatch(HtmlReport::hasDepth)) {
      text("<h2>Rates and costs</h2>");
    }
    curves(
        Task.Kind.STREAM,
        "bytes: messages a second",
        "messages between two flushes",
        "million messages/s",
        row -> 1e3 / row.series().medianNs());
    curves(
        Task.Kind.TRANSACTION,
        "bytes: transactions a second",
        "transactions under way",
        "million transactions/s",
        row -> 1e3 / row.series().medianNs());
    curves(
        Task.Kind.TRANSACTION,
        "bytes: CPU of both processes",
        "transactions under way",
        "CPU ns for one transaction",
        row -> row.cpu().medianNs());
    rows();
    about();
    page.append("</body></html>\n");
  }

  private void comparison() {
    text(
        "<h2>Against others</h2><p>How many times as long, or as much CPU, the other takes: median"
            + " of the rounds, with the least and the greatest. Bars are logarithmic and begin at"
            + " 1.</p><div class='wide'><table><tr><th>ratio</th><th>median</th><th>least</th>"
            + "<th>greatest</th><th></th></tr>");
    result.ratios().forEach(this::ratio);
    result
        .numbers()
        .forEach((key, value) -> text("<tr><td>%s</td><td>%s</td></tr>", key, number(value)));
    text("</table></div>");
    if (!result.missing().isEmpty()) {
      text("<h2>Missing</h2><dl>");
      result
          .missing()
          .forEach((key, reason) -> text("<dt>%s</dt><dd>%s</dd>", key, escape(reason)));
      text("</dl>");
    }
  }

  private void ratio(String key, Ratio ratio) {
    double median = ratio.median();
    double share = Math.min(1, Math.abs(Math.log10(median)) / BAR_DECADES);
    text(
        "<tr><td>%s</td><td%s>%.2fx</td><td>%.2f</td><td>%.2f</td><td class='bar'>"
            + "<i style='width:%.1f%%;background:var(--%s)'></i></td></tr>",
        key,
        median < 1 ? " class='less'" : "",
        median,
        ratio.min(),
        ratio.max(),
        Math.max(1, 100 * share),
        median < 1 ? "bad" : "good");
  }

  private void distributions() {
    Map<String, List<Chart.Line>> charts = new LinkedHashMap<>();
    result
        .distributions()
        .forEach(
            (name, ns) -> {
              for (String way : colours.keySet()) {
                if (name.endsWith("_" + way)) {
                  String title = name.substring(0, name.length() - way.length() - 1);
                  charts
                      .computeIfAbsent(title, any -> new ArrayList<>())
                      .add(new Chart.Line(way, colour(way), percentiles(ns)));
                }
              }
            });
    if (!charts.isEmpty()) {
      text("<h2>How long a round trip takes</h2>");
    }
    charts.forEach(
        (title, lines) ->
            page.append(
                new Chart(
                        title.contains("_at_")
                            ? title + ": at a fixed rate, from when it was due"
                            : title + ": one after the other",
                        "microseconds",
                        List.of("50 %", "90 %", "99 %", "99.9 %", "99.99 %"),
                        "of the round trips take at most",
                        lines)
                    .svg()));
  }

  private static double[] percentiles(Histogram ns) {
    double[] values = new double[PERCENTILES.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = Math.max(1, ns.getValueAtPercentile(PERCENTILES[i])) / 1e3;
    }
    return values;
  }

  private static boolean hasDepth(Measured row) {
    return !row.task().kind().isOneByOne();
  }

  /** A chart for each length of messages, when there are several depths. */
  private void curves(
      Task.Kind kind, String title, String xTitle, String unit, ToDoubleFunction<Measured> value) {
    Map<Integer, Map<String, Map<Integer, Double>>> byLength = new TreeMap<>();
    result.rows().values().stream()
        .filter(row -> row.task().kind() == kind)
        .forEach(
            row ->
                byLength
                    .computeIfAbsent(row.task().lengthBytes(), any -> new LinkedHashMap<>())
                    .computeIfAbsent(row.way(), any -> new TreeMap<>())
                    .put(row.task().depth(), value.applyAsDouble(row)));
    byLength.forEach(
        (lengthBytes, ways) -> {
          int depths = ways.values().stream().mapToInt(Map::size).max().orElse(0);
          List<String> xLabels = new ArrayList<>();
          List<Chart.Line> lines = new ArrayList<>();
          ways.forEach(
              (way, points) -> {
                // A line needs all depths, and figures that a logarithm can take.
                if (points.size() == depths
                    && points.values().stream().allMatch(y -> Double.isFinite(y) && y > 0)) {
                  xLabels.clear();
                  points.keySet().forEach(depth -> xLabels.add(depth.toString()));
                  lines.add(
                      new Chart.Line(
                          way,
                          colour(way),
                          points.values().stream().mapToDouble(Double::doubleValue).toArray()));
                }
              });
          if (depths > 1 && !lines.isEmpty()) {
            page.append(new Chart(lengthBytes + " " + title, unit, xLabels, xTitle, lines).svg());
          }
        });
  }

  private void rows() {
    text(
        "<h2>All rows</h2><div class='wide'><table><tr><th>row</th><th>least ns</th>"
            + "<th>median ns</th><th>per second</th><th>CPU ns</th><th>garbage, bytes</th></tr>");
    result
        .rows()
        .forEach(
            (name, row) ->
                text(
                    "<tr><td>%s</td><td>%.1f</td><td>%.1f</td><td>%,.0f</td><td>%.1f</td>"
                        + "<td>%.2f</td></tr>",
                    name,
                    row.series().minNs(),
                    row.series().medianNs(),
                    1e9 / row.series().medianNs(),
                    row.cpu().medianNs(),
                    row.bytesPerOp()));
    text("</table></div>");
  }

  private void about() {
    text("<h2>Ways</h2><dl>");
    result
        .ways()
        .forEach(
            (name, words) ->
                text(
                    "<dt style='color:var(--c%d)'>%s</dt><dd>%s</dd>",
                    colour(name), name, escape(words)));
    text("</dl><h2>Machine</h2><dl>");
    result.machine().forEach((key, value) -> text("<dt>%s</dt><dd>%s</dd>", key, escape(value)));
    text("</dl>");
  }

  private int colour(String way) {
    return colours.getOrDefault(way, 0);
  }

  /** Returns a value with three figures or so. */
  static String number(double value) {
    if (value >= 100) {
      return String.format(Locale.ROOT, "%,.0f", value);
    }
    String text = String.format(Locale.ROOT, value >= 1 ? "%.2f" : "%.3f", value);
    return text.replaceAll("\\.?0+$", "");
  }

  private static String escape(@Nullable Object value) {
    return String.valueOf(value)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("'", "&#39;");
  }

  private void text(String format, @Nullable Object... values) {
    page.append(String.format(Locale.ROOT, format, values)).append('\n');
  }
}
