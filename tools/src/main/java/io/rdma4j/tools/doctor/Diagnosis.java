package io.rdma4j.tools.doctor;

import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.HostReport.Unreadable;
import io.rdma4j.host.PortCounters;
import io.rdma4j.tools.doctor.Finding.Severity;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The judgement on one host: a verdict for each device, and the findings, gravest first.
 *
 * @param snapshot what was judged
 * @param verdicts one for each device, in the order of the report
 * @param findings what the reader should know
 * @param comparison what happened since an earlier snapshot, null when there was one only
 */
record Diagnosis(
    Snapshot snapshot,
    List<Verdict> verdicts,
    List<Finding> findings,
    @Nullable Comparison comparison) {
  static final int EXIT_USABLE = 0;
  static final int EXIT_WARNINGS = 1;
  static final int EXIT_NOT_USABLE = 2;

  /**
   * Whether a device can be used.
   *
   * @param device the device
   * @param reasons why it cannot; empty when it can
   */
  record Verdict(DeviceReport device, List<String> reasons) {
    boolean usable() {
      return reasons.isEmpty();
    }
  }

  static Diagnosis of(Snapshot snapshot, @Nullable Comparison comparison) {
    HostReport host = snapshot.host();
    HostRules hostRules = new HostRules(host);
    List<Finding> blockers = hostRules.blockers();
    List<Finding> findings = new ArrayList<>(blockers);
    List<Finding> deviceBlockers = new ArrayList<>();
    List<Verdict> verdicts = new ArrayList<>();
    for (DeviceReport device : host.devices()) {
      DeviceRules rules = new DeviceRules(host, device);
      List<Finding> own = rules.blockers();
      List<String> reasons = new ArrayList<>();
      blockers.forEach(blocker -> reasons.add(blocker.text()));
      own.forEach(blocker -> reasons.add(blocker.text()));
      verdicts.add(new Verdict(device, List.copyOf(reasons)));
      deviceBlockers.addAll(own);
      findings.addAll(rules.remarks());
    }
    // A device that fails beside one that works is no reason to stop.
    boolean anyUsable = verdicts.stream().anyMatch(Verdict::usable);
    Severity weight = anyUsable ? Severity.WARNING : Severity.ERROR;
    deviceBlockers.forEach(blocker -> findings.add(blocker.as(weight)));
    findings.addAll(hostRules.remarks());
    findings.addAll(TransportAdvice.give(snapshot));
    snapshot.counters().forEach(port -> addUnreadable(port, findings));
    if (comparison != null) {
      findings.addAll(comparison.findings());
    }
    findings.sort(Comparator.comparing(Finding::severity).reversed());
    return new Diagnosis(snapshot, List.copyOf(verdicts), List.copyOf(findings), comparison);
  }

  /** Some drivers list counters that they do not have; all the others count. */
  private static void addUnreadable(PortCounters port, List<Finding> findings) {
    if (!port.missing().isEmpty()) {
      Unreadable first = port.missing().getFirst();
      findings.add(
          Finding.info(
              "counters-unreadable",
              String.format(
                  "%d counter(s) of %s port %d give no number, so they are left out.",
                  port.missing().size(), port.device(), port.port()),
              first.path() + ": " + first.problem(),
              ""));
    }
  }

  HostReport host() {
    return snapshot.host();
  }

  long usableDevices() {
    return verdicts.stream().filter(Verdict::usable).count();
  }

  int exitStatus() {
    if (usableDevices() == 0) {
      return EXIT_NOT_USABLE;
    }
    boolean warned = findings.stream().anyMatch(f -> f.severity() != Severity.INFO);
    return warned ? EXIT_WARNINGS : EXIT_USABLE;
  }
}
