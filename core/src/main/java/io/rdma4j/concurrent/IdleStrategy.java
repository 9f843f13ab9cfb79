package io.rdma4j.concurrent;

import java.util.concurrent.locks.LockSupport;

/**
 * What an agent does between two duty cycles.
 *
 * <p>One instance per agent; single thread only.
 */
public interface IdleStrategy {
  /** Called after each duty cycle with the work it did; 0 means that there was none. */
  void idle(int workCount);

  /** Returns a strategy that never gives the core away: lowest latency, one core per agent. */
  static IdleStrategy busySpin() {
    return workCount -> {
      if (workCount == 0) {
        Thread.onSpinWait();
      }
    };
  }

  /** Returns a strategy that spins, then yields, then sleeps for longer and longer times. */
  static IdleStrategy backoff() {
    return new Backoff();
  }

  /** Spins, yields, then parks from 50 us up to 1 ms. */
  @SuppressWarnings("ThreadPriorityCheck") // yielding is the purpose
  final class Backoff implements IdleStrategy {
    /** Long enough to cover a peer's answer on one host, short enough to be no burden. */
    private static final int SPINS = 2_000;

    private static final int YIELDS = 50;
    private static final long MIN_PARK_NS = 50_000;
    private static final long MAX_PARK_NS = 1_000_000;

    private int idleCycles;
    private long parkNs = MIN_PARK_NS;

    private Backoff() {}

    @Override
    public void idle(int workCount) {
      if (workCount > 0) {
        idleCycles = 0;
        parkNs = MIN_PARK_NS;
      } else if (idleCycles < SPINS) {
        idleCycles++;
        Thread.onSpinWait();
      } else if (idleCycles < SPINS + YIELDS) {
        idleCycles++;
        Thread.yield();
      } else {
        LockSupport.parkNanos(parkNs);
        parkNs = Math.min(parkNs * 2, MAX_PARK_NS);
      }
    }
  }
}
