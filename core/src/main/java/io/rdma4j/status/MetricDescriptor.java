package io.rdma4j.status;

import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a metric means: stated once by its source and known to every exporter.
 *
 * <p>Immutable. Usually a constant:
 *
 * <pre>{@code
 * static final MetricDescriptor FALLBACKS =
 *     counter("rdma4j_pool_fallbacks_total", "Allocations outside the pool.")
 *         .withAlias("rdma_mem_pool_fallback_count");
 * }</pre>
 *
 * @param name {@code rdma4j_}, lower case; the unit is part of it, {@code _total} ends a counter
 * @param kind how its values behave
 * @param meaning one sentence
 * @param labels names of the labels, in the order in which samples give the values
 * @param alias an older public name, valid in {@link VarsText}; null when there is none
 */
public record MetricDescriptor(
    String name, Kind kind, String meaning, List<String> labels, @Nullable String alias) {

  /** How the values of a metric behave. */
  public enum Kind {
    /** Only grows while its source lives. */
    COUNTER,
    /** Goes up and down. */
    GAUGE,
    /** Durations: how many, their sum, their {@link Distribution}. */
    HISTOGRAM
  }

  /** What one is one of. */
  public enum Unit {
    /** Things, as the name says. */
    NONE,
    SECONDS,
    BYTES,
    /** A share between 0 and 1. */
    RATIO
  }

  /** The most labels a metric may have: each one multiplies the number of its samples. */
  public static final int MAX_LABELS = 5;

  private static final String PREFIX = "rdma4j_";
  private static final String TOTAL = "_total";
  private static final Pattern WORDS = Pattern.compile("[a-z][a-z0-9]*(_[a-z0-9]+)*");

  /** Last words that OpenMetrics derives names with. */
  private static final Set<String> DERIVED = Set.of("bucket", "count", "created", "sum", "total");

  private static final Set<String> OTHER_UNITS =
      Set.of(
          "ns",
          "nanos",
          "nanoseconds",
          "us",
          "micros",
          "microseconds",
          "ms",
          "millis",
          "minutes",
          "milliseconds",
          "hours",
          "kb",
          "mb",
          "gb",
          "kib",
          "mib",
          "gib",
          "bits",
          "percent");

  /** Labels that exporters add to the samples of a histogram. */
  private static final Set<String> RESERVED_LABELS = Set.of("le", "quantile");

  /**
   * Checks the conventions.
   *
   * @throws IllegalArgumentException when one is broken, naming it
   */
  public MetricDescriptor {
    labels = List.copyOf(labels);
    check(
        name.startsWith(PREFIX) && WORDS.matcher(name).matches(),
        name,
        "a name is lower-case words joined by '_', the first of them rdma4j");
    check(
        (kind == Kind.COUNTER) == name.endsWith(TOTAL),
        name,
        "a counter ends in _total, and nothing else does");
    String lastWord = lastWord(familyOf(name));
    check(!DERIVED.contains(lastWord), name, "exporters derive names ending in _" + lastWord);
    check(!OTHER_UNITS.contains(lastWord), name, "units are seconds, bytes and ratio");
    Unit unit = unitOf(name);
    check(kind != Kind.HISTOGRAM || unit == Unit.SECONDS, name, "a histogram is of seconds");
    check(kind != Kind.COUNTER || unit != Unit.RATIO, name, "a ratio is a gauge");
    check(
        meaning.endsWith(".") && meaning.lines().count() == 1,
        name,
        "the meaning is one sentence on one line and ends with a full stop: '" + meaning + "'");
    checkLabels(name, labels);
    check(
        alias == null || (WORDS.matcher(alias).matches() && !alias.startsWith(PREFIX)),
        name,
        "an alias is lower-case words joined by '_' without our prefix: '" + alias + "'");
  }

  /** Returns the descriptor of a counter without an alias. */
  public static MetricDescriptor counter(String name, String meaning, String... labels) {
    return new MetricDescriptor(name, Kind.COUNTER, meaning, List.of(labels), null);
  }

  /** Returns the descriptor of a gauge without an alias. */
  public static MetricDescriptor gauge(String name, String meaning, String... labels) {
    return new MetricDescriptor(name, Kind.GAUGE, meaning, List.of(labels), null);
  }

  /** Returns the descriptor of a histogram of durations without an alias. */
  public static MetricDescriptor histogram(String name, String meaning, String... labels) {
    return new MetricDescriptor(name, Kind.HISTOGRAM, meaning, List.of(labels), null);
  }

  /** Returns the same descriptor with an alias. */
  public MetricDescriptor withAlias(String olderName) {
    return new MetricDescriptor(name, kind, meaning, labels, olderName);
  }

  /** Returns the unit, which the name says. */
  public Unit unit() {
    return unitOf(name);
  }

  /** Returns the name without {@code _total}: what OpenMetrics calls the metric family. */
  public String family() {
    return familyOf(name);
  }

  private static String familyOf(String name) {
    return name.endsWith(TOTAL) ? name.substring(0, name.length() - TOTAL.length()) : name;
  }

  private static Unit unitOf(String name) {
    return switch (lastWord(familyOf(name))) {
      case "seconds" -> Unit.SECONDS;
      case "bytes" -> Unit.BYTES;
      case "ratio" -> Unit.RATIO;
      default -> Unit.NONE;
    };
  }

  private static String lastWord(String name) {
    return name.substring(name.lastIndexOf('_') + 1);
  }

  private static void checkLabels(String name, List<String> labels) {
    check(labels.size() <= MAX_LABELS, name, "at most " + MAX_LABELS + " labels: " + labels);
    check(Set.copyOf(labels).size() == labels.size(), name, "a label stands twice: " + labels);
    for (String label : labels) {
      check(
          WORDS.matcher(label).matches() && !RESERVED_LABELS.contains(label),
          name,
          "a label is lower-case words joined by '_', not le or quantile: '" + label + "'");
    }
  }

  private static void check(boolean holds, String name, String convention) {
    if (!holds) {
      throw new IllegalArgumentException("metric '" + name + "': " + convention);
    }
  }
}
