package io.rdma4j.bench;

import java.util.Arrays;
import java.util.List;

/**
 * What one row was measured to cost: per round some batches, each the mean of its operations. The
 * least batch of a round stands for the round, since everything that disturbs a batch makes it
 * longer.
 *
 * @param rounds nanoseconds per operation, one array of batches for each round
 */
public record Series(List<double[]> rounds) {
  /** Copies the list; there is a round, and a batch in each. */
  public Series {
    rounds = List.copyOf(rounds);
    if (rounds.isEmpty() || rounds.stream().anyMatch(batches -> batches.length == 0)) {
      throw new IllegalArgumentException("a series needs a round, and each round a batch");
    }
  }

  /** Returns the least batch of each round. */
  public double[] roundMinimums() {
    return rounds.stream().mapToDouble(Series::least).toArray();
  }

  /** Returns the least batch of all. */
  public double minNs() {
    return least(roundMinimums());
  }

  /** Returns the median of the rounds' minimums. */
  public double medianNs() {
    return median(roundMinimums());
  }

  private static double least(double[] values) {
    return Arrays.stream(values).min().orElseThrow();
  }

  /** Returns the middle value, or the mean of the two in the middle. */
  public static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
