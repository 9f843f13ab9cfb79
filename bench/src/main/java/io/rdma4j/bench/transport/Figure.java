package io.rdma4j.bench.transport;

import io.rdma4j.bench.Ratio;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A ratio to quote: what the rival's row takes by what ours takes. Larger is better for us.
 *
 * @param key name in tables and files, for example {@code rtt64_socket_vs_shm}
 * @param of what is compared
 */
record Figure(String key, String rivalRow, String ourRow, Of of) {
  /** What is compared. */
  enum Of {
    /** Wall time of an operation. */
    TIME,
    /** CPU time of an operation, both processes. */
    CPU
  }

  static Figure time(String key, Task task, String rival, String ours) {
    return new Figure(key, task.key() + "_" + rival, task.key() + "_" + ours, Of.TIME);
  }

  static Figure cpu(String key, Task task, String rival, String ours) {
    return new Figure(key, task.key() + "_" + rival, task.key() + "_" + ours, Of.CPU);
  }

  /** Returns the ratio, or null when one of its rows was not measured. */
  @Nullable Ratio ratio(Map<String, Measured> rows) {
    Measured rival = rows.get(rivalRow);
    Measured ours = rows.get(ourRow);
    if (rival == null || ours == null) {
      return null;
    }
    return of == Of.TIME
        ? Ratio.of(rival.series(), ours.series())
        : Ratio.of(rival.cpu(), ours.cpu());
  }
}
