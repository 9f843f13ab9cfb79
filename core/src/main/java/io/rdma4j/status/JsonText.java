package io.rdma4j.status;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot as JSON (RFC 8259), one metric on a line.
 *
 * <pre>
 * {"metrics":[
 * {"name":"rdma4j_pool_blocks","kind":"gauge","unit":"none","meaning":"Blocks.","alias":null,
 *  "samples":[{"labels":{"size_class":"4096"},"value":12}, ...]},
 * ...
 * ],"lastFailure":null}
 * </pre>
 *
 * <p>A value is a number, in the metric's unit; null for NaN and infinities, which JSON does not
 * have; and for a histogram an object: {@code count} and, unless that is 0, {@code sum, mean, min,
 * p50, p90, p99, p999, p9999, max}. Whole numbers may need all 64 bits.
 */
public final class JsonText {
  private JsonText() {}

  /** Returns all metrics. */
  public static String of(StatusSnapshot snapshot) {
    return of(snapshot, "");
  }

  /** Returns the metrics whose name or alias matches, as {@link VarsText#of} chooses them. */
  public static String of(StatusSnapshot snapshot, String patterns) {
    NameFilter filter = new NameFilter(patterns);
    Map<MetricDescriptor, List<Metric>> chosen = new LinkedHashMap<>();
    for (Metric metric : snapshot.metrics()) {
      String alias = metric.descriptor().alias();
      if (filter.accepts(metric.name()) || (alias != null && filter.accepts(alias))) {
        chosen.computeIfAbsent(metric.descriptor(), d -> new ArrayList<>()).add(metric);
      }
    }
    StringJoiner metrics = new StringJoiner(",\n", "{\"metrics\":[\n", "\n],\"lastFailure\":");
    chosen.forEach((descriptor, samples) -> metrics.add(metric(descriptor, samples)));
    return metrics + textOrNull(snapshot.lastFailure()) + "}\n";
  }

  private static String metric(MetricDescriptor descriptor, List<Metric> samples) {
    StringJoiner values = new StringJoiner(",", "[", "]");
    for (Metric sample : samples) {
      values.add("{\"labels\":" + labels(sample) + ",\"value\":" + value(sample.value()) + "}");
    }
    return new StringJoiner(",", "{", "}")
        .add("\"name\":" + quote(descriptor.name()))
        .add("\"kind\":" + quote(descriptor.kind().name().toLowerCase(Locale.ROOT)))
        .add("\"unit\":" + quote(descriptor.unit().name().toLowerCase(Locale.ROOT)))
        .add("\"meaning\":" + quote(descriptor.meaning()))
        .add("\"alias\":" + textOrNull(descriptor.alias()))
        .add("\"samples\":" + values)
        .toString();
  }

  private static String labels(Metric sample) {
    StringJoiner labels = new StringJoiner(",", "{", "}");
    for (int i = 0; i < sample.labelValues().size(); i++) {
      labels.add(
          quote(sample.descriptor().labels().get(i)) + ":" + quote(sample.labelValues().get(i)));
    }
    return labels.toString();
  }

  private static String value(Metric.Value value) {
    return switch (value) {
      case Metric.Whole whole -> Long.toString(whole.amount());
      case Metric.Real real -> Double.isFinite(real.amount()) ? "" + real.amount() : "null";
      case Distribution distribution -> {
        StringJoiner fields = new StringJoiner(",", "{", "}");
        distribution.summary().forEach((name, number) -> fields.add(quote(name) + ":" + number));
        yield fields.toString();
      }
    };
  }

  private static String textOrNull(@Nullable String text) {
    return text == null ? "null" : quote(text);
  }

  /**
   * Returns a text as a JSON string on one line. Escaped, beyond what JSON asks: all control
   * characters, line and paragraph separators, and surrogates without their half, which UTF-8 can
   * not carry.
   */
  public static String quote(String text) {
    return isPlain(text) ? '"' + text + '"' : quoteEscaped(text);
  }

  /** Nearly every text is. */
  private static boolean isPlain(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' ' || c > '~' || c == '"' || c == '\\') {
        return false;
      }
    }
    return true;
  }

  private static String quoteEscaped(String text) {
    StringBuilder quoted = new StringBuilder(text.length() + 2).append('"');
    text.codePoints()
        .forEach(
            c -> {
              switch (c) {
                case '"' -> quoted.append("\\\"");
                case '\\' -> quoted.append("\\\\");
                case '\n' -> quoted.append("\\n");
                case '\r' -> quoted.append("\\r");
                case '\t' -> quoted.append("\\t");
                default -> {
                  if (mustEscape(c)) {
                    quoted.append("\\u%04x".formatted(c));
                  } else {
                    quoted.appendCodePoint(c);
                  }
                }
              }
            });
    return quoted.append('"').toString();
  }

  private static boolean mustEscape(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE ->
          true;
      default -> false;
    };
  }
}
