package io.rdma4j.transport;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Settings of receiving that system properties or the environment may give, in this order. */
enum ReceiveSettings {
  COPY_BREAK_BYTES("rdma4j.receive.copyBreakBytes", 4096),
  SHARED_RECEIVES("rdma4j.verbs.sharedReceives", 0);

  private final String property;
  private final int unset;

  ReceiveSettings(String property, int unset) {
    this.property = property;
    this.unset = unset;
  }

  /**
   * Returns the value given, or the default.
   *
   * @throws IllegalArgumentException naming property or variable when it is no number
   */
  int value() {
    String text = System.getProperty(property);
    return text != null ? parse(property, text) : ofEnvironment(System.getenv(variable()));
  }

  private int ofEnvironment(@Nullable String text) {
    return text == null ? unset : parse(variable(), text);
  }

  /** Returns {@code RDMA4J_RECEIVE_COPY_BREAK_BYTES} for {@code rdma4j.receive.copyBreakBytes}. */
  String variable() {
    return property
        .replace('.', '_')
        .replaceAll("([a-z])([A-Z])", "$1_$2")
        .toUpperCase(Locale.ROOT);
  }

  private static int parse(String name, String text) {
    try {
      return Integer.parseInt(text.strip());
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(name + " is '" + text + "', allowed: a whole number", e);
    }
  }
}
