package io.rdma4j.testkit.interop;

import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;

/** Waits for the events of a connection in the order they must come. */
final class RpingEvents {
  private RpingEvents() {}

  /** Returns the next event, which must be of this type. */
  static CmEvent await(CmId id, CmEvent.Type type, long timeoutNs) {
    CmEvent event = id.awaitEvent(timeoutNs);
    if (event == null) {
      throw new IllegalStateException("no " + type + " within " + timeoutNs + " ns on " + id);
    }
    if (event.type() != type) {
      throw new IllegalStateException(
          event.type() + " with status " + event.status() + " instead of " + type + " on " + id);
    }
    return event;
  }
}
