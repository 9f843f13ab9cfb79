package io.rdma4j.pool.internal;

import io.rdma4j.Rdma4jException;
import io.rdma4j.pool.PoolGrowthException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets one thread at a time add a slab to a class; the others that need one wait for its outcome.
 * Nobody else is held up. A failure reaches all who waited, and the next attempt starts afresh.
 */
final class Growth {
  private final AtomicReference<@Nullable CompletableFuture<Boolean>> underWay =
      new AtomicReference<>();
  private final AtomicLong completed = new AtomicLong();
  private final AtomicInteger waiters = new AtomicInteger();

  /** Returns the slabs added so far; read before a search that may end in {@link #grow}. */
  long completed() {
    return completed.get();
  }

  /** Returns the threads waiting for another one's attempt. */
  int waiters() {
    return waiters.get();
  }

  /**
   * Adds a slab, or waits for the attempt under way, unless one was added since {@code seen}.
   *
   * @param seen {@link #completed} before the search that found nothing
   * @param attempt adds a slab; false when the budget is spent
   * @return false when the budget is spent
   */
  boolean grow(long seen, BooleanSupplier attempt) {
    CompletableFuture<Boolean> mine = new CompletableFuture<>();
    CompletableFuture<Boolean> other = underWay.compareAndExchange(null, mine);
    return other == null ? lead(seen, attempt, mine) : await(other);
  }

  private boolean lead(long seen, BooleanSupplier attempt, CompletableFuture<Boolean> outcome) {
    try {
      boolean grown = completed.get() != seen;
      if (!grown && attempt.getAsBoolean()) {
        completed.getAndIncrement();
        grown = true;
      }
      underWay.set(null);
      outcome.complete(grown);
      return grown;
    } catch (RuntimeException | Error e) {
      underWay.set(null);
      outcome.completeExceptionally(e);
      throw e;
    }
  }

  private boolean await(CompletableFuture<Boolean> outcome) {
    waiters.getAndIncrement();
    try {
      return outcome.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof PoolGrowthException first) {
        throw new PoolGrowthException(first);
      }
      if (e.getCause() instanceof Rdma4jException first) {
        throw new Rdma4jException(String.valueOf(first.getMessage()), first);
      }
      throw new IllegalStateException("growing the pool failed in another thread", e.getCause());
    } finally {
      waiters.getAndDecrement();
    }
  }
}
