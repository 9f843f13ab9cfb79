package io.rdma4j.bench.pool;

import java.lang.invoke.MethodHandles;

/**
 * Each thread has an array of blocks and replaces one at random, again and again; with every run
 * the arrays move on to the next thread, which releases what the one before it has allocated. A
 * server after P. Larson and M. Krishnan, "Memory allocation for long-running server applications"
 * (ISMM 1998), on threads that exist already.
 */
final class LarsonLoop extends Loop {
  private static final Rival<Object> RIVAL = LoopCopy.rival(MethodHandles.lookup());

  /** A power of two: a random slot is a mask away. */
  private static final int BLOCKS_PER_THREAD = 256;

  private final int threads =
      Integer.highestOneBit(Math.clamp(Runtime.getRuntime().availableProcessors(), 2, 4));
  private final Object[] arrays = new Object[threads];
  private final int[] runs = new int[threads];
  private final int sizeBytes;

  LarsonLoop(int sizeBytes) {
    this.sizeBytes = sizeBytes;
    for (int i = 0; i < threads; i++) {
      arrays[i] = RIVAL.newSlots(BLOCKS_PER_THREAD);
      for (int slot = 0; slot < BLOCKS_PER_THREAD; slot++) {
        RIVAL.allocate(arrays[i], slot, sizeBytes);
      }
    }
  }

  @Override
  int threads() {
    return threads;
  }

  @Override
  void work(int thread) {
    int run = runs[thread]++;
    Object array = arrays[(thread + run) % threads];
    int random = 0x9E3779B9 + thread;
    for (int i = 0; i < MixBenchmark.BLOCKS / threads; i++) {
      random ^= random << 13;
      random ^= random >>> 17;
      random ^= random << 5;
      int slot = random & (BLOCKS_PER_THREAD - 1);
      RIVAL.release(array, slot);
      RIVAL.allocate(array, slot, sizeBytes);
    }
  }

  @Override
  public void close() {
    for (Object array : arrays) {
      for (int slot = 0; slot < BLOCKS_PER_THREAD; slot++) {
        RIVAL.release(array, slot);
      }
    }
  }
}
