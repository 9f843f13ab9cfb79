package io.rdma4j.provider.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The tuned batch is within a twentieth of the best one, for every price of a doorbell. */
final class BatchTunerTest {
  private static final int MOST = 128;

  private long nowNs;

  private void batch(BatchTuner tuner, int requests, long fixedNs, long requestNs) {
    tuner.begin();
    nowNs += fixedNs + requests * requestNs;
    tuner.posted(requests);
  }

  private BatchTuner measuring() {
    return BatchTuner.measuring(() -> nowNs, MOST);
  }

  /** Enough full batches for some rounds of measuring. */
  private void run(BatchTuner tuner, long fixedNs, long requestNs, Random interruptions) {
    for (int i = 0; i < 4 * (BatchTuner.PAUSE + 2 * BatchTuner.SAMPLES); i++) {
      long extraNs = interruptions.nextInt(4) == 0 ? interruptions.nextInt(100_000) : 0;
      batch(tuner, tuner.limit(), fixedNs + extraNs, requestNs);
    }
  }

  private static double costNs(int requests, long fixedNs, long requestNs) {
    return (double) fixedNs / requests + requestNs;
  }

  @ParameterizedTest
  @CsvSource({
    "0, 30",
    "10, 100",
    "120, 40",
    "200, 40",
    "800, 30",
    "1500, 300",
    "5000, 20",
    "20000, 700",
  })
  void theChoiceIsWithinATwentiethOfTheBest(long fixedNs, long requestNs) {
    BatchTuner tuner = measuring();
    run(tuner, fixedNs, requestNs, new Random(fixedNs));
    double bestNs = Double.MAX_VALUE;
    for (int requests = 1; requests <= MOST; requests *= 2) {
      bestNs = Math.min(bestNs, costNs(requests, fixedNs, requestNs));
    }
    double chosenNs = costNs(tuner.limit(), fixedNs, requestNs);
    assertTrue(chosenNs <= 1.0501 * bestNs, () -> tuner.limit() + ": " + chosenNs);
    int smaller = tuner.limit() / 2;
    assertTrue(
        smaller == 0 || fixedNs / (double) smaller > BatchTuner.FIXED_SHARE * requestNs * 0.99,
        () -> "a smaller batch would have done: " + tuner.limit());
  }

  @Test
  void theChoiceFollowsTheProgram() {
    BatchTuner tuner = measuring();
    run(tuner, 200, 20, new Random(1));
    assertEquals(128, tuner.limit());
    run(tuner, 200, 2000, new Random(2));
    assertEquals(2, tuner.limit());
    run(tuner, 200, 20, new Random(3));
    assertEquals(128, tuner.limit());
  }

  @Test
  void batchesCutShortSayNothing() {
    BatchTuner tuner = measuring();
    for (int i = 0; i < 10 * BatchTuner.PAUSE; i++) {
      batch(tuner, 1, 5000, 10);
    }
    assertTrue(tuner.limit() >= BatchTuner.DEFAULT_LIMIT / 2, () -> "limit " + tuner.limit());
  }

  @Test
  void loneMessagesHardlyCostALookAtTheClock() {
    int[] looks = new int[1];
    BatchTuner tuner = BatchTuner.measuring(() -> looks[0]++, MOST);
    int rounds = 10;
    for (int i = 0; i < rounds * (BatchTuner.PAUSE + BatchTuner.PATIENCE); i++) {
      tuner.begin();
      tuner.posted(1);
    }
    assertTrue(looks[0] >= BatchTuner.PATIENCE, () -> looks[0] + " looks");
    assertTrue(looks[0] <= (rounds + 1) * BatchTuner.PATIENCE, () -> looks[0] + " looks");
    assertEquals(BatchTuner.DEFAULT_LIMIT, tuner.limit());
  }

  @Test
  void aFixedLimitStaysAndIsCutToTheQueue() {
    BatchTuner fixed = BatchTuner.fixed(16, MOST);
    run(fixed, 5000, 10, new Random(1));
    assertEquals(16, fixed.limit());
    assertEquals(5, BatchTuner.fixed(16, 5).limit());
    BatchTuner shallow = BatchTuner.measuring(() -> nowNs, 1);
    run(shallow, 5000, 10, new Random(1));
    assertEquals(1, shallow.limit());
  }
}
