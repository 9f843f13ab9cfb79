package io.rdma4j.diagnosis;

import io.rdma4j.status.Cause;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Finds the causes that facts speak for.
 *
 * <p>A rule matches when all it needs is true and nothing it forbids is. What another cause
 * explains is a consequence, and left out. What is left is sorted by how much speaks for it.
 *
 * <p>Immutable and safe for use by several threads.
 */
public final class RootCauses {
  private static final RootCauses BUILT_IN = new RootCauses(RuleTable.builtIn());

  private final List<Rule> rules;

  private RootCauses(List<Rule> rules) {
    this.rules = rules;
  }

  /** Returns those that come with the library. */
  public static RootCauses builtIn() {
    return BUILT_IN;
  }

  /**
   * Returns those of another table.
   *
   * @param name names the table in a failure
   * @throws IllegalArgumentException with the line at fault
   */
  static RootCauses parse(String name, String text) {
    return new RootCauses(RuleTable.parse(name, text));
  }

  /** Returns the causes of something that has happened, the most probable first. */
  public List<Cause> of(Facts facts) {
    return ranked(facts, rules);
  }

  /** Returns the causes that show before anything fails: of slow, not of broken. */
  public List<Cause> symptoms(Facts facts) {
    return ranked(facts, rules.stream().filter(Rule::watch).toList());
  }

  /** Returns the names of all causes, in the order of the table. */
  public List<String> ids() {
    return rules.stream().map(Rule::id).toList();
  }

  List<Rule> rules() {
    return rules;
  }

  private static List<Cause> ranked(Facts facts, List<Rule> rules) {
    List<Rule.Match> matches = new ArrayList<>();
    Set<String> explained = new HashSet<>();
    for (Rule rule : rules) {
      rule.match(facts)
          .ifPresent(
              match -> {
                matches.add(match);
                explained.addAll(rule.explains());
              });
    }
    return matches.stream()
        .filter(match -> !explained.contains(match.rule().id()))
        .sorted(Comparator.comparingInt(Rule.Match::score).reversed())
        .map(Rule.Match::cause)
        .toList();
  }
}
