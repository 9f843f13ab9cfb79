package io.rdma4j.stress;

import com.sun.management.ThreadMXBean;
import io.rdma4j.pool.PoolView;
import io.rdma4j.pool.RegisteredBufferPool;
import java.lang.management.ManagementFactory;

/**
 * Counts the heap bytes that an operation allocates, on all threads together: what a virtual thread
 * allocates is its carrier's, and a release by another thread has two sides.
 */
final class AllocationGate {
  private static final int OPERATIONS = 200_000;
  private static final int ROUNDS = 5;

  /** Blocks that one thread leases before the other releases them. */
  private static final int BATCH = 50;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private AllocationGate() {}

  /** Returns bytes per operation by one face. */
  static double bytes(HotLoop.Face face) throws InterruptedException {
    double[] result = new double[1];
    try (RegisteredBufferPool pool = HotLoop.newPool()) {
      face.onItsThread(
          () -> {
            try (HotLoop.Loop loop = face.loop(pool)) {
              HotLoop.warmUp(loop);
              result[0] = least(() -> HotLoop.run(loop, OPERATIONS));
            }
          });
    }
    return result[0];
  }

  /** Returns bytes per operation when one thread allocates and another releases. */
  static double foreignBytes() throws InterruptedException {
    try (RegisteredBufferPool pool = HotLoop.newPool()) {
      Baton baton = new Baton();
      Thread releaser = Thread.ofPlatform().start(() -> release(pool, baton));
      PoolView view = pool.view(1);
      Runnable loop =
          () -> {
            for (int i = 0; i < OPERATIONS; i += BATCH) {
              baton.await(0);
              for (int k = 0; k < BATCH; k++) {
                baton.handles[k] = view.allocate();
              }
              baton.turn = BATCH;
            }
            baton.await(0);
          };
      try {
        loop.run();
        return least(loop);
      } finally {
        baton.turn = -1;
        releaser.join();
      }
    }
  }

  private static void release(RegisteredBufferPool pool, Baton baton) {
    while (baton.await(BATCH)) {
      for (long handle : baton.handles) {
        pool.release(handle);
      }
      baton.turn = 0;
    }
  }

  /** What the virtual machine allocates for itself shows in some rounds, an operation's in all. */
  private static double least(Runnable operations) {
    long least = Long.MAX_VALUE;
    for (int round = 0; round < ROUNDS; round++) {
      long before = THREADS.getTotalThreadAllocatedBytes();
      operations.run();
      least = Math.min(least, THREADS.getTotalThreadAllocatedBytes() - before);
    }
    return least / (double) OPERATIONS;
  }

  /** Handles that go from one thread to the other. */
  private static final class Baton {
    final long[] handles = new long[BATCH];

    /** Handles to release, negative at the end. */
    volatile int turn;

    /** Waits for a turn; false at the end. */
    // The other thread may need this processor.
    @SuppressWarnings("ThreadPriorityCheck")
    boolean await(int wanted) {
      while (true) {
        int now = turn;
        if (now == wanted || now < 0) {
          return now == wanted;
        }
        Thread.yield();
      }
    }
  }
}
