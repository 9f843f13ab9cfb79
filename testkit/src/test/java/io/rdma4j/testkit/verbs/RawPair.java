package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.RemotePath;

/** Two scripted queue pairs in one domain, connected to each other by hand. */
final class RawPair implements AutoCloseable {
  static final int DEPTH = 32;

  final ScriptedVerbs verbs = new ScriptedVerbs();
  final ScriptedDevice scripted = verbs.addDevice("scripted0");
  final Completions batch = new Completions(DEPTH);
  private final Device device = verbs.open("scripted0");
  final ProtectionDomain domain = device.allocateProtectionDomain();
  final ScriptedCompletionQueue completionsA = completionQueue();
  final ScriptedCompletionQueue completionsB = completionQueue();
  final ScriptedQueuePair a = queuePair(completionsA);
  final ScriptedQueuePair b = queuePair(completionsB);

  RawPair() {
    connect(a, b);
    connect(b, a);
  }

  private ScriptedCompletionQueue completionQueue() {
    return (ScriptedCompletionQueue) device.createCompletionQueue(2 * DEPTH, null, 0);
  }

  private ScriptedQueuePair queuePair(ScriptedCompletionQueue completions) {
    return (ScriptedQueuePair)
        domain.createQueuePair(
            new QueuePairConfig(completions, completions, DEPTH, DEPTH, 4, 4, 64, null));
  }

  private static void connect(QueuePair from, QueuePair to) {
    var path = new RemotePath(1, 0, new byte[16], 0, to.number(), 1024, 0, 0, 14, 7, 0);
    from.toInit(1, 15);
    from.toReadyToReceive(path);
    from.toReadyToSend(path);
  }

  @Override
  public void close() {
    batch.close();
    device.close();
    verbs.ledger().assertNothingLeft();
  }
}
