package io.rdma4j.bench.pool;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.bench.Ratio;
import io.rdma4j.bench.Series;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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

  private final Map<String, Series> series;
  private final Map<String, Ratio> ratios = new LinkedHashMap<>();
  private final Map<String, Catalog.Pair> pairByRivalRow = new LinkedHashMap<>();
  private final Map<String, String> unavailable = new LinkedHashMap<>();
  private final Map<String, String> unselected = new LinkedHashMap<>();

  PoolReport(Catalog catalog, Map<String, Series> series) {
    this.series = series;
    for (Catalog.Pair pair : catalog.pairs()) {
      Series rival = series.get(pair.rivalRow());
      Series ours = series.get(pair.ourRow());
      if (rival != null && ours != null) {
        ratios.put(pair.key(), Ratio.of(rival, ours));
        pairByRivalRow.put(pair.rivalRow(), pair);
      } else {
        noteMissing(pair.key(), catalog.row(rival == null ? pair.rivalRow() : pair.ourRow()));
      }
    }
    for (String face : FACES) {
      if (!series.containsKey(face)) {
        noteMissing(face + "_ns", catalog.row(face));
      }
    }
  }

  private void noteMissing(String key, Row row) {
    if (row.availability().usable()) {
      unselected.put(
          key, row.name() + " was not selected; a ratio needs both of its rows in one run");
    } else {
      unavailable.put(key, row.availability().reason());
    }
  }

  String table() {
    StringBuilder text = new StringBuilder();
    line(text, "%-26s %10s %10s %8s   %s", "row", "min ns", "median ns", "B/op", "ratio to ours");
    series.forEach(
        (name, row) -> {
          Catalog.Pair pair = pairByRivalRow.get(name);
          line(
              text,
              "%-26s %10.2f %10.2f %8.2f   %s",
              name,
              row.minNs(),
              row.medianNs(),
              row.medianBytesPerOp(),
              pair == null ? "" : describe(ratios.get(pair.key())));
        });
    unavailable.forEach((key, reason) -> line(text, "%-26s not here: %s", key, reason));
    if (!unselected.isEmpty()) {
      line(text, "%d ratios were not selected", unselected.size());
    }
    return text.toString();
  }

  private static String describe(@Nullable Ratio ratio) {
    return ratio == null
        ? ""
        : String.format(
            Locale.ROOT, "%.1fx (%.1f to %.1f)", ratio.median(), ratio.min(), ratio.max());
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
      Series row = series.get(face);
      if (row != null) {
        root.put(face + "_ns", row.medianNs());
      }
    }
    Map<String, Object> medians = new LinkedHashMap<>();
    Map<String, Object> spreads = new LinkedHashMap<>();
    ratios.forEach(
        (key, ratio) -> {
          medians.put(key, ratio.median());
          Map<String, Object> spread = new LinkedHashMap<>();
          spread.put("min", ratio.min());
          spread.put("median", ratio.median());
          spread.put("max", ratio.max());
          spread.put("rounds", ratio.perRound());
          spreads.put(key, spread);
        });
    root.put("ratios", medians);
    root.put("ratioSpread", spreads);
    Map<String, Object> bytesPerOp = new LinkedHashMap<>();
    series.forEach((name, row) -> bytesPerOp.put(name, row.medianBytesPerOp()));
    root.put("bytesPerOp", bytesPerOp);
    Map<String, Object> missing = new LinkedHashMap<>(unavailable);
    missing.putAll(unselected);
    root.put("missing", missing);
    root.putAll(context);
    root.put("rows", rows());
    Files.writeString(file, JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT).asString(root) + "\n");
  }

  private List<Map<String, Object>> rows() {
    List<Map<String, Object>> rows = new ArrayList<>();
    series.forEach(
        (name, measured) -> {
          Map<String, Object> row = new LinkedHashMap<>();
          row.put("name", name);
          row.put("minNs", measured.minNs());
          row.put("medianNs", measured.medianNs());
          row.put("bytesPerOp", measured.medianBytesPerOp());
          row.put("roundsNs", measured.rounds());
          rows.add(row);
        });
    return rows;
  }
}
