package io.rdma4j.diagnosis;

import java.util.ArrayDeque;

/**
 * When the process did not run, in the last ten seconds: a thread woke up late. That thread only.
 */
final class Pauses {
  private static final long MS = 1_000_000L;
  private static final long KEEP_NS = 10_000 * MS;

  private record Pause(long endNs, long ms) {}

  private final ArrayDeque<Pause> pauses = new ArrayDeque<>();

  /** Notes when the thread wanted to wake up, and when it did. */
  void woke(long dueNs, long nowNs) {
    long lateMs = (nowNs - dueNs) / MS;
    if (lateMs > 0) {
      pauses.addLast(new Pause(nowNs, lateMs));
    }
    while (!pauses.isEmpty() && nowNs - pauses.getFirst().endNs > KEEP_NS) {
      pauses.removeFirst();
    }
  }

  /** Returns the longest. */
  long longestMs() {
    return pauses.stream().mapToLong(Pause::ms).max().orElse(0);
  }
}
