package io.rdma4j.diagnosis;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.rdma4j.status.Cause.Confidence;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Reads rules.
 *
 * <pre>
 *  # a comment
 *  rule ID
 *    title        the cause in a few words
 *    confidence   certain | likely | possible
 *    weight       how much a match says, 1 to 100
 *    watch                          looked for also while nothing has failed
 *    needs        CONDITION         all must be true
 *    forbids      CONDITION         none may be true
 *    supports     CONDITION         makes it surer
 *    explains     ID                a consequence of this cause
 *    inseparable  another cause that looks the same
 *    next         what to do
 *    source       where the signature is known from
 * </pre>
 *
 * <p>A line that is indented by more than its rule's others goes on with the one before. {@code
 * title}, {@code confidence}, {@code weight}, {@code next}, {@code source} and at least one {@code
 * needs} are required.
 */
final class RuleTable {
  private static final String BUILT_IN = "root-causes.rules";
  private static final String INDENT = "  ";
  private static final String CONTINUED = "    ";

  private final List<Rule> rules = new ArrayList<>();
  private final Set<String> ids = new HashSet<>();
  private final String name;
  private int line;
  private Draft draft = new Draft("");

  /** A rule in the making. */
  private static final class Draft {
    private final String id;
    private String title = "";
    private String confidence = "";
    private String weight = "";
    private String next = "";
    private String source = "";
    private boolean watch;
    private final List<Condition> needs = new ArrayList<>();
    private final List<Condition> forbids = new ArrayList<>();
    private final List<Condition> supports = new ArrayList<>();
    private final Set<String> explains = new HashSet<>();
    private final List<String> inseparable = new ArrayList<>();

    Draft(String id) {
      this.id = id;
    }
  }

  private RuleTable(String name) {
    this.name = name;
  }

  /** Returns the rules that come with the library. */
  static List<Rule> builtIn() {
    try (InputStream in = RuleTable.class.getResourceAsStream(BUILT_IN)) {
      if (in == null) {
        throw new IllegalStateException(BUILT_IN + " is missing beside " + RuleTable.class);
      }
      return parse(BUILT_IN, new String(in.readAllBytes(), UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(BUILT_IN + " can not be read", e);
    }
  }

  /**
   * Reads rules.
   *
   * @param name names the table in a failure
   * @throws IllegalArgumentException with the line at fault
   */
  static List<Rule> parse(String name, String text) {
    RuleTable table = new RuleTable(name);
    String pending = "";
    int pendingLine = 0;
    for (String raw : (text + "\nend").lines().toList()) {
      String trimmed = raw.strip();
      table.line++;
      if (trimmed.isEmpty() || trimmed.startsWith("#")) {
        continue;
      }
      if (raw.startsWith(CONTINUED)) {
        pending += " " + trimmed;
        continue;
      }
      int at = table.line;
      table.line = pendingLine;
      table.take(pending);
      table.line = at;
      pending = raw.stripTrailing();
      pendingLine = at;
    }
    table.finish();
    table.checkReferences();
    return List.copyOf(table.rules);
  }

  private void take(String text) {
    if (text.isEmpty()) {
      return;
    }
    String[] parts = text.strip().split("\\s+", 2);
    String value = parts.length > 1 ? parts[1].strip() : "";
    if (!text.startsWith(INDENT)) {
      if (!parts[0].equals("rule") || value.isEmpty()) {
        throw wrong("expected 'rule ID', got '" + text + "'");
      }
      finish();
      draft = new Draft(value);
      if (!ids.add(value)) {
        throw wrong("a second rule " + value);
      }
      return;
    }
    try {
      set(parts[0], value);
    } catch (IllegalArgumentException e) {
      throw wrong(String.valueOf(e.getMessage()));
    }
  }

  private void set(String key, String value) {
    switch (key) {
      case "title" -> draft.title = value;
      case "confidence" -> draft.confidence = value;
      case "weight" -> draft.weight = value;
      case "watch" -> draft.watch = true;
      case "needs" -> draft.needs.add(Condition.parse(value));
      case "forbids" -> draft.forbids.add(Condition.parse(value));
      case "supports" -> draft.supports.add(Condition.parse(value));
      case "explains" -> draft.explains.addAll(List.of(value.split("[ ,]+", -1)));
      case "inseparable" -> draft.inseparable.add(value);
      case "next" -> draft.next = value;
      case "source" -> draft.source = value;
      default -> throw new IllegalArgumentException("unknown word '" + key + "'");
    }
  }

  private void finish() {
    if (draft.id.isEmpty()) {
      return;
    }
    if (draft.title.isEmpty()
        || draft.next.isEmpty()
        || draft.source.isEmpty()
        || draft.needs.isEmpty()) {
      throw wrong("rule " + draft.id + " lacks title, next, source or needs");
    }
    rules.add(
        new Rule(
            draft.id,
            draft.title,
            confidence(draft.confidence),
            weight(draft.weight),
            draft.watch,
            List.copyOf(draft.needs),
            List.copyOf(draft.forbids),
            List.copyOf(draft.supports),
            Set.copyOf(draft.explains),
            List.copyOf(draft.inseparable),
            draft.next,
            draft.source));
  }

  private Confidence confidence(String word) {
    for (Confidence confidence : Confidence.values()) {
      if (confidence.name().toLowerCase(Locale.ROOT).equals(word)) {
        return confidence;
      }
    }
    throw wrong(
        "confidence of " + draft.id + " is '" + word + "', not certain, likely or possible");
  }

  private int weight(String text) {
    if (!text.matches("[1-9][0-9]?|100")) {
      throw wrong("weight of " + draft.id + " is '" + text + "', not 1 to 100");
    }
    return Integer.parseInt(text);
  }

  private void checkReferences() {
    for (Rule rule : rules) {
      for (String other : rule.explains()) {
        if (!ids.contains(other) || other.equals(rule.id())) {
          throw wrong("rule " + rule.id() + " explains " + other + ", which is no other rule");
        }
      }
    }
  }

  private IllegalArgumentException wrong(String what) {
    return new IllegalArgumentException(name + ", line " + line + ": " + what);
  }
}
