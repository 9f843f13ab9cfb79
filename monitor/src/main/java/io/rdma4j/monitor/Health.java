package io.rdma4j.monitor;

import io.rdma4j.status.JsonText;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Whether the node is well, and what is wrong if not. Immutable.
 *
 * @param findings what is wrong, the worst first; empty when nothing is
 */
record Health(List<Finding> findings) {
  /** How the node is, from well to worse. */
  enum Level {
    OK,
    /** It works, worse than it should. */
    DEGRADED,
    /** It can not do its work. */
    FAILING
  }

  /**
   * Something that is wrong.
   *
   * @param id stable name
   * @param level how bad
   * @param text one sentence with figures
   */
  record Finding(String id, Level level, String text) {
    private String json() {
      return "{\"id\":%s,\"level\":%s,\"text\":%s}"
          .formatted(JsonText.quote(id), JsonText.quote(level.name()), JsonText.quote(text));
    }
  }

  /** Sorts the findings. */
  Health {
    findings = findings.stream().sorted((a, b) -> b.level().compareTo(a.level())).toList();
  }

  /** Returns what is wrong by the change since {@code before}, some seconds ago. */
  static Health of(Readings before, Readings now) {
    Findings findings = new Findings(before, now);
    if (now.sum("rdma4j_node_path_usable") == 0) {
      findings.add("no_path", Level.FAILING, "none of the node's paths can be used");
    }
    findings.addIfGrown(
        "pool_exhausted",
        Level.FAILING,
        "allocations refused, since the pool's budget is spent",
        "rdma4j_pool_exhausted_total");
    for (String cause : List.of("peer_lost", "protocol", "device")) {
      findings.addIfGrown(
          "connections_" + cause,
          Level.DEGRADED,
          "connections ended: " + cause.replace('_', ' '),
          "rdma4j_node_connections_ended_total",
          "cause",
          cause);
    }
    for (String cause : List.of("deadline", "disconnected", "peer_failed", "remote_access")) {
      findings.addIfGrown(
          "requests_" + cause,
          Level.DEGRADED,
          "requests without a reply: " + cause.replace('_', ' '),
          "rdma4j_node_requests_failed_total",
          "cause",
          cause);
    }
    findings.addIfGrown(
        "pool_fallback",
        Level.DEGRADED,
        "allocations that registered memory of their own, since no block was free",
        "rdma4j_pool_fallbacks_total");
    findings.addIfGrown(
        "registration_failed",
        Level.DEGRADED,
        "registrations that a device refused",
        "rdma4j_pool_registration_failures_total");
    findings.addIfGrown(
        "handler_failed",
        Level.DEGRADED,
        "exceptions of handlers",
        "rdma4j_node_handler_errors_total");
    findings.addIfGrown(
        "status_source_failed",
        Level.DEGRADED,
        "readings of a source of metrics that failed, the latest by "
            + now.snapshot().lastFailure(),
        "rdma4j_status_source_failures_total");
    return new Health(findings.list);
  }

  private static final class Findings {
    private final Readings before;
    private final Readings now;
    private final List<Finding> list = new ArrayList<>();

    Findings(Readings before, Readings now) {
      this.before = before;
      this.now = now;
    }

    void add(String id, Level level, String text) {
      list.add(new Finding(id, level, text));
    }

    void addIfGrown(String id, Level level, String what, String counter, String... labels) {
      double growth = now.growthSince(before, counter, labels);
      if (growth > 0) {
        double seconds = (now.nanoTime() - before.nanoTime()) / 1e9;
        add(id, level, String.format(Locale.ROOT, "%s: %.0f in %.0f s", what, growth, seconds));
      }
    }
  }

  /** Returns these findings and others. */
  Health with(List<Finding> others) {
    List<Finding> all = new ArrayList<>(findings);
    all.addAll(others);
    return new Health(all);
  }

  Level level() {
    return findings.isEmpty() ? Level.OK : findings.getFirst().level();
  }

  /** Returns the level, then a line for each finding. */
  String text() {
    return level()
        + "\n"
        + findings.stream()
            .map(f -> f.level() + " " + f.id() + ": " + f.text() + "\n")
            .collect(Collectors.joining());
  }

  String json() {
    return "{\"status\":\"%s\",\"findings\":%s}\n"
        .formatted(
            level(),
            findings.stream().map(Finding::json).collect(Collectors.joining(",", "[", "]")));
  }
}
