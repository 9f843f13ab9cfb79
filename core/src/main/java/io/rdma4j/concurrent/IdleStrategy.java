package io.rdma4j.concurrent;

/**
 * What an agent does between two duty cycles: go on at once, or sleep until there is an event.
 *
 * <p>One instance per agent; single thread only. Spinning makes no system call.
 */
public interface IdleStrategy {
  /**
   * Called after each duty cycle.
   *
   * @param workCount work done by the cycle; 0 means that there was none
   * @return true when the agent shall sleep before the next one
   */
  boolean idle(int workCount);

  /** Tells how long a sleep was that an event has ended. */
  void slept(long sleptNs);

  /** Returns a strategy that never gives the core away: lowest latency, one core per agent. */
  static IdleStrategy busySpin() {
    return new BusySpin();
  }

  /**
   * Returns a strategy that spins before it sleeps, for as long as that has lately paid.
   *
   * @param maxSpinNs the longest spin; 0 sleeps at once
   */
  static IdleStrategy spinThenSleep(NanoClock clock, long maxSpinNs) {
    return new SpinThenSleep(clock, maxSpinNs);
  }

  /** Spins for ever. */
  final class BusySpin implements IdleStrategy {
    private BusySpin() {}

    @Override
    public boolean idle(int workCount) {
      if (workCount == 0) {
        Thread.onSpinWait();
      }
      return false;
    }

    @Override
    public void slept(long sleptNs) {}
  }

  /**
   * Spins up to a budget, then sleeps. A sleep that ends within the longest spin would better have
   * been spun away: the budget doubles. One that was longer halves it, down to a sixteenth.
   */
  final class SpinThenSleep implements IdleStrategy {
    /** Reading the clock costs more than a look at a ring; so it is read now and then. */
    private static final int CYCLES_PER_LOOK = 16;

    private final NanoClock clock;
    private final long maxSpinNs;
    private long spinNs;
    private int cycles;
    private long idleSinceNs;
    private boolean spun;

    private SpinThenSleep(NanoClock clock, long maxSpinNs) {
      if (maxSpinNs < 0) {
        throw new IllegalArgumentException("maxSpinNs is " + maxSpinNs + ", allowed: 0 and above");
      }
      this.clock = clock;
      this.maxSpinNs = maxSpinNs;
      spinNs = maxSpinNs;
    }

    @Override
    public boolean idle(int workCount) {
      if (workCount > 0) {
        cycles = 0;
        spun = false;
        return false;
      }
      if (spun || spinNs == 0) {
        return true;
      }
      if (cycles == 0) {
        idleSinceNs = clock.nanoTime();
      } else if (cycles % CYCLES_PER_LOOK == 0 && clock.nanoTime() - idleSinceNs >= spinNs) {
        spun = true;
        return true;
      }
      cycles++;
      Thread.onSpinWait();
      return false;
    }

    @Override
    public void slept(long sleptNs) {
      spinNs =
          sleptNs <= maxSpinNs
              ? Math.min(maxSpinNs, 2 * spinNs)
              : Math.max(maxSpinNs / 16, spinNs / 2);
    }
  }
}
