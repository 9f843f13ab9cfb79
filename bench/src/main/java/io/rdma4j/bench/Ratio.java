package io.rdma4j.bench;

import java.util.Arrays;

/**
 * How many times as long a rival takes: one quotient for each round, of two figures that were taken
 * in the same process within the same round.
 *
 * @param perRound quotient of each round
 */
public record Ratio(double[] perRound) {
  /**
   * Divides round by round.
   *
   * @throws IllegalArgumentException when the series do not have the same rounds: such figures do
   *     not belong together
   */
  public static Ratio of(Series rival, Series ours) {
    double[] above = rival.roundMinimums();
    double[] below = ours.roundMinimums();
    if (above.length != below.length) {
      throw new IllegalArgumentException(
          "the rival has %d rounds and the pool %d".formatted(above.length, below.length));
    }
    double[] quotients = new double[above.length];
    for (int round = 0; round < quotients.length; round++) {
      quotients[round] = above[round] / below[round];
    }
    return new Ratio(quotients);
  }

  /** Returns the middle of the rounds: the figure to quote. */
  public double median() {
    return Series.median(perRound);
  }

  /** Returns the least favourable round. */
  public double min() {
    return Arrays.stream(perRound).min().orElseThrow();
  }

  /** Returns the most favourable round. */
  public double max() {
    return Arrays.stream(perRound).max().orElseThrow();
  }
}
