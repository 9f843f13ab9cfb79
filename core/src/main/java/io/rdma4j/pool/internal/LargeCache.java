package io.rdma4j.pool.internal;

import io.rdma4j.pool.internal.LargeObject.State;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The large objects of a pool: which ones callers have, and which are kept for the next request.
 * Its monitor guards the states of all of them, and is held for nothing but looking and moving.
 */
final class LargeCache {
  private final NumaPolicy numa;

  /** All but those that are GONE, the one released last at the end. */
  private final List<LargeObject> objects = new ArrayList<>();

  /** Figures of all objects but those that are GONE. */
  record Totals(
      int objects, int registering, int used, long usedBytes, long idleBytes, long pendingBytes) {}

  LargeCache(NumaPolicy numa) {
    this.numa = numa;
  }

  synchronized void add(LargeObject object) {
    objects.addLast(object);
  }

  /**
   * Leases the best cached object for a request, null when none will do.
   *
   * @param askedBytes size of the request, rounded
   */
  synchronized @Nullable LargeObject lease(long lengthBytes, long askedBytes, int node) {
    LargeObject best = bestFit(lengthBytes, numa.placeFor(node));
    if (best != null) {
      best.state = State.LEASED;
      best.held = true;
      best.askedBytes = askedBytes;
    }
    return best;
  }

  /** Returns true when a request would be served from here. */
  synchronized boolean has(long lengthBytes) {
    return bestFit(lengthBytes, NumaPolicy.UNKNOWN) != null;
  }

  /**
   * The smallest cached object that holds the request and wastes less than half; of several, one
   * near the caller, and of those the one released last, which processors' caches may still know.
   */
  private @Nullable LargeObject bestFit(long lengthBytes, int place) {
    LargeObject best = null;
    for (LargeObject object : objects) {
      if (object.isCached()
          && !object.memory().hasFailed()
          && object.lengthBytes() >= lengthBytes
          && object.lengthBytes() / 2 < lengthBytes
          && (best == null || isAsGood(object, best, place))) {
        best = object;
      }
    }
    return best;
  }

  private static boolean isAsGood(LargeObject object, LargeObject best, int place) {
    if (object.lengthBytes() != best.lengthBytes()) {
      return object.lengthBytes() < best.lengthBytes();
    }
    return object.memory().node() == place || best.memory().node() != place;
  }

  /**
   * Takes an object back from its holder.
   *
   * @return the size that was asked for
   */
  synchronized long release(LargeObject object, long nowNs) {
    object.held = false;
    if (object.state == State.LEASED) {
      object.state = State.IDLE;
      object.sinceNs = nowNs;
      objects.remove(object);
      objects.addLast(object);
    }
    return object.askedBytes;
  }

  /** Takes out the whole object that nobody has had for longest, null when there is none. */
  synchronized @Nullable LargeObject evictIdle() {
    for (LargeObject object : objects) {
      if (object.isCached() && object.memory().isWhole()) {
        remove(object);
        return object;
      }
    }
    return null;
  }

  /** Takes an object out whose registration has failed; false when it was out before. */
  synchronized boolean evict(LargeObject object) {
    boolean wasIn = object.state != State.GONE;
    remove(object);
    return wasIn;
  }

  private void remove(LargeObject object) {
    object.state = State.GONE;
    objects.remove(object);
  }

  /** Makes idle objects pending for which the test holds, the ones idle for longest first. */
  synchronized void suspend(Predicate<LargeObject> test, long nowNs) {
    for (LargeObject object : objects) {
      if (object.state == State.IDLE && test.test(object)) {
        object.state = State.PENDING;
        object.sinceNs = nowNs;
      }
    }
  }

  /** Takes out the objects that have been pending for so long. */
  synchronized List<LargeObject> evictPending(long pendingNs, long nowNs) {
    List<LargeObject> removed = new ArrayList<>();
    for (LargeObject object : List.copyOf(objects)) {
      if (object.state == State.PENDING
          && object.memory().isWhole()
          && nowNs - object.sinceNs >= pendingNs) {
        remove(object);
        removed.add(object);
      }
    }
    return removed;
  }

  /** Takes all objects out. */
  synchronized List<LargeObject> evictAll() {
    List<LargeObject> all = List.copyOf(objects);
    all.forEach(this::remove);
    return all;
  }

  /** Returns true while a caller has the object. */
  synchronized boolean isHeld(LargeObject object) {
    return object.held;
  }

  synchronized Totals totals() {
    int registering = 0;
    int used = 0;
    long usedBytes = 0;
    long idleBytes = 0;
    long pendingBytes = 0;
    for (LargeObject object : objects) {
      long bytes = object.lengthBytes();
      registering += object.memory().isUnderWay() ? 1 : 0;
      used += object.state == State.LEASED ? 1 : 0;
      usedBytes += object.state == State.LEASED ? bytes : 0;
      idleBytes += object.state == State.IDLE ? bytes : 0;
      pendingBytes += object.state == State.PENDING ? bytes : 0;
    }
    return new Totals(objects.size(), registering, used, usedBytes, idleBytes, pendingBytes);
  }
}
