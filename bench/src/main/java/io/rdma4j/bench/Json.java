package io.rdma4j.bench;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** The parts that the result files of all benchmarks have in common. */
public final class Json {
  private static final JSON WRITER = JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT);

  private Json() {}

  /**
   * Adds {@code ratios}, the flat map of figures to quote, and {@code ratioSpread}, all of them.
   */
  public static void putRatios(Map<String, Object> root, Map<String, Ratio> ratios) {
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
  }

  /** Returns a row with every batch of every round; more may be put into it. */
  public static Map<String, Object> row(String name, Series series) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("name", name);
    row.put("minNs", series.minNs());
    row.put("medianNs", series.medianNs());
    row.put("roundsNs", series.rounds());
    return row;
  }

  /** Writes a result file. */
  public static void write(Path file, Map<String, Object> root) throws IOException {
    Files.writeString(file, WRITER.asString(root) + "\n");
  }
}
