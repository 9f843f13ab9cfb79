package io.rdma4j.bench.pool;

import java.lang.invoke.MethodHandles;

/**
 * One thread allocates, another releases; each block is handed over by itself, through a ring of
 * slots made beforehand. What a request does whose buffer is released by the thread that polls.
 */
final class HandoverLoop extends Loop {
  private static final Rival<Object> RIVAL = LoopCopy.rival(MethodHandles.lookup());

  private static final int SLOTS = 1024;

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
      int slot = ring.awaitClaim();
      RIVAL.allocate(slots, slot, sizeBytes);
      ring.publish();
    }
  }

  private void consume() {
    for (int i = 0; i < MixBenchmark.BLOCKS; i++) {
      int slot = ring.awaitTake();
      RIVAL.release(slots, slot);
      ring.giveBack();
    }
  }
}
