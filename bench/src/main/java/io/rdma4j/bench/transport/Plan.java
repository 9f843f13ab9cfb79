package io.rdma4j.bench.transport;

/**
 * How long to measure.
 *
 * @param warmUpNs for each way and task that is the first of its kind; others get a quarter
 * @param rounds each way runs each task once in a round
 * @param batches of each row in a round
 * @param batchNs about as long
 * @param streamBatches of each stream in a round
 * @param streamBatchNs about as long: many times what any way can hold back in its buffers
 * @param distributionNs for round trips at a fixed rate, each way
 */
record Plan(
    long warmUpNs,
    int rounds,
    int batches,
    long batchNs,
    int streamBatches,
    long streamBatchNs,
    long distributionNs) {
  static final Plan FULL =
      new Plan(3_000_000_000L, 15, 20, 4_000_000L, 4, 60_000_000L, 2_000_000_000L);

  static final Plan QUICK =
      new Plan(1_000_000_000L, 7, 16, 2_000_000L, 2, 40_000_000L, 400_000_000L);

  /** Returns the same with another warm-up, for machines that compile slowly. */
  Plan warmedUpFor(long durationNs) {
    return new Plan(
        durationNs, rounds, batches, batchNs, streamBatches, streamBatchNs, distributionNs);
  }
}
