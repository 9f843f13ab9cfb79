package io.rdma4j.bench.pool;

import java.lang.invoke.MethodHandles;

/**
 * Threads that only allocate, each with one that only releases, and batches of blocks between them:
 * the asymmetry of xmalloc-test. A batch is allocated as a whole before it is handed over, so that
 * many blocks are out at a time and every one of them comes home through a foreign thread.
 */
final class BatchLoop extends Loop {
  private static final Rival<Object> RIVAL = LoopCopy.rival(MethodHandles.lookup());

  private static final int BATCH = 128;
  private static final int BATCHES_IN_FLIGHT = 4;

  private final int pairs =
      Integer.highestOneBit(Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, 4));
  private final SpscRing[] rings = new SpscRing[pairs];
  private final Object[][] batches = new Object[pairs][BATCHES_IN_FLIGHT];
  private final int sizeBytes;

  BatchLoop(int sizeBytes) {
    this.sizeBytes = sizeBytes;
    for (int pair = 0; pair < pairs; pair++) {
      rings[pair] = new SpscRing(BATCHES_IN_FLIGHT);
      for (int i = 0; i < BATCHES_IN_FLIGHT; i++) {
        batches[pair][i] = RIVAL.newSlots(BATCH);
      }
    }
  }

  @Override
  int threads() {
    return 2 * pairs;
  }

  @Override
  void work(int thread) {
    SpscRing ring = rings[thread / 2];
    Object[] slots = batches[thread / 2];
    for (int i = 0; i < MixBenchmark.BLOCKS / BATCH / pairs; i++) {
      if (thread % 2 == 0) {
        allocateAll(slots[ring.awaitClaim()]);
        ring.publish();
      } else {
        releaseAll(slots[ring.awaitTake()]);
        ring.giveBack();
      }
    }
  }

  private void allocateAll(Object batch) {
    for (int slot = 0; slot < BATCH; slot++) {
      RIVAL.allocate(batch, slot, sizeBytes);
    }
  }

  private static void releaseAll(Object batch) {
    for (int slot = 0; slot < BATCH; slot++) {
      RIVAL.release(batch, slot);
    }
  }
}
