package io.rdma4j.pool.internal;

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
  private final Workers workers;
  private final AtomicReference<@Nullable CompletableFuture<Boolean>> underWay =
      new AtomicReference<>();
  private final AtomicLong completed = new AtomicLong();
  private final AtomicInteger waiters = new AtomicInteger();

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
    }
  }
}
