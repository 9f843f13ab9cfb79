package io.rdma4j.pool.internal;

import io.rdma4j.os.ProcessBarrier;
import java.lang.ref.WeakReference;

/**
 * The free blocks of one platform thread: a {@link Magazine} for each class.
 *
 * <p>The owner works without any atomic operation. Another thread that wants to take blocks away,
 * or to release a block that this cache leased, stops it between two operations ({@link #revoke}):
 * the owner goes through the slow path next, which opens the cache again.
 *
 * <pre>
 *               foreign release                        owner's next slow path
 *  exclusive ---------------------&gt; shared, revoked ------------------------&gt; shared
 *      ^                                                                         |
 *      +--------- after many releases by the owner, twice as many each time -----+
 * </pre>
 *
 * <p>Everything but takes, gives and glances at counts runs under this object's monitor.
 */
final class ThreadCache {
  private static final int FIRST_RUN = 1 << 10;
  private static final int LONGEST_RUN = 1 << 16;

  /** An exclusive time of so many runs was worth it, so the next may come as soon as the first. */
  private static final int GOOD_RUNS = 16;

  private final WeakReference<Thread> owner;
  private final Holders holders;
  private final int slot;
  private final Magazine[] magazines;
  private int identity;
  private boolean revoked = true;
  private volatile boolean shut;

  /** The owner's releases, by compare-and-set, that are left until the cache is exclusive again. */
  private int releasesLeft = FIRST_RUN;

  private int run = FIRST_RUN;

  /** Takes before the cache became exclusive. */
  private long takesBefore;

  /**
   * Creates the calling thread's cache.
   *
   * @throws IllegalStateException when all identities are taken
   */
  ThreadCache(Thread owner, Holders holders, BlockStates states, SizeClassPool[] pools) {
    this.owner = new WeakReference<>(owner);
    this.holders = holders;
    this.magazines = new Magazine[pools.length];
    for (int c = 0; c < pools.length; c++) {
      magazines[c] = new Magazine(this, owner.threadId(), pools[c], states);
    }
    this.slot = holders.acquire(this);
    become(holders.makeExclusive(slot));
  }

  Magazine magazine(int sizeClass) {
    return magazines[sizeClass];
  }

  /** Returns the identity that the cache writes into the states of its blocks. */
  int identity() {
    return identity;
  }

  /** Returns true once the owner has ended, which leaves its blocks to whoever comes first. */
  boolean isOrphan() {
    Thread thread = owner.get();
    return thread == null || !thread.isAlive();
  }

  private void become(int newIdentity) {
    identity = newIdentity;
    for (Magazine magazine : magazines) {
      magazine.changeHolder(newIdentity);
    }
  }

  /** Returns true while the owner alone releases what the cache leases now. */
  boolean isExclusive() {
    return Holders.isOdd(identity);
  }

  /** As {@link #isExclusive}, of leases that carry that identity; a glance. */
  boolean isExclusiveAs(int holder) {
    return Holders.isOdd(holder) && holder == identity;
  }

  /** Returns true when the owner has been stopped; under the monitor. */
  boolean isRevoked() {
    return revoked;
  }

  /** Stops the owner between two operations; under the monitor until it opens the cache again. */
  synchronized void revoke() {
    if (revoked) {
      return;
    }
    for (Magazine magazine : magazines) {
      magazine.stop();
    }
    ProcessBarrier.run();
    for (Magazine magazine : magazines) {
      magazine.awaitStop();
    }
    revoked = true;
  }

  /** Ends exclusive use: from here on everybody releases what this cache has leased or leases. */
  synchronized void share() {
    if (isExclusive()) {
      revoke();
      become(holders.share(slot));
      boolean worthIt = takes() - takesBefore > (long) GOOD_RUNS * run;
      run = worthIt ? FIRST_RUN : Math.min(LONGEST_RUN, 2 * run);
      releasesLeft = run;
    }
  }

  /**
   * Notes that the owner released a block as everybody does.
   *
   * @param holder who had leased it
   */
  void countOwnRelease(int holder) {
    if (Holders.slot(holder) == slot && --releasesLeft <= 0) {
      releasesLeft = run;
      makeExclusive();
    }
  }

  /** Has the owner release with plain stores again what it leases from here on. */
  synchronized void makeExclusive() {
    if (open() && !isExclusive()) {
      become(holders.makeExclusive(slot));
      takesBefore = takes();
    }
  }

  private long takes() {
    long takes = 0;
    for (Magazine magazine : magazines) {
      takes += magazine.takes();
    }
    return takes;
  }

  /** Lets the owner use the cache again if it had been revoked; false when that was not so. */
  synchronized boolean reopen() {
    return revoked && open();
  }

  /** Returns false when the cache is out of use; else the owner may use it again. */
  synchronized boolean open() {
    if (!shut && revoked) {
      revoked = false;
      for (Magazine magazine : magazines) {
        magazine.restart();
      }
    }
    return !shut;
  }

  /** Takes the cache out of use: it keeps nothing from here on. */
  synchronized void shut() {
    share();
    revoke();
    shut = true;
    for (Magazine magazine : magazines) {
      magazine.markFree();
    }
  }

  /** Returns true once the cache is out of use; a glance. */
  boolean isShut() {
    return shut;
  }

  /** Gives the identity of an ended thread's cache back; its blocks have been taken. */
  void retire() {
    shut();
    holders.release(slot);
  }
}
