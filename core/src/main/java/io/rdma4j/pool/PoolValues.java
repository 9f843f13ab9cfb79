package io.rdma4j.pool;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Values of settings, each with where it came from; defaults stand for those not given. Not safe
 * for several threads while values are put.
 */
final class PoolValues {
  /** Where a value came from. */
  enum Source {
    DEFAULT("the default"),
    ENVIRONMENT("from environment variable "),
    PROPERTY("from a property"),
    BUILDER("from the builder");

    private final String words;

    Source(String words) {
      this.words = words;
    }

    private String words(PoolSetting<?> setting) {
      return this == ENVIRONMENT ? words + setting.variable() : words;
    }
  }

  private record Sourced(Object value, Source source) {}

  private final Map<PoolSetting<?>, Sourced> values;

  PoolValues() {
    this.values = new HashMap<>();
  }

  private PoolValues(Map<PoolSetting<?>, Sourced> values) {
    this.values = values;
  }

  <T> void put(PoolSetting<T> setting, T value, Source source) {
    values.put(setting, new Sourced(value, source));
  }

  /**
   * Takes a value as it was written.
   *
   * @throws IllegalArgumentException when it is not written as the setting wants it
   */
  <T> void putText(PoolSetting<T> setting, String text, Source source) {
    T value =
        setting
            .text()
            .parse(text)
            .orElseThrow(() -> refusal(setting, "'" + text + "'", source, setting.valid()));
    put(setting, value, source);
  }

  @SuppressWarnings("unchecked") // put and resolved take a setting's own type alone
  <T> T get(PoolSetting<T> setting) {
    Sourced sourced = values.get(setting);
    return sourced == null ? setting.defaultFor(this) : (T) sourced.value();
  }

  Source source(PoolSetting<?> setting) {
    Sourced sourced = values.get(setting);
    return sourced == null ? Source.DEFAULT : sourced.source();
  }

  boolean isGiven(PoolSetting<?> setting) {
    return source(setting) != Source.DEFAULT;
  }

  /** Returns a copy of what was given, to be changed. */
  PoolValues given() {
    PoolValues copy = new PoolValues();
    values.forEach(
        (setting, sourced) -> {
          if (sourced.source() != Source.DEFAULT) {
            copy.values.put(setting, sourced);
          }
        });
    return copy;
  }

  /**
   * Returns a copy with a value for each setting, the defaults included.
   *
   * @throws IllegalArgumentException naming a value that is out of range or goes with no other
   */
  PoolValues resolved() {
    PoolSetting.ALL.forEach(this::checkRange);
    Map<PoolSetting<?>, Sourced> all = new HashMap<>();
    for (PoolSetting<?> setting : PoolSetting.ALL) {
      all.put(setting, new Sourced(get(setting), source(setting)));
    }
    PoolValues resolved = new PoolValues(Map.copyOf(all));
    new PoolChecks(resolved).run();
    return resolved;
  }

  private <T> void checkRange(PoolSetting<T> setting) {
    if (isGiven(setting) && !setting.isInRange(get(setting))) {
      throw refusal(setting, setting.valid());
    }
  }

  /** Returns the complaint about a value, with its source and what is valid. */
  IllegalArgumentException refusal(PoolSetting<?> setting, String valid) {
    return refusal(setting, printed(setting), source(setting), valid);
  }

  private static IllegalArgumentException refusal(
      PoolSetting<?> setting, String value, Source source, String valid) {
    return new IllegalArgumentException(
        "%s is %s (%s); valid: %s"
            .formatted(setting.property(), value, source.words(setting), valid));
  }

  /** Returns a value as it would be written. */
  <T> String printed(PoolSetting<T> setting) {
    return setting.text().print(get(setting));
  }

  /** Returns a setting with its value and source, for complaints about another one. */
  String named(PoolSetting<?> setting) {
    return "%s=%s (%s)"
        .formatted(setting.property(), printed(setting), source(setting).words(setting));
  }

  /** Returns a line for each setting: name, value, source, meaning. */
  String describe() {
    int nameWidth = width(PoolSetting.ALL.stream().map(PoolSetting::property));
    int valueWidth = width(PoolSetting.ALL.stream().map(this::printed));
    String format = "%-" + nameWidth + "s  %-" + valueWidth + "s  %-11s  %s%n";
    return PoolSetting.ALL.stream()
        .map(
            s ->
                format.formatted(
                    s.property(),
                    printed(s),
                    source(s).name().toLowerCase(Locale.ROOT),
                    s.meaning()))
        .collect(Collectors.joining());
  }

  private static int width(Stream<String> column) {
    return column.mapToInt(String::length).max().orElse(1);
  }

  /** Two are equal when all values are, wherever they came from. */
  @Override
  public boolean equals(Object other) {
    return other instanceof PoolValues that
        && PoolSetting.ALL.stream().allMatch(s -> get(s).equals(that.get(s)));
  }

  @Override
  public int hashCode() {
    return PoolSetting.ALL.stream().map(this::get).toList().hashCode();
  }

  /** Returns the settings given. */
  @Override
  public String toString() {
    return PoolSetting.ALL.stream()
        .filter(this::isGiven)
        .map(s -> s.property() + "=" + printed(s))
        .collect(Collectors.joining(", ", "[", "]"));
  }
}
