package io.rdma4j.stress;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.infra.StateCase;
import org.openjdk.jcstress.infra.Status;
import org.openjdk.jcstress.infra.TestInfo;
import org.openjdk.jcstress.infra.collectors.TestResult;
import org.openjdk.jcstress.infra.runners.TestList;

/** What was seen of one stress case in all its runs. Single thread only. */
final class Verdict {
  private final String name;
  private final TestInfo info;
  private final Map<String, Long> samples = new TreeMap<>();
  private final List<String> failures = new ArrayList<>();

  Verdict(String name) {
    this.name = name;
    this.info = TestList.getInfo(name);
  }

  String name() {
    return name;
  }

  void add(TestResult result) {
    for (String outcome : result.getStateKeys()) {
      samples.merge(outcome, result.getCount(outcome), Long::sum);
    }
    if (result.status() != Status.NORMAL) {
      failures.add(result.status() + " " + result.getMessages() + result.getVmErr());
    }
  }

  /** Returns true when more runs would not change the verdict. */
  boolean isSettled() {
    return isPassed() || !failures.isEmpty() || isForbiddenSeen();
  }

  boolean isPassed() {
    return failures.isEmpty() && !samples.isEmpty() && !isForbiddenSeen() && missing().isEmpty();
  }

  private boolean isForbiddenSeen() {
    return samples.keySet().stream().anyMatch(outcome -> isForbidden(caseOf(outcome)));
  }

  private static boolean isForbidden(StateCase state) {
    return state.expect() != Expect.ACCEPTABLE && state.expect() != Expect.ACCEPTABLE_INTERESTING;
  }

  /** Returns the descriptions of the interesting cases that no sample showed. */
  private List<StateCase> missing() {
    List<StateCase> missing = new ArrayList<>(info.cases());
    missing.add(info.unmatched());
    missing.removeIf(state -> state.expect() != Expect.ACCEPTABLE_INTERESTING);
    samples.keySet().forEach(outcome -> missing.remove(caseOf(outcome)));
    return missing;
  }

  /** The case that jcstress would choose: one of that very name, else the first that matches. */
  private StateCase caseOf(String outcome) {
    return info.cases().stream()
        .filter(state -> state.matchesExactly(outcome))
        .findFirst()
        .or(() -> info.cases().stream().filter(state -> state.matches(outcome)).findFirst())
        .orElse(info.unmatched());
  }

  String describe() {
    StringBuilder text = new StringBuilder();
    text.append("%-6s %s%n".formatted(isPassed() ? "passed" : "FAILED", name));
    samples.forEach(
        (outcome, count) -> {
          StateCase state = caseOf(outcome);
          text.append(
              "         %-10s %,12d  %s%s%n"
                  .formatted(
                      outcome,
                      count,
                      isForbidden(state) ? "FORBIDDEN: " : "",
                      state.description()));
        });
    for (StateCase state : missing()) {
      text.append("         never seen:  %s%n".formatted(state.description()));
    }
    failures.forEach(failure -> text.append("         %s%n".formatted(failure)));
    return text.toString();
  }
}
