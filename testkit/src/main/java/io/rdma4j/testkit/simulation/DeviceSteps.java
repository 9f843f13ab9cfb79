package io.rdma4j.testkit.simulation;

import io.rdma4j.testkit.verbs.ScriptedCompletionQueue;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedQueuePair;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * The device at work: which queue pair executes its next send, and which completion shows next, is
 * drawn from the seed. Order holds where a device owes it: within a send queue and within a receive
 * queue.
 */
public final class DeviceSteps {
  private final ScriptedDevice device;
  private final RandomGenerator random;

  /** Drives a device of a stack that takes steps. */
  public DeviceSteps(ScriptedDevice device, RandomGenerator random) {
    this.device = device;
    this.random = random;
  }

  /** Executes one send of a queue pair drawn; false when that has none. */
  public boolean execute() {
    List<ScriptedQueuePair> all = device.queuePairs();
    return !all.isEmpty() && all.get(random.nextInt(all.size())).executeNext();
  }

  /** Lets one completion of a queue drawn show; false when that has none. */
  public boolean complete() {
    List<ScriptedCompletionQueue> all = device.completionQueues();
    if (all.isEmpty()) {
      return false;
    }
    ScriptedCompletionQueue queue = all.get(random.nextInt(all.size()));
    int choices = queue.releasable();
    if (choices > 0) {
      queue.releaseNext(random.nextInt(choices));
    }
    return choices > 0;
  }

  /** Does everything there is to do, in an order drawn. */
  public void settle() {
    boolean busy = true;
    while (busy) {
      busy = false;
      for (ScriptedQueuePair queuePair : device.queuePairs()) {
        busy |= queuePair.executeNext();
      }
      for (ScriptedCompletionQueue queue : device.completionQueues()) {
        int choices = queue.releasable();
        if (choices > 0) {
          queue.releaseNext(random.nextInt(choices));
          busy = true;
        }
      }
    }
  }
}
