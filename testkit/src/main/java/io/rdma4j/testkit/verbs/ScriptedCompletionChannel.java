package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.CompletionChannel;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** A completion channel of a scripted device. */
final class ScriptedCompletionChannel implements CompletionChannel {
  private final ScriptedDevice device;
  private final Semaphore events = new Semaphore(0);
  private boolean closed;

  ScriptedCompletionChannel(ScriptedDevice device) {
    this.device = device;
    device.wire.ledger.created(Ledger.Kind.COMPLETION_CHANNEL);
  }

  void signal() {
    events.release();
  }

  @Override
  public boolean await(long timeoutNs) {
    try {
      return events.tryAcquire(timeoutNs, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Override
  public void close() {
    synchronized (device.wire) {
      if (!closed) {
        closed = true;
        device.forget(this);
        device.wire.ledger.destroyed(Ledger.Kind.COMPLETION_CHANNEL);
      }
    }
  }
}
