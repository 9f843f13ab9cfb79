package io.rdma4j.testkit.verbs;

/**
 * A promise of reliable-connected queue pairs that a scripted stack breaks on purpose, so that a
 * test can show that it would notice.
 */
public enum Defect {
  /** None: the stack keeps its promises. */
  NONE,
  /** A message arrives twice. */
  DUPLICATES,
  /** A message that never arrived completes as a success. */
  LOSES,
  /** Two messages arrive in the wrong order. */
  REORDERS,
  /** A send completes before its memory has been read. */
  COMPLETES_EARLY
}
