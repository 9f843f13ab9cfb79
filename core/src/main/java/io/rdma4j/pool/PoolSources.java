package io.rdma4j.pool;

import io.rdma4j.pool.PoolValues.Source;
import java.util.Comparator;
import java.util.Map;
import java.util.Properties;
import java.util.function.Function;

/** Reads settings from properties and environment variables, and refuses names it does not know. */
final class PoolSources {
  private PoolSources() {}

  /**
   * Reads what is given; a property goes before the environment variable of the same setting, whose
   * text is then not looked at.
   *
   * @throws IllegalArgumentException for an unknown name, with the nearest known one, or a value
   *     that is not written as it should be
   */
  static PoolValues read(Properties properties, Map<String, String> environment) {
    properties.forEach(PoolSources::checkText);
    properties.stringPropertyNames().forEach(PoolSources::checkProperty);
    environment.keySet().forEach(PoolSources::checkVariable);
    PoolValues values = new PoolValues();
    for (PoolSetting<?> setting : PoolSetting.ALL) {
      String property = properties.getProperty(setting.property());
      String variable = environment.get(setting.variable());
      if (property != null) {
        values.putText(setting, property, Source.PROPERTY);
      } else if (variable != null) {
        values.putText(setting, variable, Source.ENVIRONMENT);
      }
    }
    return values;
  }

  /** Properties passes over values that are no strings, silently. */
  private static void checkText(Object name, Object value) {
    if (String.valueOf(name).startsWith(PoolSetting.PROPERTY_PREFIX)
        && !(value instanceof String)) {
      throw new IllegalArgumentException(
          "property %s is of %s; set it as text".formatted(name, value.getClass()));
    }
  }

  private static void checkProperty(String name) {
    if (name.startsWith(PoolSetting.PROPERTY_PREFIX)) {
      checkKnown("property", name, PoolSetting::property);
    }
  }

  private static void checkVariable(String name) {
    if (name.startsWith(PoolSetting.VARIABLE_PREFIX)) {
      checkKnown("environment variable", name, PoolSetting::variable);
    }
  }

  private static void checkKnown(
      String kind, String name, Function<PoolSetting<?>, String> nameOf) {
    if (PoolSetting.ALL.stream().map(nameOf).noneMatch(name::equals)) {
      String nearest =
          PoolSetting.ALL.stream()
              .map(nameOf)
              .min(Comparator.comparingInt(known -> distance(known, name)))
              .orElseThrow();
      throw new IllegalArgumentException(
          "unknown %s %s; the nearest known name is %s".formatted(kind, name, nearest));
    }
  }

  /** Returns the least number of characters put in, taken out or replaced (Levenshtein). */
  static int distance(String from, String to) {
    int[] row = new int[to.length() + 1];
    for (int j = 0; j < row.length; j++) {
      row[j] = j;
    }
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j < row.length; j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[to.length()];
  }
}
