package io.rdma4j.diagnosis;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A condition on facts, true, false, or unknown when a fact that it needs is.
 *
 * <pre>
 *  condition   = comparison { "or" comparison }
 *  comparison  = FACT ( "&gt;" | "&gt;=" | "&lt;" | "&lt;=" | "==" | "!=" ) ( NUMBER | [ NUMBER "*" ] FACT )
 *  NUMBER      = decimal, or hexadecimal with 0x
 * </pre>
 *
 * <p>An alternative is true as soon as one of its comparisons is, whatever is unknown of the rest.
 *
 * <p>Immutable.
 */
final class Condition {
  enum Truth {
    TRUE,
    FALSE,
    UNKNOWN
  }

  private static final Pattern COMPARISON =
      Pattern.compile("([a-z][a-z0-9_.]*) *(>=|<=|==|!=|>|<) *(?:(\\S+) *\\* *)?(\\S+)");
  private static final Pattern FACT = Pattern.compile("[a-z][a-z0-9_.]*");

  /** {@code fact operator factor * other}, or {@code fact operator number}. */
  private record Comparison(
      String fact, String operator, double factor, @Nullable String other, double number) {

    Truth of(Facts facts) {
      OptionalDouble left = facts.value(fact);
      OptionalDouble right =
          other == null ? OptionalDouble.of(number) : times(facts.value(other), factor);
      if (left.isEmpty() || right.isEmpty()) {
        return Truth.UNKNOWN;
      }
      int order = Double.compare(left.getAsDouble(), right.getAsDouble());
      boolean holds =
          switch (operator) {
            case ">" -> order > 0;
            case ">=" -> order >= 0;
            case "<" -> order < 0;
            case "<=" -> order <= 0;
            case "==" -> order == 0;
            default -> order != 0;
          };
      return holds ? Truth.TRUE : Truth.FALSE;
    }

    private static OptionalDouble times(OptionalDouble value, double factor) {
      return value.isEmpty() ? value : OptionalDouble.of(value.getAsDouble() * factor);
    }
  }

  private final String text;
  private final List<Comparison> alternatives;

  private Condition(String text, List<Comparison> alternatives) {
    this.text = text;
    this.alternatives = alternatives;
  }

  /**
   * Reads a condition.
   *
   * @throws IllegalArgumentException when it is not one
   */
  static Condition parse(String text) {
    List<Comparison> alternatives = new ArrayList<>();
    for (String part : text.strip().split(" +or +", -1)) {
      Matcher parts = COMPARISON.matcher(part);
      if (!parts.matches()) {
        throw new IllegalArgumentException(
            "'" + part + "' is no condition; an example of one: counter.out_of_sequence > 0");
      }
      alternatives.add(comparison(parts));
    }
    return new Condition(text.strip(), List.copyOf(alternatives));
  }

  private static Comparison comparison(Matcher parts) {
    String right = parts.group(4);
    double factor = parts.group(3) == null ? 1 : number(parts.group(3));
    boolean isFact = FACT.matcher(right).matches();
    if (!isFact && parts.group(3) != null) {
      throw new IllegalArgumentException(
          "'" + parts.group() + "' multiplies a number; write it out");
    }
    return new Comparison(
        parts.group(1), parts.group(2), factor, isFact ? right : null, isFact ? 0 : number(right));
  }

  private static double number(String text) {
    try {
      return text.startsWith("0x")
          ? Long.parseLong(text.substring(2), 16)
          : Double.parseDouble(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("'" + text + "' is neither a number nor a fact", e);
    }
  }

  Truth of(Facts facts) {
    Truth result = Truth.FALSE;
    for (Comparison comparison : alternatives) {
      switch (comparison.of(facts)) {
        case TRUE -> {
          return Truth.TRUE;
        }
        case UNKNOWN -> result = Truth.UNKNOWN;
        case FALSE -> {}
      }
    }
    return result;
  }

  /** Returns what makes this true, with its figures. */
  List<String> evidence(Facts facts) {
    List<String> rows = new ArrayList<>();
    for (Comparison comparison : alternatives) {
      if (comparison.of(facts) == Truth.TRUE) {
        String row = row(comparison.fact, facts);
        String other = comparison.other;
        rows.add(other == null ? row : row + " beside " + row(other, facts));
      }
    }
    return rows;
  }

  private static String row(String fact, Facts facts) {
    double value = facts.value(fact).orElse(Double.NaN);
    String number =
        value == Math.rint(value) && Math.abs(value) < 1e15
            ? Long.toString((long) value)
            : String.format(java.util.Locale.ROOT, "%.3f", value);
    if (fact.equals("vendor") || fact.equals("peer.vendor")) {
      number = "0x" + Long.toHexString((long) value);
    }
    return FactText.of(fact) + " " + number;
  }

  /** Returns the facts that would have to be known to tell. */
  List<String> unknown(Facts facts) {
    List<String> unknown = new ArrayList<>();
    for (Comparison comparison : alternatives) {
      for (String fact : facts(comparison)) {
        String inWords = FactText.of(fact);
        if (facts.value(fact).isEmpty() && !unknown.contains(inWords)) {
          unknown.add(inWords);
        }
      }
    }
    return unknown;
  }

  /** Returns all facts that this asks for. */
  List<String> facts() {
    return alternatives.stream().flatMap(comparison -> facts(comparison).stream()).toList();
  }

  private static List<String> facts(Comparison comparison) {
    return comparison.other == null
        ? List.of(comparison.fact)
        : List.of(comparison.fact, comparison.other);
  }

  @Override
  public String toString() {
    return text;
  }
}
