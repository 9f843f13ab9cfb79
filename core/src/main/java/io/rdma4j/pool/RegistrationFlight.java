package io.rdma4j.pool;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * A registration under way: one thread makes it, others that need the same memory wait for its
 * outcome. A failure reaches all of them; the next attempt starts afresh.
 *
 * <p>{@link #join} and {@link #cancel} are called under the table's lock until the flight has
 * landed.
 */
final class RegistrationFlight {
  private final MemorySegment.Scope scope;
  private final MemoryRange range;
  private final int access;
  private final boolean cached;
  private final boolean merge;
  private final CompletableFuture<CachedRegistration> outcome = new CompletableFuture<>();
  private int users = 1;
  private boolean cancelled;

  /**
   * Creates the flight of the calling thread.
   *
   * @param cached false when there is no room to keep the registration beyond its users
   * @param merge true when the range is more than was asked for
   */
  RegistrationFlight(
      MemorySegment.Scope scope, MemoryRange range, int access, boolean cached, boolean merge) {
    this.scope = scope;
    this.range = range;
    this.access = access;
    this.cached = cached;
    this.merge = merge;
  }

  MemorySegment.Scope scope() {
    return scope;
  }

  MemoryRange range() {
    return range;
  }

  int access() {
    return access;
  }

  boolean isCached() {
    return cached;
  }

  boolean isMerge() {
    return merge;
  }

  /** Returns true when its outcome is what others would ask for. */
  boolean serves(MemorySegment.Scope scope, MemoryRange wanted, int wantedAccess) {
    return !cancelled
        && range.contains(wanted)
        && MemoryAccess.includes(access, wantedAccess)
        && this.scope.equals(scope);
  }

  /** Counts one more user of the outcome. */
  void join() {
    users++;
  }

  /** Keeps the outcome from those who come later. */
  void cancel() {
    cancelled = true;
  }

  boolean isCancelled() {
    return cancelled;
  }

  /** Returns the threads that will use the outcome. */
  int users() {
    return users;
  }

  void landed(CachedRegistration registration) {
    outcome.complete(registration);
  }

  void failed(Throwable failure) {
    outcome.completeExceptionally(failure);
  }

  /** Waits for the outcome, in which this thread has been counted as a user. */
  CachedRegistration await() {
    try {
      return outcome.join();
    } catch (CompletionException e) {
      Throwable first = e.getCause();
      throw new Rdma4jException(
          "registering %s failed in another thread, which this one waited for: %s"
              .formatted(range, first == null ? e : first.getMessage()),
          first);
    }
  }

  /** Waits until the device has answered, whatever it said. */
  void awaitEnd() {
    outcome.handle((registration, failure) -> 0).join();
  }
}
