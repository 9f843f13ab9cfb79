package io.rdma4j.pool.internal;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/**
 * Large objects on their way out of the pool. Devices forget one once no worker has to do with it
 * any more, which gives its budget back; it is unmapped once they have and its holder has let go.
 *
 * <p>Each of those events calls {@link #advance}, in any order and from any thread.
 */
final class LargeDepartures {
  private static final long LONGEST_WAIT_NS = TimeUnit.SECONDS.toNanos(10);
  private static final long LOOK_AGAIN_NS = 100_000;

  private final SlabFactory factory;
  private final Predicate<LargeObject> isHeld;
  private final ConcurrentLinkedQueue<LargeObject> leaving = new ConcurrentLinkedQueue<>();

  /**
   * Creates an empty queue.
   *
   * @param isHeld whether a caller still has an object, which does not change back
   */
  LargeDepartures(SlabFactory factory, Predicate<LargeObject> isHeld) {
    this.factory = factory;
    this.isHeld = isHeld;
  }

  /** Begins with an object that is in nobody's reach but its holder's; not yet {@link #advance}. */
  void add(LargeObject object) {
    leaving.add(object);
  }

  /**
   * Does what can be done now for an object, if it is leaving.
   *
   * @throws RuntimeException when a device refuses; the object stays, to be tried again
   */
  void advance(LargeObject object) {
    if (!leaving.contains(object)) {
      return;
    }
    if (object.isAtRest()) {
      forget(object);
    }
    // Whoever is last to make one of the two true sees the other.
    if (object.forgotten && !isHeld.test(object) && leaving.remove(object)) {
      unmap(object);
    }
  }

  private void unmap(LargeObject object) {
    try {
      object.memory().unmap();
    } catch (IllegalStateException e) {
      // A native call is using the memory.
      leaving.add(object);
      throw e;
    }
  }

  /** One thread at a time for each object; nobody else ever wants its monitor. */
  private void forget(LargeObject object) {
    synchronized (object) {
      if (!object.forgotten && object.memory().deregister()) {
        factory.unreserve(object.lengthBytes());
        object.forgotten = true;
      }
    }
  }

  /**
   * Advances all objects.
   *
   * @throws RuntimeException the last failure, when all have been tried
   */
  void advanceAll() {
    RuntimeException refusal = null;
    for (LargeObject object : leaving) {
      try {
        advance(object);
      } catch (RuntimeException e) {
        refusal = e;
      }
    }
    if (refusal != null) {
      throw refusal;
    }
  }

  /**
   * Waits, for ten seconds at most, until no worker has to do with any object: what a worker has
   * begun must not reach a device that its owner closes after the pool.
   */
  void awaitWorkers() {
    long startNs = System.nanoTime();
    for (LargeObject object : leaving) {
      while (!object.isAtRest() && System.nanoTime() - startNs < LONGEST_WAIT_NS) {
        LockSupport.parkNanos(this, LOOK_AGAIN_NS);
      }
    }
  }

  /** Returns the bytes that a device has not forgotten yet. */
  long bytes() {
    return leaving.stream()
        .filter(object -> !object.forgotten)
        .mapToLong(LargeObject::lengthBytes)
        .sum();
  }

  /** Returns the objects whose memory is mapped still. */
  int count() {
    return leaving.size();
  }
}
