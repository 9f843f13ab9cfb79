package io.rdma4j.bench;

import java.util.Arrays;
import java.util.Random;

/**
 * What something costs, from pairs of short slices, one with it and one without: the median of the
 * pairs' quotients, and the interval that the median of other pairs of the same kind would fall
 * into nineteen times in twenty.
 *
 * @param quotients of each pair: with by without
 * @param median the middle of them
 * @param low lower end of the interval
 * @param high upper end
 */
public record PairedCost(double[] quotients, double median, double low, double high) {
  private static final int RESAMPLES = 10_000;
  private static final double OUTSIDE_EACH_END = 0.025;
  private static final int LEAST_PAIRS = 10;

  /**
   * Draws as many pairs as there are, with repetition, very often, and takes the interval that the
   * medians of the draws fall into (percentile bootstrap).
   *
   * @param seed of the draws
   * @throws IllegalArgumentException when the two do not belong together, or are too few
   */
  public static PairedCost of(double[] with, double[] without, long seed) {
    if (with.length != without.length || with.length < LEAST_PAIRS) {
      throw new IllegalArgumentException(
          "%d slices with and %d without; there must be as many of both, and %d or more"
              .formatted(with.length, without.length, LEAST_PAIRS));
    }
    double[] quotients = new double[with.length];
    for (int pair = 0; pair < quotients.length; pair++) {
      quotients[pair] = with[pair] / without[pair];
    }
    double[] medians = new double[RESAMPLES];
    double[] draw = new double[quotients.length];
    Random random = new Random(seed);
    for (int resample = 0; resample < RESAMPLES; resample++) {
      for (int i = 0; i < draw.length; i++) {
        draw[i] = quotients[random.nextInt(quotients.length)];
      }
      medians[resample] = Series.median(draw);
    }
    Arrays.sort(medians);
    int outside = (int) (RESAMPLES * OUTSIDE_EACH_END);
    return new PairedCost(
        quotients, Series.median(quotients), medians[outside], medians[RESAMPLES - 1 - outside]);
  }

  /**
   * Returns by how much the median is above 1, in hundredths, where it is {@code share} as often.
   */
  public double percent(double share) {
    return 100 * share * (median - 1);
  }

  /** Returns the lower end of {@link #percent}. */
  public double lowPercent(double share) {
    return 100 * share * (low - 1);
  }

  /** Returns the upper end of {@link #percent}. */
  public double highPercent(double share) {
    return 100 * share * (high - 1);
  }
}
