package io.rdma4j.tools.top;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * What a monitor says of its node in one second, ready to be laid out. Immutable.
 *
 * @param epochMs when
 * @param status OK, DEGRADED or FAILING
 * @param findings what is wrong
 * @param figures of this second by name; those not known are missing
 * @param history what was sent per second, the latest last
 * @param connections one for each
 * @param moreConnections how many more there are
 * @param classes bytes of the pool by size class and state
 * @param incidents headlines, the latest first
 */
record NodePicture(
    long epochMs,
    String status,
    List<String> findings,
    Map<String, Double> figures,
    List<Double> history,
    List<Row> connections,
    long moreConnections,
    Map<String, Map<String, Long>> classes,
    List<String> incidents) {
  private static final int HISTORY = 120;

  /** A connection. */
  record Row(
      long id,
      String peer,
      String path,
      String state,
      String queuePair,
      double ageSeconds,
      long sent,
      long received,
      long outstanding,
      long refused,
      long pathChanges) {}

  /** Reads a message of {@code /stream}; {@code before} is the picture of the second before. */
  static NodePicture of(Map<String, Object> message, @Nullable NodePicture before) {
    List<Map<?, ?>> points = new ArrayList<>();
    if (message.get("points") instanceof List<?> list) {
      list.forEach(point -> points.add((Map<?, ?>) point));
    } else {
      points.add(map(message.get("points")));
    }
    List<Double> history = new ArrayList<>(before == null ? List.of() : before.history);
    for (Map<?, ?> point : points) {
      history.add(number(point.get("sent_per_second"), 0).doubleValue());
    }
    Map<?, ?> point = points.isEmpty() ? Map.of() : points.getLast();
    Map<?, ?> health = map(message.get("health"));
    Map<?, ?> table = map(map(message.get("tables")).get("connections"));
    return new NodePicture(
        number(point.get("epoch_ms"), 0).longValue(),
        String.valueOf(health.get("status")),
        list(health.get("findings")).stream().map(f -> text(f.get("text"))).toList(),
        figures(point),
        history.subList(Math.max(0, history.size() - HISTORY), history.size()),
        list(table.get("rows")).stream().map(NodePicture::row).toList(),
        number(table.get("leftOut"), 0).longValue(),
        classes(message),
        list(message.get("incidents")).stream().map(i -> text(i.get("headline"))).toList());
  }

  private static Map<String, Double> figures(Map<?, ?> point) {
    Map<String, Double> figures = new HashMap<>();
    point.forEach(
        (name, value) -> {
          if (value instanceof Number number) {
            figures.put(String.valueOf(name), number.doubleValue());
          }
        });
    return figures;
  }

  private static Row row(Map<?, ?> row) {
    Object queuePair = row.get("queue_pair");
    return new Row(
        number(row.get("id"), 0).longValue(),
        text(row.get("peer")),
        text(row.get("path")),
        text(row.get("state")),
        queuePair == null ? "-" : queuePair + " " + text(row.get("queue_pair_state")),
        number(row.get("age_seconds"), 0).doubleValue(),
        number(row.get("messages_sent"), 0).longValue(),
        number(row.get("messages_received"), 0).longValue(),
        number(row.get("requests_outstanding"), 0).longValue(),
        number(row.get("back_pressured"), 0).longValue(),
        number(row.get("path_changes"), 0).longValue());
  }

  private static Map<String, Map<String, Long>> classes(Map<String, Object> message) {
    Map<String, Map<String, Long>> classes = new LinkedHashMap<>();
    for (Map<?, ?> metric : list(map(message.get("snapshot")).get("metrics"))) {
      if ("rdma4j_pool_bytes".equals(metric.get("name"))) {
        for (Map<?, ?> sample : list(metric.get("samples"))) {
          Map<?, ?> labels = map(sample.get("labels"));
          classes
              .computeIfAbsent(text(labels.get("size_class")), c -> new HashMap<>())
              .merge(
                  text(labels.get("state")), number(sample.get("value"), 0).longValue(), Long::sum);
        }
      }
    }
    return classes;
  }

  /** Returns a figure, NaN when it is not known. */
  double figure(String name) {
    return figures.getOrDefault(name, Double.NaN);
  }

  /** Returns the growth of a count of a connection per second since then; NaN for a new one. */
  double perSecondSince(@Nullable NodePicture before, Row row, ToLongFunction<Row> count) {
    double seconds = before == null ? 0 : (epochMs - before.epochMs) / 1e3;
    if (before == null || seconds <= 0) {
      return Double.NaN;
    }
    return before.connections.stream()
        .filter(then -> then.id == row.id)
        .mapToDouble(then -> (count.applyAsLong(row) - count.applyAsLong(then)) / seconds)
        .findFirst()
        .orElse(Double.NaN);
  }

  private static Map<?, ?> map(@Nullable Object value) {
    return value instanceof Map<?, ?> map ? map : Map.of();
  }

  private static List<Map<?, ?>> list(@Nullable Object value) {
    List<Map<?, ?>> maps = new ArrayList<>();
    if (value instanceof List<?> list) {
      list.forEach(item -> maps.add(map(item)));
    }
    return maps;
  }

  private static Number number(@Nullable Object value, Number otherwise) {
    return value instanceof Number number ? number : otherwise;
  }

  /** A terminal would act on control characters, which a peer may have sent. */
  private static String text(@Nullable Object value) {
    return value == null ? "-" : value.toString().replaceAll("\\p{Cntrl}", " ");
  }
}
