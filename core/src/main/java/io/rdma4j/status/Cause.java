package io.rdma4j.status;

import java.util.List;

/**
 * Why an incident happened, as far as its evidence tells.
 *
 * <p>Immutable.
 *
 * @param id stable name of the cause, for example {@code peer-process-ended}
 * @param title the cause in a few words
 * @param confidence how far the evidence carries
 * @param evidence what was seen, with figures, one fact in each
 * @param missing what could not be looked at and would have made this surer, or ruled it out
 * @param inseparableFrom other causes that look the same in this data
 * @param nextStep what to do or to look at
 */
public record Cause(
    String id,
    String title,
    Confidence confidence,
    List<String> evidence,
    List<String> missing,
    List<String> inseparableFrom,
    String nextStep) {

  /** How far evidence carries. */
  public enum Confidence {
    /** It fits; other causes fit too. */
    POSSIBLE,
    /** It fits better than others, and something that would settle it is missing. */
    LIKELY,
    /** Nothing else that is known looks like this. */
    CERTAIN
  }

  /** Copies the lists. */
  public Cause {
    evidence = List.copyOf(evidence);
    missing = List.copyOf(missing);
    inseparableFrom = List.copyOf(inseparableFrom);
  }
}
