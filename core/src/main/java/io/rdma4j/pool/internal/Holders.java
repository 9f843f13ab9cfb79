package io.rdma4j.pool.internal;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Identities of thread caches, as they stand in a {@link BlockState}.
 *
 * <pre>
 *  25               13 12                      1   0
 * +-------------------+-------------------------+---+
 * | slot, from 1      | changes so far          | x |
 * +-------------------+-------------------------+---+
 * </pre>
 *
 * A cache with an odd identity is <em>exclusive</em>: what it leased is released by its own thread
 * with plain stores. A cache with an even one shares: everybody releases by compare-and-set. Each
 * change gives a new identity and none comes twice, so a lease made under an old one is shared.
 *
 * <p>Safe for use by several threads.
 */
final class Holders {
  /** The identity of nobody, shared. */
  static final int NOBODY = 0;

  private static final int SLOT_SHIFT = 13;
  private static final int CHANGES_MASK = (1 << SLOT_SHIFT) - 1;
  private static final int SLOTS = 1 << 13;

  private final AtomicIntegerArray identities = new AtomicIntegerArray(SLOTS);
  private final AtomicReferenceArray<@Nullable ThreadCache> caches =
      new AtomicReferenceArray<>(SLOTS);
  private final AtomicInteger taken = new AtomicInteger();
  private final AtomicInteger next = new AtomicInteger();

  /** Returns true when there is no identity for one more cache. */
  boolean areAllTaken() {
    return taken.get() == SLOTS - 1;
  }

  /**
   * Gives a cache a slot.
   *
   * @throws IllegalStateException when all are taken
   */
  int acquire(ThreadCache cache) {
    // Slots in turn, so that threads that come and go do not use up the changes of one of them.
    int first = next.getAndIncrement();
    for (int i = 0; i < SLOTS - 1; i++) {
      int slot = 1 + (first + i & Integer.MAX_VALUE) % (SLOTS - 1);
      if (caches.compareAndSet(slot, null, cache)) {
        taken.getAndIncrement();
        return slot;
      }
    }
    throw new IllegalStateException("all " + taken + " identities of thread caches are taken");
  }

  /** Gives a slot back; its identity is a shared one and goes on counting for the next cache. */
  void release(int slot) {
    caches.set(slot, null);
    taken.getAndDecrement();
  }

  /** Moves a slot on to a shared identity and returns it. */
  int share(int slot) {
    return change(slot, false);
  }

  /** Moves a slot on to an exclusive identity and returns it, a shared one when none is left. */
  int makeExclusive(int slot) {
    return change(slot, true);
  }

  private int change(int slot, boolean exclusive) {
    int identity = identities.get(slot);
    int changes = identity & CHANGES_MASK;
    // The last identity is a shared one, and stays.
    boolean possible = exclusive ? changes < CHANGES_MASK - 1 : isOdd(changes);
    if (possible && isOdd(changes) != exclusive) {
      identity = slot << SLOT_SHIFT | changes + 1;
      identities.set(slot, identity);
    } else if (identity == 0) {
      identity = slot << SLOT_SHIFT;
      identities.set(slot, identity);
    }
    return identity;
  }

  /** Returns the cache that is exclusive under that identity now, null when there is none. */
  @Nullable ThreadCache exclusive(int identity) {
    int slot = slot(identity);
    return isOdd(identity) && identities.get(slot) == identity ? caches.get(slot) : null;
  }

  static int slot(int identity) {
    return identity >>> SLOT_SHIFT;
  }

  static boolean isOdd(int identity) {
    return (identity & 1) != 0;
  }
}
