package io.rdma4j.transport;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Which path a connection uses, and why the others that come before it in the order are not used.
 *
 * @param name provider: {@code shm}, {@code verbs} or {@code tcp}
 * @param device device name, empty when the path has none
 * @param description the path in words
 * @param rejected other paths in the order tried, each with its reason
 */
public record PathChoice(
    String name, String device, String description, Map<String, String> rejected) {
  /** Copies the map, keeping its order. */
  public PathChoice {
    rejected = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(rejected));
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(description);
    rejected.forEach(
        (path, reason) -> text.append("; not ").append(path).append(": ").append(reason));
    return text.toString();
  }
}
