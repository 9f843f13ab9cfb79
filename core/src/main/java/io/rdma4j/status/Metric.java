package io.rdma4j.status;

import io.rdma4j.status.MetricDescriptor.Kind;
import java.util.List;

/**
 * One sample: a descriptor, the values of its labels, and what was measured.
 *
 * <p>Immutable. A metric that does not fit its descriptor can not be made.
 *
 * @param descriptor what the metric means
 * @param labelValues one value for each label of the descriptor, in its order
 * @param value a {@link Distribution} for a histogram, a number otherwise
 */
public record Metric(MetricDescriptor descriptor, List<String> labelValues, Value value) {

  /** What was measured, in the unit of the descriptor. */
  public sealed interface Value permits Whole, Real, Distribution {}

  /** A whole number. */
  public record Whole(long amount) implements Value {}

  /** Any other number. NaN means that there is none, as for a ratio of nothing. */
  public record Real(double amount) implements Value {}

  /**
   * Checks the sample against its descriptor.
   *
   * @throws IllegalArgumentException when labels or value do not fit
   */
  public Metric {
    labelValues = List.copyOf(labelValues);
    if (labelValues.size() != descriptor.labels().size()) {
      throw new IllegalArgumentException(
          "metric '%s': labels are %s, values given are %s"
              .formatted(descriptor.name(), descriptor.labels(), labelValues));
    }
    if ((descriptor.kind() == Kind.HISTOGRAM) != (value instanceof Distribution)) {
      throw new IllegalArgumentException(
          "metric '%s': a %s does not take a %s"
              .formatted(descriptor.name(), descriptor.kind(), value.getClass().getSimpleName()));
    }
    if (descriptor.kind() == Kind.COUNTER && !counts(value)) {
      throw new IllegalArgumentException(
          "metric '%s': a counter is finite and not negative, not %s"
              .formatted(descriptor.name(), value));
    }
  }

  /** Returns the name of the descriptor. */
  public String name() {
    return descriptor.name();
  }

  private static boolean counts(Value value) {
    return switch (value) {
      case Whole whole -> whole.amount >= 0;
      case Real real -> real.amount >= 0 && Double.isFinite(real.amount);
      case Distribution distribution -> false;
    };
  }
}
