package io.rdma4j.transport;

import io.rdma4j.concurrent.IdleStrategy;
import io.rdma4j.concurrent.ShortLock;
import io.rdma4j.concurrent.Threads;
import io.rdma4j.provider.EndpointFailure;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Polls connections, either on a thread of its own or on whichever thread calls {@link #poll()};
 * the lock keeps it to one at a time.
 *
 * <p>Connections are added and removed by any thread.
 */
final class Poller {
  private static final Logger LOG = System.getLogger(Poller.class.getName());
  private static final Connection[] NONE = {};

  private final ShortLock pollLock = new ShortLock();
  private final @Nullable Thread thread;
  private volatile Connection[] connections = NONE;
  private volatile boolean running = true;

  /** Creates a poller that its callers drive. */
  Poller() {
    thread = null;
  }

  /** Creates a poller with a thread of its own. */
  Poller(String threadName, IdleStrategy idle) {
    thread = Thread.ofPlatform().name(threadName).daemon(true).unstarted(() -> run(idle));
    thread.start();
  }

  private void run(IdleStrategy idle) {
    while (running) {
      try {
        idle.idle(poll());
      } catch (Error e) {
        LOG.log(Level.ERROR, "a poller failed; its connections end", e);
        abandonAll("the poller failed: " + e);
        throw e;
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "a poller caught what a connection let through", e);
      }
    }
  }

  /** One duty cycle over all connections; 0 at once when another thread is polling. */
  int poll() {
    if (!pollLock.tryLock()) {
      return 0;
    }
    try {
      int work = 0;
      Connection[] all = connections;
      for (Connection connection : all) {
        work += connection.doWork();
      }
      return work;
    } finally {
      pollLock.unlock();
    }
  }

  boolean hasThread() {
    return thread != null;
  }

  boolean isPollingThread() {
    return pollLock.isHeldByCurrentThread();
  }

  synchronized void add(Connection connection) {
    Connection[] now = connections;
    Connection[] more = java.util.Arrays.copyOf(now, now.length + 1);
    more[now.length] = connection;
    connections = more;
  }

  synchronized void remove(Connection connection) {
    List<Connection> rest = new ArrayList<>(List.of(connections));
    if (rest.remove(connection)) {
      connections = rest.toArray(NONE);
    }
  }

  private void abandonAll(String message) {
    EndpointFailure reason = new EndpointFailure(EndpointFailure.Kind.DEVICE, message);
    for (Connection connection : connections) {
      try {
        connection.abandon(reason);
      } catch (RuntimeException | Error e) {
        LOG.log(Level.ERROR, connection + " could not be ended", e);
      }
    }
  }

  /** Ends the thread; returns false when it has not ended in time. */
  boolean close(long timeoutNs) {
    running = false;
    return thread == null || Threads.join(thread, timeoutNs);
  }
}
