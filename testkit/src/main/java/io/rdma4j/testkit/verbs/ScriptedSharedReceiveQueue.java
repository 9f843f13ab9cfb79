package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SharedReceiveQueue;

/**
 * A shared receive queue of a scripted device. It refuses to be closed while queue pairs draw from
 * it.
 */
public final class ScriptedSharedReceiveQueue implements SharedReceiveQueue {
  final ReceiveQueue queue;
  private final ScriptedProtectionDomain domain;
  private final Wire wire;
  private int limit;
  private int users;
  private boolean closed;

  ScriptedSharedReceiveQueue(ScriptedProtectionDomain domain, int maxWorkRequests, int maxSge) {
    this.domain = domain;
    wire = domain.device.wire;
    queue = new ReceiveQueue(wire, maxWorkRequests, maxSge);
    wire.ledger.created(Ledger.Kind.SHARED_RECEIVE_QUEUE);
  }

  /** Returns the receives that are posted and that no message has taken. */
  public int posted() {
    synchronized (wire) {
      return queue.posted();
    }
  }

  void attach() {
    users++;
  }

  void detach() {
    users--;
  }

  /** A receive was taken: below the limit that is an event, once. */
  void taken() {
    if (queue.posted() < limit) {
      limit = 0;
      domain.device.raise(AsyncEvent.Type.SRQ_LIMIT_REACHED, this, 0);
    }
  }

  @Override
  public int postReceive(ReceiveList list) {
    synchronized (wire) {
      boolean wasEmpty = queue.posted() == 0;
      int taken = queue.post("ibv_post_srq_recv", list);
      if (wasEmpty) {
        wire.progressAll(); // what has waited for a receive goes on
      }
      return taken;
    }
  }

  @Override
  public void arm(int limit) {
    synchronized (wire) {
      wire.faults.enter("ibv_modify_srq", domain.device);
      this.limit = limit;
    }
  }

  @Override
  public void close() {
    synchronized (wire) {
      if (closed) {
        return;
      }
      if (users > 0) {
        throw Faults.failure("ibv_destroy_srq", Errno.EBUSY, users + " queue pairs use it");
      }
      closed = true;
      domain.forget(this);
      wire.ledger.destroyed(Ledger.Kind.SHARED_RECEIVE_QUEUE);
    }
  }
}
