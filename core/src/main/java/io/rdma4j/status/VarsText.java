package io.rdma4j.status;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.StringJoiner;

/**
 * A snapshot as plain text for people and {@code grep}, in the form of brpc's {@code /vars}: one
 * line for each sample, sorted by name.
 *
 * <pre>
 * rdma4j_pool_blocks{size_class="4096",state="used"} : 12
 * rdma4j_mr_register_seconds : count=3 sum=0.0018 mean=6.0E-4 min=2.5E-4 p50=4.5E-4 ... max=0.0011
 * rdma_reg_mr_duration : count=3 sum=0.0018 mean=6.0E-4 min=2.5E-4 p50=4.5E-4 ... max=0.0011
 * </pre>
 *
 * <p>Values are in the metric's unit, under an alias as well. An empty distribution is {@code
 * count=0}. Texts stand in double quotes, escaped as in JSON.
 */
public final class VarsText {
  private record Line(String name, String labels, String value) {}

  private VarsText() {}

  /** Returns all lines, each ended by a line feed. */
  public static String of(StatusSnapshot snapshot) {
    return of(snapshot, "");
  }

  /**
   * Returns the lines whose name, or alias, one of the patterns matches.
   *
   * @param patterns separated by commas; {@code *} is any text, {@code $} is one character; nothing
   *     stands for all
   */
  public static String of(StatusSnapshot snapshot, String patterns) {
    NameFilter filter = new NameFilter(patterns);
    StringBuilder text = new StringBuilder();
    lines(snapshot).stream()
        .filter(line -> filter.accepts(line.name))
        .sorted(Comparator.comparing(Line::name))
        .forEach(
            line ->
                text.append(line.name)
                    .append(line.labels)
                    .append(" : ")
                    .append(line.value)
                    .append('\n'));
    return text.toString();
  }

  private static List<Line> lines(StatusSnapshot snapshot) {
    List<Line> lines = new ArrayList<>();
    for (Metric metric : snapshot.metrics()) {
      String labels = labels(metric);
      String value = value(metric.value());
      lines.add(new Line(metric.name(), labels, value));
      String alias = metric.descriptor().alias();
      if (alias != null) {
        lines.add(new Line(alias, labels, value));
      }
    }
    if (snapshot.lastFailure() != null) {
      String text = JsonText.quote(snapshot.lastFailure());
      lines.add(new Line("rdma4j_status_last_failure", "", text));
    }
    return lines;
  }

  private static String labels(Metric metric) {
    if (metric.labelValues().isEmpty()) {
      return "";
    }
    StringJoiner labels = new StringJoiner(",", "{", "}");
    for (int i = 0; i < metric.labelValues().size(); i++) {
      labels.add(
          metric.descriptor().labels().get(i) + "=" + JsonText.quote(metric.labelValues().get(i)));
    }
    return labels.toString();
  }

  private static String value(Metric.Value value) {
    return switch (value) {
      case Metric.Whole whole -> Long.toString(whole.amount());
      case Metric.Real real -> Double.toString(real.amount());
      case Distribution distribution -> {
        StringJoiner fields = new StringJoiner(" ");
        distribution.summary().forEach((name, number) -> fields.add(name + "=" + number));
        yield fields.toString();
      }
    };
  }
}
