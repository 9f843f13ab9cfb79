package io.rdma4j.pool.internal;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Adds slabs to one class, one at a time, on a worker's thread. However many ask, there is one
 * attempt; its outcome reaches all who wait for it, and the next one starts afresh.
 */
final class Growth {
  private static final Logger LOG = System.getLogger("io.rdma4j.pool");

  private final Workers workers;
  private final AtomicReference<@Nullable CompletableFuture<Boolean>> underWay =
      new AtomicReference<>();
  private final AtomicLong completed = new AtomicLong();
  private final AtomicLong failures = new AtomicLong();
  private final AtomicInteger waiters = new AtomicInteger();
  private volatile String lastFailure = "";

  Growth(Workers workers) {
    this.workers = workers;
  }

  /** Returns the slabs added so far; read before a search that may end in {@link #request}. */
  long completed() {
    return completed.get();
  }

  AtomicInteger waiters() {
    return waiters;
  }

  boolean isUnderWay() {
    return underWay.get() != null;
  }

  /**
   * Begins an attempt unless one is under way.
   *
   * @param seen {@link #completed} before the search that found nothing
   * @param attempt adds a slab; false when the budget is spent
   * @return the attempt's outcome, null when a slab was added since {@code seen}
   */
  @Nullable CompletableFuture<Boolean> request(long seen, BooleanSupplier attempt) {
    CompletableFuture<Boolean> mine = new CompletableFuture<>();
    CompletableFuture<Boolean> other = underWay.compareAndExchange(null, mine);
    if (other != null) {
      return other;
    }
    if (completed.get() != seen) {
      underWay.set(null);
      // Somebody may have joined meanwhile.
      mine.complete(true);
      return null;
    }
    try {
      workers.execute(() -> carryOut(attempt, mine));
    } catch (RejectedExecutionException e) {
      underWay.set(null);
      mine.completeExceptionally(new IllegalStateException("the pool is closed", e));
    } catch (RuntimeException | Error e) {
      // No thread could be started. The attempt ends; the next one may have more luck.
      underWay.set(null);
      mine.completeExceptionally(e);
      failed(e);
    }
    return mine;
  }

  private void carryOut(BooleanSupplier attempt, CompletableFuture<Boolean> outcome) {
    try {
      boolean grown = attempt.getAsBoolean();
      if (grown) {
        completed.getAndIncrement();
      }
      underWay.set(null);
      outcome.complete(grown);
    } catch (RuntimeException | Error e) {
      underWay.set(null);
      outcome.completeExceptionally(e);
      failed(e);
    }
  }

  /**
   * Nobody may be waiting, so it is told here as well; once, since the next attempt says the same.
   */
  private void failed(Throwable e) {
    failures.getAndIncrement();
    String failure = String.valueOf(e.getMessage());
    if (!failure.equals(lastFailure)) {
      lastFailure = failure;
      LOG.log(Level.WARNING, "the pool could not grow: " + failure);
    }
  }

  /** Returns the attempts that failed. */
  long failures() {
    return failures.get();
  }
}
