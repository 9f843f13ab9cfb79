package io.rdma4j.diagnosis;

import io.rdma4j.diagnosis.Condition.Truth;
import io.rdma4j.status.Cause;
import io.rdma4j.status.Cause.Confidence;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * One root cause and how it shows.
 *
 * <p>Immutable.
 *
 * @param id stable name
 * @param title the cause in a few words
 * @param confidence how far the evidence carries when all of it is there
 * @param weight how much a match says; the rule that says more comes first
 * @param watch whether it is looked for while nothing has failed
 * @param needs what must be true
 * @param forbids what must not be true
 * @param supports what makes it surer
 * @param explains causes that are consequences of this one, and so none of their own
 * @param inseparableFrom other causes that look the same
 * @param nextStep what to do
 * @param source where the signature is known from
 */
record Rule(
    String id,
    String title,
    Confidence confidence,
    int weight,
    boolean watch,
    List<Condition> needs,
    List<Condition> forbids,
    List<Condition> supports,
    Set<String> explains,
    List<String> inseparableFrom,
    String nextStep,
    String source) {

  /** A cause with how much speaks for it. */
  record Match(Rule rule, Cause cause, int score) {}

  /** What a condition that holds adds to the weight of its rule. */
  private static final int SUPPORT = 2;

  Optional<Match> match(Facts facts) {
    List<String> evidence = new ArrayList<>();
    List<String> missing = new ArrayList<>();
    for (Condition condition : needs) {
      if (condition.of(facts) != Truth.TRUE) {
        return Optional.empty();
      }
      evidence.addAll(condition.evidence(facts));
    }
    for (Condition condition : forbids) {
      Truth truth = condition.of(facts);
      if (truth == Truth.TRUE) {
        return Optional.empty();
      }
      if (truth == Truth.UNKNOWN) {
        missing.addAll(condition.unknown(facts));
      }
    }
    int score = weight;
    for (Condition condition : supports) {
      switch (condition.of(facts)) {
        case TRUE -> {
          score += SUPPORT;
          evidence.addAll(condition.evidence(facts));
        }
        case UNKNOWN -> missing.addAll(condition.unknown(facts));
        case FALSE -> {}
      }
    }
    Cause cause =
        new Cause(
            id,
            title,
            confidenceWithout(missing),
            evidence.stream().distinct().toList(),
            missing.stream().distinct().toList(),
            inseparableFrom,
            nextStep);
    return Optional.of(new Match(this, cause, score));
  }

  private Confidence confidenceWithout(List<String> missing) {
    Confidence most =
        inseparableFrom.isEmpty() || confidence != Confidence.CERTAIN
            ? confidence
            : Confidence.LIKELY;
    return missing.isEmpty() || most != Confidence.CERTAIN ? most : Confidence.LIKELY;
  }
}
