package io.rdma4j.pool.internal;

import io.rdma4j.Rdma4jException;
import io.rdma4j.pool.PoolGrowthException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One caller's waiting for memory, in ever longer steps between which it looks again. An interrupt
 * ends the wait for a release, not that for an attempt to grow, and stays set. For one thread.
 */
final class Waiting {
  private static final long SHORTEST_STEP_NS = 20_000;
  private static final long LONGEST_STEP_NS = 1_000_000;

  private final long releaseTimeoutNs;
  private long stepNs = SHORTEST_STEP_NS;
  private long releaseDeadlineNs;
  private boolean waitsForRelease;
  private boolean interrupted;

  /**
   * Creates a wait that has not begun.
   *
   * @param releaseTimeoutNs how long to wait for a release at most, 0 for not at all
   */
  Waiting(long releaseTimeoutNs) {
    this.releaseTimeoutNs = releaseTimeoutNs;
  }

  /**
   * Waits one step for an attempt to grow.
   *
   * @return true when the attempt has ended without a failure
   * @throws RuntimeException the caller's own copy of the attempt's failure
   */
  boolean awaitAttempt(CompletableFuture<?> attempt) {
    try {
      attempt.get(nextStepNs(), TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException e) {
      return false;
    } catch (InterruptedException e) {
      interrupted = true;
      return false;
    } catch (ExecutionException e) {
      throw ownFailure(e.getCause(), "growing the pool failed");
    }
  }

  /** Waits one step for a release; false when that is not wanted, or not any longer. */
  boolean awaitRelease() {
    if (releaseTimeoutNs == 0) {
      return false;
    }
    long nowNs = System.nanoTime();
    if (!waitsForRelease) {
      waitsForRelease = true;
      releaseDeadlineNs = nowNs + releaseTimeoutNs;
    }
    interrupted |= Thread.interrupted();
    long leftNs = releaseDeadlineNs - nowNs;
    if (leftNs <= 0 || interrupted) {
      return false;
    }
    LockSupport.parkNanos(this, Math.min(nextStepNs(), leftNs));
    return true;
  }

  private long nextStepNs() {
    long now = stepNs;
    stepNs = Math.min(LONGEST_STEP_NS, 2 * now);
    return now;
  }

  /** Gives the thread back an interrupt that came meanwhile. */
  void end() {
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Returns a failure that others get as well, for the calling thread: with its own stack.
   *
   * @param otherwise the message for failures that are none of this library
   */
  static RuntimeException ownFailure(@Nullable Throwable first, String otherwise) {
    if (first instanceof PoolGrowthException growth) {
      return new PoolGrowthException(growth);
    }
    if (first instanceof Rdma4jException) {
      return new Rdma4jException(String.valueOf(first.getMessage()), first);
    }
    return new IllegalStateException(otherwise, first);
  }
}
