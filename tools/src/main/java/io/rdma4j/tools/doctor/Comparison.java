package io.rdma4j.tools.doctor;

import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.PortCounters;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What happened on a host between two snapshots.
 *
 * @param seconds time between them, null when unknown, as for two copied trees
 * @param deltas what each port counted; ports with counters in both snapshots only
 * @param findings the judgement on it
 */
record Comparison(@Nullable Double seconds, List<CounterDelta> deltas, List<Finding> findings) {
  Comparison {
    deltas = List.copyOf(deltas);
    findings = List.copyOf(findings);
  }

  static Comparison of(Snapshot earlier, Snapshot later, @Nullable Double seconds) {
    List<CounterDelta> deltas = new ArrayList<>();
    List<Finding> findings = new ArrayList<>(StateRules.judge(earlier, later));
    for (PortCounters before : earlier.counters()) {
      PortCounters now = later.sameAs(before);
      if (now != null) {
        CounterDelta delta = CounterDelta.between(before, now);
        deltas.add(delta);
        findings.addAll(judge(earlier, later, delta));
      }
    }
    if (findings.stream().allMatch(finding -> finding.severity() == Finding.Severity.INFO)
        && !deltas.isEmpty()) {
      findings.add(
          Finding.info(
              "watch-quiet",
              "Between the two readings no counter that tells of trouble went up.",
              deltas.size() + " port(s) compared",
              ""));
    }
    return new Comparison(seconds, deltas, findings);
  }

  private static List<Finding> judge(Snapshot earlier, Snapshot later, CounterDelta delta) {
    DeviceReport now = later.device(delta.device());
    DeviceReport before = earlier.device(delta.device());
    DeviceReport device = now != null && Snapshot.tellsStates(now) ? now : before;
    return device == null ? List.of() : new CounterRules(device, delta).judge();
  }
}
