package io.rdma4j.bench.pool;

import java.lang.invoke.MethodHandles;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Many virtual threads, each of which allocates and releases; now and then one lets another run
 * while it holds a block, as a thread that waits for a reply does.
 */
final class VirtualLoop extends Loop implements Runnable {
  private static final Rival<Object> RIVAL = LoopCopy.rival(MethodHandles.lookup());

  private static final int THREADS = 256;

  /** A power of two. */
  private static final int BLOCKS_PER_YIELD = 256;

  private final int sizeBytes;

  VirtualLoop(int sizeBytes) {
    this.sizeBytes = sizeBytes;
  }

  @Override
  int threads() {
    return 1;
  }

  @Override
  void work(int thread) {
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    Thread.Builder builder =
        Thread.ofVirtual().uncaughtExceptionHandler((failed, e) -> failure.set(e));
    Thread[] threads = new Thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
      threads[i] = builder.unstarted(this);
    }
    for (Thread virtual : threads) {
      virtual.start();
    }
    try {
      for (Thread virtual : threads) {
        virtual.join();
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted while measuring", e);
    }
    if (failure.get() != null) {
      throw new IllegalStateException("a virtual thread failed", failure.get());
    }
  }

  /** The part of one virtual thread. */
  @SuppressWarnings("ThreadPriorityCheck") // the yield is what is measured
  @Override
  public void run() {
    Object slots = RIVAL.newSlots(1);
    for (int i = 1; i <= MixBenchmark.VIRTUAL_BLOCKS / THREADS; i++) {
      RIVAL.allocate(slots, 0, sizeBytes);
      if ((i & (BLOCKS_PER_YIELD - 1)) == 0) {
        Thread.yield();
      }
      RIVAL.release(slots, 0);
    }
  }
}
