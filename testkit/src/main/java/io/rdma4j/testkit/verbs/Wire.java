package io.rdma4j.testkit.verbs;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What all objects of one scripted stack share. Its monitor guards all of them. */
final class Wire {
  final Faults faults = new Faults();
  final Ledger ledger = new Ledger();
  private final Map<Integer, ScriptedQueuePair> queuePairs = new HashMap<>();
  private int lastNumber = 16;

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
}
