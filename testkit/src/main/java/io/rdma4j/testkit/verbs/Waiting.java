package io.rdma4j.testkit.verbs;

import java.util.function.BooleanSupplier;

/** How a blocking call of a scripted stack waits. */
@FunctionalInterface
public interface Waiting {
  /**
   * Waits until something has happened.
   *
   * @param timeoutNs 0 to look only
   * @return false when it has not happened in time
   */
  boolean await(BooleanSupplier happened, long timeoutNs);
}
