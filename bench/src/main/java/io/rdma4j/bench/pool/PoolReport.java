package io.rdma4j.bench.pool;

import io.rdma4j.bench.Json;
import io.rdma4j.bench.Ratio;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The race's result as a table for people and as JSON for programs.
 *
 * <p>A ratio is there when both of its rows were measured in this run; else its key is among the
 * missing, with the reason.
 */
final class PoolReport {
  /** Rows of the pool that stand at the top of the file by their own time. */
  private static final List<String> FACES = List.of("hit8k", "view8k");

  private final Set<String> selected;
  private final Map<String, Measured> measured;
  private final Map<String, Ratio> ratios = new LinkedHashMap<>();
  private final Map<String, List<Catalog.Pair>> pairsByRivalRow = new LinkedHashMap<>();
  private final Map<String, String> unavailable = new LinkedHashMap<>();
  private final Map<String, String> unselected = new LinkedHashMap<>();

  /**
   * Creates the report.
   *
   * @param selected names of the rows that were asked for, here or not
   */
  PoolReport(Catalog catalog, Set<String> selected, Map<String, Measured> measured) {
    this.selected = selected;
    this.measured = measured;
    for (Catalog.Pair pair : catalog.pairs()) {
      Measured rival = measured.get(pair.rivalRow());
      Measured ours = measured.get(pair.ourRow());
      if (rival != null && ours != null) {
        ratios.put(pair.key(), Ratio.of(rival.series(), ours.series()));
        pairsByRivalRow.computeIfAbsent(pair.rivalRow(), row -> new ArrayList<>()).add(pair);
      } else {
        noteMissing(pair.key(), catalog.row(rival == null ? pair.rivalRow() : pair.ourRow()));
      }
    }
    for (String face : FACES) {
      if (!measured.containsKey(face)) {
        noteMissing(face + "_ns", catalog.row(face));
      }
    }
  }

  private void noteMissing(String key, Row row) {
    if (!selected.contains(row.name())) {
      unselected.put(
          key, row.name() + " was not selected; a ratio needs both of its rows in one run");
    } else {
      unavailable.put(key, row.availability().reason());
    }
  }

  Map<String, Ratio> ratios() {
    return ratios;
  }

  /** Returns the reason for each key that has no figure. */
  Map<String, String> missing() {
    Map<String, String> missing = new LinkedHashMap<>(unavailable);
    missing.putAll(unselected);
    return missing;
  }

  String table() {
    StringBuilder text = new StringBuilder();
    line(text, "%-26s %10s %10s %8s   %s", "row", "min ns", "median ns", "B/op", "ratio to ours");
    measured.forEach(
        (name, row) -> {
          line(
              text,
              "%-26s %10.2f %10.2f %8.2f   %s",
              name,
              row.series().minNs(),
              row.series().medianNs(),
              row.bytesPerOp(),
              describe(pairsByRivalRow.getOrDefault(name, List.of())));
        });
    unavailable.forEach((key, reason) -> line(text, "%-26s not here: %s", key, reason));
    if (!unselected.isEmpty()) {
      line(text, "%d figures were not selected", unselected.size());
    }
    return text.toString();
  }

  private String describe(List<Catalog.Pair> pairs) {
    return pairs.stream()
        .map(pair -> describe(pair.ourRow(), Objects.requireNonNull(ratios.get(pair.key()))))
        .collect(Collectors.joining(", "));
  }

  private static String describe(String ourRow, Ratio ratio) {
    return String.format(
        Locale.ROOT, "%.1fx (%.1f to %.1f) %s", ratio.median(), ratio.min(), ratio.max(), ourRow);
  }

  private static void line(StringBuilder text, String format, @Nullable Object... values) {
    text.append(String.format(Locale.ROOT, format, values).stripTrailing()).append('\n');
  }

  /**
   * Writes everything, every batch of every round included.
   *
   * @param context what else to say of the run
   */
  void writeJson(Path file, Map<String, Object> context) throws IOException {
    Map<String, Object> root = new LinkedHashMap<>();
    for (String face : FACES) {
      Measured row = measured.get(face);
      if (row != null) {
        root.put(face + "_ns", row.series().medianNs());
      }
    }
    Json.putRatios(root, ratios);
    Map<String, Object> bytesPerOp = new LinkedHashMap<>();
    measured.forEach((name, row) -> bytesPerOp.put(name, row.bytesPerOp()));
    root.put("bytesPerOp", bytesPerOp);
    root.put("missing", missing());
    root.putAll(context);
    root.put("rows", rows());
    Json.write(file, root);
  }

  private List<Map<String, Object>> rows() {
    List<Map<String, Object>> rows = new ArrayList<>();
    measured.forEach(
        (name, cost) -> {
          Map<String, Object> row = Json.row(name, cost.series());
          row.put("bytesPerOp", cost.bytesPerOp());
          rows.add(row);
        });
    return rows;
  }
}
