package io.rdma4j.bench.pool;

import java.lang.invoke.MethodHandles;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Threads that only allocate and as many that only release, with batches of blocks between them:
 * the asymmetry of xmalloc-test. A batch is allocated as a whole before it is handed over, so that
 * many blocks are out at a time and every one of them comes home through a foreign thread.
 */
final class BatchLoop extends Loop {
  private static final Rival<Object> RIVAL = LoopCopy.rival(MethodHandles.lookup());

  private static final int BATCH = 128;
  private static final int BATCHES_IN_FLIGHT = 4;
  private static final long PATIENCE_S = 10;

  private final int pairs = Math.clamp(Runtime.getRuntime().availableProcessors() / 2, 1, 4);
  private final BlockingQueue<Object> full = new ArrayBlockingQueue<>(pairs * BATCHES_IN_FLIGHT);
  private final BlockingQueue<Object> empty = new ArrayBlockingQueue<>(pairs * BATCHES_IN_FLIGHT);
  private final int sizeBytes;

  BatchLoop(int sizeBytes) {
    this.sizeBytes = sizeBytes;
    while (empty.remainingCapacity() > 0) {
      empty.add(RIVAL.newSlots(BATCH));
    }
  }

  @Override
  int threads() {
    return 2 * pairs;
  }

  @Override
  void work(int thread) {
    boolean produces = thread % 2 == 0;
    for (int i = 0; i < MixBenchmark.BLOCKS / BATCH / pairs; i++) {
      if (produces) {
        Object batch = next(empty);
        allocateAll(batch);
        full.add(batch);
      } else {
        Object batch = next(full);
        releaseAll(batch);
        empty.add(batch);
      }
    }
  }

  private static Object next(BlockingQueue<Object> queue) {
    try {
      Object batch = queue.poll(PATIENCE_S, TimeUnit.SECONDS);
      if (batch == null) {
        throw new IllegalStateException("no batch has come for " + PATIENCE_S + " s");
      }
      return batch;
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted while measuring", e);
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
