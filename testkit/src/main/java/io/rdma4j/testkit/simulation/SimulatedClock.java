package io.rdma4j.testkit.simulation;

import io.rdma4j.concurrent.NanoClock;

/**
 * The clock of a simulation. It stands still between the steps of the simulation. Whoever looks at
 * it again and again within one step sees it move, faster the longer he looks, and the rest of the
 * world with it: a loop that waits for a device or a deadline ends.
 *
 * <p>One thread at a time.
 */
public final class SimulatedClock implements NanoClock {
  private static final long FIRST_LOOK_NS = 100;
  private static final long MAX_LOOK_NS = 1_000_000;
  private static final int LOOKS_AT_ONE_PACE = 64;

  private final Runnable world;
  private long nowNs;
  private int looks;
  private long lookNs = FIRST_LOOK_NS;
  private boolean looking;

  /**
   * Creates a clock.
   *
   * @param startNs any value; those shortly before the overflow are the most instructive
   * @param world runs at each look: what goes on meanwhile
   */
  public SimulatedClock(long startNs, Runnable world) {
    this.nowNs = startNs;
    this.world = world;
  }

  @Override
  public long nanoTime() {
    if (!looking) {
      looking = true;
      try {
        if (++looks % LOOKS_AT_ONE_PACE == 0) {
          lookNs = Math.min(2 * lookNs, MAX_LOOK_NS);
        }
        nowNs += lookNs;
        world.run();
      } finally {
        looking = false;
      }
    }
    return nowNs;
  }

  /** Returns the time without moving it. */
  public long nowNs() {
    return nowNs;
  }

  /** Begins a step of the simulation: moves the clock, and looks are short again. */
  public void advance(long stepNs) {
    if (stepNs < 0) {
      throw new IllegalArgumentException("time does not go back: " + stepNs);
    }
    nowNs += stepNs;
    looks = 0;
    lookNs = FIRST_LOOK_NS;
  }
}
