package io.rdma4j.monitor;

import io.rdma4j.status.Distribution;
import io.rdma4j.status.Metric;
import io.rdma4j.status.StatusSnapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot by name, with when it was taken: what rates and findings are computed from. Immutable.
 *
 * @param snapshot the samples
 * @param byName the same by name
 * @param epochMs when, by the wall's clock
 * @param nanoTime when, by {@link System#nanoTime}
 */
record Readings(
    StatusSnapshot snapshot, Map<String, List<Metric>> byName, long epochMs, long nanoTime) {
  private static final double NS_PER_SECOND = 1e9;

  static Readings of(StatusSnapshot snapshot, long epochMs, long nanoTime) {
    Map<String, List<Metric>> byName = new HashMap<>();
    for (Metric metric : snapshot.metrics()) {
      byName.computeIfAbsent(metric.name(), name -> new ArrayList<>()).add(metric);
    }
    return new Readings(snapshot, byName, epochMs, nanoTime);
  }

  /**
   * Returns the sum of the samples with this name that have all these label values.
   *
   * @param labels name, value, name, value ...
   * @return NaN when there is none
   */
  double sum(String name, String... labels) {
    double sum = Double.NaN;
    for (Metric metric : byName.getOrDefault(name, List.of())) {
      if (hasLabels(metric, labels)) {
        double amount = amount(metric.value());
        sum = Double.isNaN(sum) ? amount : sum + amount;
      }
    }
    return sum;
  }

  private static boolean hasLabels(Metric metric, String... labels) {
    for (int i = 0; i < labels.length; i += 2) {
      int at = metric.descriptor().labels().indexOf(labels[i]);
      if (at < 0 || !metric.labelValues().get(at).equals(labels[i + 1])) {
        return false;
      }
    }
    return true;
  }

  private static double amount(Metric.Value value) {
    return switch (value) {
      case Metric.Whole whole -> whole.amount();
      case Metric.Real real -> real.amount();
      case Distribution distribution -> distribution.count();
    };
  }

  /**
   * Returns by how much a counter has grown; one that fell belongs to a source that began anew.
   *
   * @return NaN when one of the two does not know it
   */
  double growthSince(Readings before, String name, String... labels) {
    double now = sum(name, labels);
    double then = before.sum(name, labels);
    return now >= then ? now - then : Double.isNaN(now - then) ? Double.NaN : now;
  }

  /** Returns the growth per second; NaN when it is not known or no time has passed. */
  double rateSince(Readings before, String name, String... labels) {
    double seconds = (nanoTime - before.nanoTime) / NS_PER_SECOND;
    return seconds <= 0 ? Double.NaN : growthSince(before, name, labels) / seconds;
  }

  /**
   * Returns a percentile of the durations recorded since then, within a factor of two: durations
   * are taken to be spread evenly over their bucket.
   *
   * @return seconds; NaN when there were none
   */
  double percentileSince(Readings before, String name, double percent) {
    double[] bounds = {};
    double[] counts = {};
    double total = 0;
    for (Metric metric : byName.getOrDefault(name, List.of())) {
      if (metric.value() instanceof Distribution now) {
        List<Distribution.Bucket> buckets = now.buckets();
        if (bounds.length == 0) {
          bounds = buckets.stream().mapToDouble(b -> b.boundNs() / NS_PER_SECOND).toArray();
          counts = new double[bounds.length];
        }
        Distribution then = before.distribution(metric);
        List<Distribution.Bucket> earlier = then == null ? List.of() : then.buckets();
        for (int i = 0; i < counts.length; i++) {
          counts[i] += buckets.get(i).count() - (earlier.isEmpty() ? 0 : earlier.get(i).count());
        }
        total += now.count() - (then == null ? 0 : then.count());
      }
    }
    return total <= 0 ? Double.NaN : percentile(bounds, counts, total * percent / 100);
  }

  private @Nullable Distribution distribution(Metric like) {
    for (Metric metric : byName.getOrDefault(like.name(), List.of())) {
      if (metric.labelValues().equals(like.labelValues())
          && metric.value() instanceof Distribution distribution) {
        return distribution;
      }
    }
    return null;
  }

  private static double percentile(double[] bounds, double[] cumulative, double rank) {
    for (int i = 0; i < bounds.length; i++) {
      if (cumulative[i] >= rank) {
        double low = i == 0 ? 0 : bounds[i - 1];
        double below = i == 0 ? 0 : cumulative[i - 1];
        double within = cumulative[i] - below;
        return low + (bounds[i] - low) * (within <= 0 ? 1 : (rank - below) / within);
      }
    }
    return bounds[bounds.length - 1];
  }
}
