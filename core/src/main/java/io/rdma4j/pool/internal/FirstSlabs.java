package io.rdma4j.pool.internal;

import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolProgress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * Registers what a new pool starts with, several slabs at a time: the receive reserve, then the
 * initial bytes, spread over the classes slab by slab.
 */
final class FirstSlabs {
  private final PoolConfig config;
  private final SizeClassPool[] classes;
  private final Slabs slabs;
  private final Workers workers;
  private final PoolProgress progress;
  private volatile boolean failed;

  FirstSlabs(
      PoolConfig config,
      SizeClassPool[] classes,
      Slabs slabs,
      Workers workers,
      PoolProgress progress) {
    this.config = config;
    this.classes = classes;
    this.slabs = slabs;
    this.workers = workers;
    this.progress = progress;
  }

  /**
   * Registers all of it; returns after the last attempt also when one has failed.
   *
   * @throws RuntimeException the first failure
   */
  void add() {
    boolean complete = false;
    try {
      addAll();
      complete = true;
    } finally {
      // Also when whoever is told of the progress has thrown.
      failed |= !complete;
    }
  }

  private void addAll() {
    List<CompletableFuture<Void>> attempts = new ArrayList<>();
    for (SizeClassPool pool : plan()) {
      attempts.add(CompletableFuture.runAsync(() -> add(pool), workers::execute));
    }
    long doneBytes = 0;
    Throwable failure = null;
    for (CompletableFuture<Void> attempt : attempts) {
      failure = first(failure, attempt);
      if (failure == null) {
        doneBytes += config.slabBytes();
        progress.registered(doneBytes, (long) attempts.size() * config.slabBytes());
      }
    }
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure != null) {
      throw (RuntimeException) failure;
    }
  }

  private void add(SizeClassPool pool) {
    if (failed) {
      // What was refused once is not asked for again and again.
      return;
    }
    boolean grown = false;
    try {
      grown = slabs.grow(pool, NumaPolicy.UNKNOWN);
    } finally {
      failed |= !grown;
    }
    if (!grown) {
      throw new IllegalStateException("the budget was spent before the pool had begun: " + config);
    }
  }

  private static @Nullable Throwable first(
      @Nullable Throwable failure, CompletableFuture<Void> attempt) {
    try {
      attempt.join();
      return failure;
    } catch (CompletionException e) {
      return failure != null ? failure : e.getCause();
    }
  }

  private List<SizeClassPool> plan() {
    List<SizeClassPool> plan = new ArrayList<>();
    for (SizeClassPool pool : classes) {
      if (pool.isReserve()) {
        int perSlab = config.slabBytes() / pool.blockBytes();
        for (int blocks = 0; blocks < config.receiveReserveBlocks(); blocks += perSlab) {
          plan.add(pool);
        }
      }
    }
    int sizes = classes.length - (plan.isEmpty() ? 0 : 1);
    int next = 0;
    for (long bytes = 0; bytes < config.initialBytes(); bytes += config.slabBytes()) {
      plan.add(classes[next]);
      next = (next + 1) % sizes;
    }
    return plan;
  }
}
