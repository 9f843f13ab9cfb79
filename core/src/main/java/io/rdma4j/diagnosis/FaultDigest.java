package io.rdma4j.diagnosis;

import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * What one end tells the other of a fault that both have: facts, as {@code NAME=NUMBER} joined by
 * spaces. Errors of RDMA show at the end that asked; what the other end saw, and that it lives at
 * all, are facts that the asking end lacks.
 *
 * <p>It comes from a peer, so it is checked: names and numbers only, {@link #MAX_FACTS} of them, in
 * {@link #MAX_BYTES}; what is no fact is left out.
 */
public final class FaultDigest {
  /** Fits into one frame of the bootstrap connection. */
  public static final int MAX_BYTES = 4000;

  static final int MAX_FACTS = 100;

  private static final Pattern NAME =
      Pattern.compile("(vendor|(event|completion|counter|config|app)\\.[a-z0-9_]{1,48})");

  private FaultDigest() {}

  /** Encodes facts, those of zero included: silence is evidence. What does not fit is left out. */
  static String encode(NavigableMap<String, Double> facts) {
    StringBuilder text = new StringBuilder();
    int count = 0;
    for (var fact : facts.entrySet()) {
      double value = fact.getValue();
      if (!NAME.matcher(fact.getKey()).matches() || !Double.isFinite(value)) {
        continue;
      }
      String number =
          value == Math.rint(value) && Math.abs(value) < 1e15
              ? Long.toString((long) value)
              : Double.toString(value);
      String item = fact.getKey() + "=" + number;
      if (count == MAX_FACTS || text.length() + item.length() + 1 > MAX_BYTES) {
        break;
      }
      text.append(text.isEmpty() ? "" : " ").append(item);
      count++;
    }
    return text.toString();
  }

  /** Decodes what a peer has sent. */
  static NavigableMap<String, Double> decode(String text) {
    TreeMap<String, Double> facts = new TreeMap<>();
    for (String item : text.split(" ", MAX_FACTS + 1)) {
      int equals = item.indexOf('=');
      if (equals <= 0
          || facts.size() == MAX_FACTS
          || !NAME.matcher(item.substring(0, equals)).matches()) {
        continue;
      }
      double value = number(item.substring(equals + 1));
      if (Double.isFinite(value)) {
        facts.put(item.substring(0, equals), value);
      }
    }
    return facts;
  }

  /** NaN for what is none: of a later version, or nonsense. */
  private static double number(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      return Double.NaN;
    }
  }
}
