package io.rdma4j.transport;

import io.rdma4j.concurrent.IdleStrategy;
import io.rdma4j.concurrent.ShortLock;
import io.rdma4j.concurrent.Threads;
import io.rdma4j.os.OsException;
import io.rdma4j.os.WaitSet;
import io.rdma4j.provider.EndpointFailure;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Polls connections, either on a thread of its own or on whichever thread calls {@link #poll()};
 * the lock keeps it to one at a time.
 *
 * <p>Its own thread spins while that pays ({@link IdleStrategy}), then arms every endpoint, and
 * sleeps in a {@link WaitSet} until one of them has something or somebody calls {@link #wakeUp}.
 * What raises no event (a deadline, a suspicion, a port that went down) is seen at the end of a
 * sleep, so sleeps are bounded; they grow from {@link #FIRST_SLEEP_MS} to {@link #LONGEST_SLEEP_MS}
 * while nothing happens.
 *
 * <p>Connections are added and removed by any thread.
 */
final class Poller {
  private static final Logger LOG = System.getLogger(Poller.class.getName());
  private static final Connection[] NONE = {};

  private static final int FIRST_SLEEP_MS = 1;
  private static final int LONGEST_SLEEP_MS = 64;
  private static final int AWAKE = 0;

  private final ShortLock pollLock = new ShortLock();
  private final @Nullable Thread thread;
  private volatile Connection[] connections = NONE;
  private volatile boolean running = true;

  /** Null where others drive the poller. */
  private final @Nullable WaitSet waitSet;

  /** Set before the endpoints are armed, so that whoever changes something afterwards rings. */
  private volatile boolean sleeping;

  private final AtomicLong wakeUpsByEvent = new AtomicLong();

  private int sleepMs = FIRST_SLEEP_MS;

  /** Creates a poller that its callers drive. */
  Poller() {
    thread = null;
    waitSet = null;
  }

  /** Creates a poller with a thread of its own. */
  Poller(String threadName, IdleStrategy idle) {
    WaitSet events = new WaitSet();
    waitSet = events;
    thread = Thread.ofPlatform().name(threadName).daemon(true).unstarted(() -> run(idle, events));
    thread.start();
  }

  private void run(IdleStrategy idle, WaitSet events) {
    try (events) {
      runUntilClosed(idle, events);
    }
  }

  private void runUntilClosed(IdleStrategy idle, WaitSet events) {
    while (running) {
      try {
        int work = poll();
        if (work > 0) {
          sleepMs = FIRST_SLEEP_MS;
        }
        if (idle.idle(work)) {
          sleep(idle, events);
        }
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

  private void sleep(IdleStrategy idle, WaitSet events) {
    sleeping = true;
    try {
      int timeoutMs = arm();
      if (timeoutMs != AWAKE && running) {
        long startNs = System.nanoTime();
        if (events.await(timeoutMs)) {
          wakeUpsByEvent.incrementAndGet();
          idle.slept(System.nanoTime() - startNs);
        } else {
          sleepMs = Math.min(2 * sleepMs, LONGEST_SLEEP_MS);
        }
      }
    } finally {
      sleeping = false;
      disarm();
    }
  }

  /** Returns for how long to sleep, {@link #AWAKE} when there is something to do. */
  private int arm() {
    pollLock.lock();
    try {
      int timeoutMs = sleepMs;
      for (Connection connection : connections) {
        switch (connection.arm()) {
          case NONE -> {
            return AWAKE;
          }
          case BRIEF -> timeoutMs = FIRST_SLEEP_MS;
          case UNTIL_EVENT -> {}
        }
      }
      return timeoutMs;
    } finally {
      pollLock.unlock();
    }
  }

  private void disarm() {
    pollLock.lock();
    try {
      for (Connection connection : connections) {
        connection.disarm();
      }
    } finally {
      pollLock.unlock();
    }
  }

  /** Ends the sleep of the poller's thread, if it sleeps; costs next to nothing otherwise. */
  void wakeUp() {
    WaitSet events = waitSet;
    if (sleeping && events != null) {
      events.wakeUp();
    }
  }

  /** Returns how many sleeps have ended before their time. */
  long wakeUpsByEvent() {
    return wakeUpsByEvent.get();
  }

  boolean isSleeping() {
    return sleeping;
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
    watch(connection);
    connections = more;
    wakeUp();
  }

  /** Lets events of a connection end the sleep; again after each change of its path. */
  void watch(Connection connection) {
    WaitSet events = waitSet;
    int descriptor = connection.eventDescriptor();
    if (events == null || descriptor < 0) {
      return;
    }
    try {
      events.add(descriptor);
    } catch (OsException e) {
      LOG.log(
          Level.WARNING,
          connection + " does not end a sleep, which lasts " + LONGEST_SLEEP_MS + " ms at most",
          e);
    }
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
    wakeUp();
    return thread == null || Threads.join(thread, timeoutNs);
  }
}
