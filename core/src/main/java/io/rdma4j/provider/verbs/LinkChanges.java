package io.rdma4j.provider.verbs;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.verbs.AsyncEvent;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * When the links of a device's ports last went or came. A link that has just come back may go
 * again, and its address table may still change; other ports are better for a moment.
 *
 * <p>Safe for use by several threads.
 */
final class LinkChanges {
  /** As long as a node leaves a path alone that has ended, by default. */
  private static final long SETTLE_NS = 5_000_000_000L;

  private final NanoClock clock;
  private final Map<Integer, Long> lastByPort = new ConcurrentHashMap<>();

  LinkChanges(NanoClock clock) {
    this.clock = clock;
  }

  void note(AsyncEvent event) {
    if (event.type() == AsyncEvent.Type.PORT_ERR || event.type() == AsyncEvent.Type.PORT_ACTIVE) {
      lastByPort.put(event.port(), clock.nanoTime());
    }
  }

  boolean isSettling(int port) {
    Long last = lastByPort.get(port);
    return last != null && clock.nanoTime() - last < SETTLE_NS;
  }
}
