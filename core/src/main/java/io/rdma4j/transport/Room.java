package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.SendResult;
import java.util.concurrent.locks.LockSupport;

/**
 * Where callers wait for a connection to take more: for room on the path, or for a place in the
 * request window. The polling thread wakes them when there is some, and all at the end.
 *
 * <p>A thread of a node without pollers polls instead of sleeping. Safe for use by several threads.
 */
final class Room {
  /** Bounds how many threads are woken for the same room. */
  private static final int WAKES_PER_CYCLE = 8;

  private final Node node;
  private final Poller poller;
  private final Sender sender;
  private final RequestTable table;
  private final Waiters forPath = new Waiters();
  private final Waiters forWindow = new Waiters();

  Room(Node node, Poller poller, Sender sender, RequestTable table) {
    this.node = node;
    this.poller = poller;
    this.sender = sender;
    this.table = table;
  }

  /**
   * Decides what to do with the result of a send, after a wait where that helps.
   *
   * @return true to send again; false when the result stands: success, a refusal for good, or no
   *     room until the deadline
   * @throws IllegalStateException on a polling thread, which would wait for itself
   * @throws Rdma4jException when interrupted
   */
  boolean shouldTryAgain(long result, long deadlineNs) {
    if (result != SendResult.BACK_PRESSURED && result != SendResult.WINDOW_FULL) {
      return false;
    }
    long leftNs = deadlineNs - node.clockNs();
    if (leftNs <= 0) {
      return false;
    }
    if (!poll()) {
      sleep(result == SendResult.BACK_PRESSURED ? forPath : forWindow, leftNs);
    }
    return true;
  }

  /**
   * Polls for a thread that waits where nobody else polls.
   *
   * @return false when a poller does, and the thread may sleep
   */
  boolean poll() {
    requireMayWait();
    if (poller.hasThread()) {
      return false;
    }
    if (poller.poll() == 0) {
      Thread.onSpinWait();
    }
    return true;
  }

  /**
   * Refuses to wait on a polling thread, before anything was sent.
   *
   * @throws IllegalStateException on a polling thread
   */
  void requireMayWait() {
    if (node.isPollingThread()) {
      throw new IllegalStateException(
          "a handler must not wait for its own poller; use a callback, a stage, or another thread");
    }
  }

  private void sleep(Waiters waiters, long leftNs) {
    Thread thread = Thread.currentThread();
    join(waiters, thread);
    try {
      // Who ends the connection moves the state before it wakes all.
      if (sender.state() == ConnectionState.OPEN) {
        LockSupport.parkNanos(this, leftNs);
      }
    } finally {
      waiters.remove(thread);
    }
    checkInterrupt();
  }

  /** Ends a wait whose thread was interrupted; the interrupt is kept. */
  void checkInterrupt() {
    if (Thread.currentThread().isInterrupted()) {
      throw new Rdma4jException("interrupted while waiting for room to send");
    }
  }

  /**
   * Calls back once when the path has room, or the connection ends.
   *
   * @return false when it is closing already, and there will be no call
   */
  boolean whenReady(Runnable callback) {
    if (sender.state() != ConnectionState.OPEN) {
      return false;
    }
    join(forPath, callback);
    if (sender.state() == ConnectionState.CLOSED) {
      wakeAll(); // nobody else will
    }
    return true;
  }

  /** The poller looks for them, and must not sleep as long as one for whom nobody waits. */
  private void join(Waiters waiters, Object threadOrCallback) {
    waiters.add(threadOrCallback);
    poller.wakeUp();
  }

  /** Returns true while somebody waits, so that the poller keeps looking. */
  boolean isWaitedFor() {
    return !forPath.isEmpty() || !forWindow.isEmpty();
  }

  /**
   * Wakes those who can go on. Polling thread.
   *
   * @param messages delivered in this duty cycle, some of which may have been replies
   * @return how many were woken
   */
  int wake(int messages) {
    int woken = 0;
    if (!forPath.isEmpty() && (sender.hasRoom() || sender.state() != ConnectionState.OPEN)) {
      woken = forPath.wake(WAKES_PER_CYCLE);
    }
    if (!forWindow.isEmpty() && !table.isFull()) {
      woken += forWindow.wake(messages + WAKES_PER_CYCLE);
    }
    return woken;
  }

  /** Wakes everybody: the connection has ended. */
  void wakeAll() {
    forPath.wake(Integer.MAX_VALUE);
    forWindow.wake(Integer.MAX_VALUE);
  }
}
