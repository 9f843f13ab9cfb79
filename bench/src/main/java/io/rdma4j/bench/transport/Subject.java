package io.rdma4j.bench.transport;

import java.io.IOException;

/** Something that can be measured in turn with others. */
interface Subject {
  /** Returns whether this is a program of others, whose failure costs its own rows alone. */
  default boolean isOfOthers() {
    return false;
  }

  /** Runs a task until whatever can be compiled is compiled. */
  void warmUp(Task task, long durationNs) throws IOException;

  /** Measures some batches of about {@code batchNs} each. */
  Batches measure(Task task, int batches, long batchNs) throws IOException;

  /**
   * What was measured at one time.
   *
   * @param nsPerOp wall time of each batch by its operations
   * @param cpuNsPerOp CPU of both processes by operation, NaN where it is not known
   * @param bytesPerOp garbage of the measuring thread, NaN where it is not known
   */
  record Batches(double[] nsPerOp, double cpuNsPerOp, double bytesPerOp) {}
}
