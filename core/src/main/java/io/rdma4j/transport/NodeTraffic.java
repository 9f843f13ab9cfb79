package io.rdma4j.transport;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the connections of a node have carried, by path: those that ended, and those that moved to
 * another path, included. Sums never fall.
 *
 * <p>A connection counts for itself, in words of its own. What it counted goes to the sums of a
 * path when it leaves that path, under the lock that a reader holds, so that nothing is counted
 * twice or missed. Any thread.
 */
final class NodeTraffic {
  /** Sums over connections. */
  record Totals(
      long messagesSent,
      long bytesSent,
      long messagesReceived,
      long bytesReceived,
      long backPressured,
      long handlerErrors) {
    static final Totals NONE = new Totals(0, 0, 0, 0, 0, 0);

    static Totals of(ConnectionStatus now) {
      return new Totals(
          now.messagesSent(),
          now.bytesSent(),
          now.messagesReceived(),
          now.bytesReceived(),
          now.backPressured(),
          now.handlerErrors());
    }

    Totals plus(Totals other) {
      return add(other, 1);
    }

    Totals minus(Totals other) {
      return add(other, -1);
    }

    private Totals add(Totals other, int sign) {
      return new Totals(
          messagesSent + sign * other.messagesSent,
          bytesSent + sign * other.bytesSent,
          messagesReceived + sign * other.messagesReceived,
          bytesReceived + sign * other.bytesReceived,
          backPressured + sign * other.backPressured,
          handlerErrors + sign * other.handlerErrors);
    }
  }

  /** By path, of connections that have left it. */
  private final Map<String, Totals> left = new HashMap<>();

  /** Of connections that have changed their path: what they had counted then. */
  private final Map<Connection, Totals> before = new HashMap<>();

  /** A connection leaves a path, for another or for good, by {@code step}. */
  synchronized void leave(Connection connection, String path, boolean forGood, Runnable step) {
    Totals now = Totals.of(connection.status());
    left.merge(path, now.minus(before.getOrDefault(connection, Totals.NONE)), Totals::plus);
    if (forGood) {
      before.remove(connection);
    } else {
      before.put(connection, now);
    }
    step.run();
  }

  /** Returns the sums for each of these paths. */
  synchronized Map<String, Totals> byPath(List<String> paths, List<Connection> open) {
    Map<String, Totals> sums = new LinkedHashMap<>();
    paths.forEach(path -> sums.put(path, left.getOrDefault(path, Totals.NONE)));
    for (Connection connection : open) {
      ConnectionStatus status = connection.status();
      Totals here = Totals.of(status).minus(before.getOrDefault(connection, Totals.NONE));
      sums.merge(status.path().name(), here, Totals::plus);
    }
    return sums;
  }
}
