package io.rdma4j.testkit;

import java.lang.management.ManagementFactory;

/**
 * Measures the heap bytes one operation allocates on the thread that runs it.
 *
 * <p>Hot paths promise none; a test asserts that the result is below {@link #NONE}, which leaves
 * room for what the virtual machine itself allocates now and then.
 */
public final class AllocationMeter {
  /** Below this many bytes per operation nothing was allocated by the operation. */
  public static final double NONE = 0.05;

  private static final com.sun.management.ThreadMXBean THREADS =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

  private AllocationMeter() {}

  /**
   * Runs {@code operation} for warm-up, then counts.
   *
   * @param warmUp rounds that are not counted: enough for the compiler to be done
   * @param operations rounds that are counted
   * @return bytes per operation
   */
  public static double bytesPerOperation(int warmUp, int operations, Runnable operation) {
    for (int i = 0; i < warmUp; i++) {
      operation.run();
    }
    long before = THREADS.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < operations; i++) {
      operation.run();
    }
    return (THREADS.getCurrentThreadAllocatedBytes() - before) / (double) operations;
  }
}
