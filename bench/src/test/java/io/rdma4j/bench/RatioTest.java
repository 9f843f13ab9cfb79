package io.rdma4j.bench;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

final class RatioTest {
  private static Series series(double[]... rounds) {
    return new Series(List.of(rounds));
  }

  @Test
  void theLeastBatchStandsForItsRound() {
    Series series = series(new double[] {9, 4, 7}, new double[] {5, 6, 8}, new double[] {70, 60});
    assertArrayEquals(new double[] {4, 5, 60}, series.roundMinimums());
    assertEquals(4, series.minNs());
    assertEquals(5, series.medianNs());
  }

  @Test
  void anEvenNumberOfRoundsHasTheMiddleOfTwo() {
    assertEquals(5, Series.median(new double[] {9, 1, 4, 6}));
  }

  @Test
  void aRatioComparesWhatWasMeasuredInTheSameRound() {
    Series rival = series(new double[] {30, 40}, new double[] {300}, new double[] {20});
    Series ours = series(new double[] {10}, new double[] {100, 150}, new double[] {10});
    Ratio ratio = Ratio.of(rival, ours);
    assertArrayEquals(new double[] {3, 3, 2}, ratio.perRound());
    assertEquals(3, ratio.median());
    assertEquals(2, ratio.min());
    assertEquals(3, ratio.max());
  }

  @Test
  void seriesOfDifferentRunsMakeNoRatio() {
    Series three = series(new double[] {1}, new double[] {1}, new double[] {1});
    Series two = series(new double[] {1}, new double[] {1});
    assertThrows(IllegalArgumentException.class, () -> Ratio.of(three, two));
  }

  @Test
  void aSeriesWithoutMeasurementIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> new Series(List.of()));
    assertThrows(IllegalArgumentException.class, () -> series(new double[] {1}, new double[0]));
  }
}
