package io.rdma4j.testkit.verbs;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** What all objects of one scripted stack share. Its monitor guards all of them. */
final class Wire {
  final Faults faults = new Faults();
  final Ledger ledger = new Ledger();
  private final Map<Integer, ScriptedQueuePair> queuePairs = new HashMap<>();
  private int lastNumber = 16;
  private int untilDefect;

  /** How {@code rdma_get_cm_event} waits. */
  Waiting waiting = this::awaitOnMonitor;

  /** True when queue pairs and completion queues begin stalled and holding. */
  boolean stepped;

  /** True when nothing of rdma_cm reaches the other end of a connection any more. */
  boolean losesDisconnects;

  Defect defect = Defect.NONE;
  private int defectEvery;

  /** Returns a fresh queue pair number or key. */
  int nextNumber() {
    return ++lastNumber;
  }

  void attach(ScriptedQueuePair queuePair) {
    queuePairs.put(queuePair.number(), queuePair);
  }

  void detach(ScriptedQueuePair queuePair) {
    queuePairs.remove(queuePair.number());
  }

  @Nullable ScriptedQueuePair queuePair(int number) {
    return queuePairs.get(number);
  }

  /** Executes what can be executed now on all queue pairs. */
  void progressAll() {
    List.copyOf(queuePairs.values()).forEach(ScriptedQueuePair::progress);
  }

  void breakPromise(Defect which, int every) {
    defect = which;
    defectEvery = every;
    untilDefect = every;
  }

  /** Returns true when the defect asked for strikes now. */
  boolean strikes(Defect asked) {
    if (asked != defect || --untilDefect > 0) {
      return false;
    }
    untilDefect = defectEvery;
    return true;
  }

  private boolean awaitOnMonitor(BooleanSupplier happened, long timeoutNs) {
    long startNs = System.nanoTime();
    synchronized (this) {
      while (!happened.getAsBoolean()) {
        long leftNs = timeoutNs - (System.nanoTime() - startNs);
        if (leftNs <= 0) {
          return false;
        }
        try {
          wait(Math.max(1, leftNs / 1_000_000));
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return false;
        }
      }
      return true;
    }
  }
}
