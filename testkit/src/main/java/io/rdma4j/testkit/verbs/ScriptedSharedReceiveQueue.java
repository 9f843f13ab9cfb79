package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SharedReceiveQueue;

/** A shared receive queue of a scripted device. */
final class ScriptedSharedReceiveQueue implements SharedReceiveQueue {
  final ReceiveQueue queue;
  private final ScriptedProtectionDomain domain;
  private boolean closed;

  ScriptedSharedReceiveQueue(ScriptedProtectionDomain domain, int maxWorkRequests, int maxSge) {
    this.domain = domain;
    queue = new ReceiveQueue(domain.device.wire, maxWorkRequests, maxSge);
    domain.device.wire.ledger.created(Ledger.Kind.SHARED_RECEIVE_QUEUE);
  }

  @Override
  public int postReceive(ReceiveList list) {
    synchronized (domain.device.wire) {
      return queue.post("ibv_post_srq_recv", list);
    }
  }

  @Override
  public void close() {
    synchronized (domain.device.wire) {
      if (!closed) {
        closed = true;
        domain.forget(this);
        domain.device.wire.ledger.destroyed(Ledger.Kind.SHARED_RECEIVE_QUEUE);
      }
    }
  }
}
