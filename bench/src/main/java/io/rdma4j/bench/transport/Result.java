package io.rdma4j.bench.transport;

import io.rdma4j.bench.Json;
import io.rdma4j.bench.Ratio;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** All that one command has measured, as a table for people and as JSON for programs. */
final class Result {
  /** Percentiles in tables and files. */
  static final double[] PERCENTILES = {0, 50, 90, 99, 99.9, 99.99, 100};

  private final String command;
  private final Map<String, String> ways = new LinkedHashMap<>();
  private final Map<String, Measured> rows = new LinkedHashMap<>();
  private final Map<String, Ratio> ratios = new LinkedHashMap<>();
  private final Map<String, Double> numbers = new LinkedHashMap<>();
  private final Map<String, Histogram> distributions = new LinkedHashMap<>();
  private final Map<String, String> missing = new LinkedHashMap<>();
  private final Map<String, Object> machine;

  Result(String command, Map<String, Object> machine) {
    this.command = command;
    this.machine = machine;
  }

  void addWay(Way way) {
    ways.put(way.name(), way.description());
  }

  void addRows(Map<String, Measured> measured) {
    rows.putAll(measured);
  }

  /** Adds a ratio where both of its rows are there, else the reason why not. */
  void addFigure(Figure figure, Map<String, String> reasonByRow) {
    Ratio ratio = figure.ratio(rows);
    if (ratio != null) {
      ratios.put(figure.key(), ratio);
    } else {
      String row = rows.containsKey(figure.rivalRow()) ? figure.ourRow() : figure.rivalRow();
      missing.put(figure.key(), reasonByRow.getOrDefault(row, row + " was not measured"));
    }
  }

  void addNumber(String key, double value) {
    numbers.put(key, value);
  }

  void addMissing(String key, String reason) {
    missing.put(key, reason);
  }

  void addDistribution(String name, Histogram ns) {
    distributions.put(name, ns);
  }

  String command() {
    return command;
  }

  Map<String, String> ways() {
    return ways;
  }

  Map<String, Measured> rows() {
    return rows;
  }

  Map<String, Ratio> ratios() {
    return ratios;
  }

  Map<String, Double> numbers() {
    return numbers;
  }

  Map<String, Histogram> distributions() {
    return distributions;
  }

  Map<String, String> missing() {
    return missing;
  }

  Map<String, Object> machine() {
    return machine;
  }

  String table() {
    StringBuilder text = new StringBuilder();
    line(
        text,
        "%-34s %10s %10s %12s %9s %8s",
        "row",
        "min ns",
        "median ns",
        "per second",
        "cpu ns",
        "B/op");
    rows.forEach(
        (name, row) ->
            line(
                text,
                "%-34s %10.1f %10.1f %,12.0f %9.1f %8.2f",
                name,
                row.series().minNs(),
                row.series().medianNs(),
                1e9 / row.series().medianNs(),
                row.cpu().medianNs(),
                row.bytesPerOp()));
    if (!distributions.isEmpty()) {
      line(text, "");
      line(
          text,
          "%-34s %9s %9s %9s %9s %9s %9s",
          "times in us",
          "p0",
          "p50",
          "p90",
          "p99",
          "p99.9",
          "max");
      distributions.forEach(
          (name, ns) ->
              line(
                  text,
                  "%-34s %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f",
                  name,
                  ns.getMinValue() / 1e3,
                  ns.getValueAtPercentile(50) / 1e3,
                  ns.getValueAtPercentile(90) / 1e3,
                  ns.getValueAtPercentile(99) / 1e3,
                  ns.getValueAtPercentile(99.9) / 1e3,
                  ns.getMaxValue() / 1e3));
    }
    line(text, "");
    ratios.forEach(
        (key, ratio) ->
            line(
                text, "%-34s %.2fx (%.2f to %.2f)", key, ratio.median(), ratio.min(), ratio.max()));
    numbers.forEach((key, value) -> line(text, "%-34s %.2f", key, value));
    missing.forEach((key, reason) -> line(text, "%-34s missing: %s", key, reason));
    return text.toString();
  }

  private static void line(StringBuilder text, String format, @Nullable Object... values) {
    text.append(String.format(Locale.ROOT, format, values).stripTrailing()).append('\n');
  }

  /** Writes everything, every batch of every round included. */
  void writeJson(Path file) throws IOException {
    Map<String, Object> root = new LinkedHashMap<>();
    root.put("command", command);
    Json.putRatios(root, ratios);
    Map<String, Object> quoted = new LinkedHashMap<>(numbers);
    ratios.forEach((key, ratio) -> quoted.put(key, ratio.median()));
    root.put("ratios", quoted);
    root.put("missing", missing);
    root.put("ways", ways);
    root.put("machine", machine);
    Map<String, Object> times = new LinkedHashMap<>();
    distributions.forEach((name, ns) -> times.put(name, percentiles(ns)));
    root.put("distributionsNs", times);
    List<Map<String, Object>> all = new ArrayList<>();
    rows.forEach((name, row) -> all.add(json(name, row)));
    root.put("rows", all);
    Json.write(file, root);
  }

  private static Map<String, Object> json(String name, Measured measured) {
    Map<String, Object> row = Json.row(name, measured.series());
    putFinite(row, "cpuNs", measured.cpu().medianNs());
    putFinite(row, "bytesPerOp", measured.bytesPerOp());
    return row;
  }

  private static void putFinite(Map<String, Object> row, String key, double value) {
    if (Double.isFinite(value)) {
      row.put(key, value);
    }
  }

  private static Map<String, Object> percentiles(Histogram ns) {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("count", ns.getTotalCount());
    for (double percentile : PERCENTILES) {
      values.put("p" + percentile, ns.getValueAtPercentile(percentile));
    }
    return values;
  }
}
