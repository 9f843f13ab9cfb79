package io.rdma4j.tools.doctor;

/**
 * Something the reader should know.
 *
 * @param id stable name of the kind of finding, for scripts
 * @param severity weight
 * @param text what is the matter, one sentence
 * @param evidence what was read, and where
 * @param nextStep what to do; empty when there is nothing to do
 */
record Finding(String id, Severity severity, String text, String evidence, String nextStep) {
  /** Weight of a finding. */
  enum Severity {
    /** Good to know. */
    INFO("info"),
    /** RDMA works, but worse or later fails. */
    WARNING("warning"),
    /** RDMA does not work. */
    ERROR("error");

    private final String label;

    Severity(String label) {
      this.label = label;
    }

    String label() {
      return label;
    }
  }

  static Finding info(String id, String text, String evidence, String nextStep) {
    return new Finding(id, Severity.INFO, text, evidence, nextStep);
  }

  static Finding warning(String id, String text, String evidence, String nextStep) {
    return new Finding(id, Severity.WARNING, text, evidence, nextStep);
  }

  static Finding error(String id, String text, String evidence, String nextStep) {
    return new Finding(id, Severity.ERROR, text, evidence, nextStep);
  }

  Finding as(Severity other) {
    return new Finding(id, other, text, evidence, nextStep);
  }
}
