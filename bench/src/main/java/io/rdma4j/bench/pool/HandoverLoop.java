package io.rdma4j.bench.pool;

import java.lang.invoke.MethodHandles;
import java.util.concurrent.TimeUnit;

/**
 * One thread allocates, another releases; each block is handed over by itself, through a ring of
 * slots made beforehand. What a request does whose buffer is released by the thread that polls.
 */
final class HandoverLoop extends Loop {
  private static final Rival<Object> RIVAL = LoopCopy.rival(MethodHandles.lookup());

  private static final int SLOTS = 1024;
  private static final int SPINS_BEFORE_YIELD = 1000;
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(10);

  private final SpscRing ring = new SpscRing(SLOTS);
  private final Object slots = RIVAL.newSlots(SLOTS);
  private final int sizeBytes;

  HandoverLoop(int sizeBytes) {
    this.sizeBytes = sizeBytes;
  }

  @Override
  int threads() {
    return 2;
  }

  @Override
  void work(int thread) {
    if (thread == 0) {
      produce();
    } else {
      consume();
    }
  }

  private void produce() {
    for (int i = 0; i < MixBenchmark.BLOCKS; i++) {
      int slot = ring.claim();
      if (slot < 0) {
        slot = awaitSlot(true);
      }
      RIVAL.allocate(slots, slot, sizeBytes);
      ring.publish();
    }
  }

  private void consume() {
    for (int i = 0; i < MixBenchmark.BLOCKS; i++) {
      int slot = ring.take();
      if (slot < 0) {
        slot = awaitSlot(false);
      }
      RIVAL.release(slots, slot);
      ring.giveBack();
    }
  }

  @SuppressWarnings("ThreadPriorityCheck") // the other thread may be waiting for this processor
  private int awaitSlot(boolean producer) {
    long startNs = System.nanoTime();
    for (int spins = 0; ; spins++) {
      int slot = producer ? ring.claim() : ring.take();
      if (slot >= 0) {
        return slot;
      }
      if (spins < SPINS_BEFORE_YIELD) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
        if (System.nanoTime() - startNs > PATIENCE_NS) {
          throw new IllegalStateException("the other thread has made no progress for 10 s");
        }
      }
    }
  }
}
