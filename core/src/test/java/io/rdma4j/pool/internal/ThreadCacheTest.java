package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class ThreadCacheTest {
  private static final int BLOCKS = 8;
  private static final int REVOCATIONS = 1_500;

  /** On a busy machine there are fewer. */
  private static final long LONGEST_NS = 30_000_000_000L;

  private static final int RACES = 3_000;

  private final PoolConfig config =
      PoolConfig.builder()
          .blockSizes(4096)
          .slabBytes(BLOCKS * 4096)
          .maxBytes(BLOCKS * 4096)
          .maxCached(BLOCKS)
          .hugePages(HugePages.NONE)
          .build();
  private final Slabs slabs =
      new Slabs(
          config,
          new SizeClasses(config.blockSizes()),
          List.of(),
          SystemRoot.host(),
          NumaPolicy.unknown(),
          NanoClock.SYSTEM);
  private final Workers workers = new Workers("test", 1);
  private final Holders holders = new Holders();
  private final SizeClassPool pool =
      new SizeClassPool(0, 0, 4096, false, BLOCKS, slabs, NumaPolicy.unknown(), workers);

  @AfterEach
  void close() {
    workers.close();
    slabs.close();
  }

  private ThreadCache newCache() {
    return new ThreadCache(
        Thread.currentThread(), holders, slabs.states(), new SizeClassPool[] {pool});
  }

  /**
   * The owner takes and gives as fast as it can while another thread keeps taking everything away:
   * every block must come out exactly once.
   */
  @Test
  void revocationNeitherLosesNorDoublesABlock() throws Exception {
    assertTrue(slabs.grow(pool, NumaPolicy.UNKNOWN));
    AtomicBoolean stop = new AtomicBoolean();
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Magazine magazine = threads.submit(() -> newCache().magazine(0)).get();
      Future<Long> owner = threads.submit(() -> takeAndGive(magazine, stop));
      try {
        int revocations = 0;
        long startNs = System.nanoTime();
        while (revocations < REVOCATIONS
            && System.nanoTime() - startNs < LONGEST_NS
            && !owner.isDone()) {
          revocations += pool.takeBack(magazine) ? 1 : 0;
        }
      } finally {
        stop.set(true);
      }
      assertTrue(owner.get() > 0);
      pool.takeBack(magazine);
      assertEquals(
          magazine.takes() + pool.slowAllocations(), magazine.releases() + pool.slowReleases());
    }
    assertAllFree();
  }

  private long takeAndGive(Magazine magazine, AtomicBoolean stop) {
    long rounds = 0;
    while (!stop.get()) {
      long handle = take(magazine);
      assertFalse(Thread.interrupted(), "nobody has interrupted the owner");
      if (handle != BlockHandle.NONE) {
        rounds++;
        // Opened again, the cache has room, unless it was taken away once more.
        while (!magazine.give(handle)) {
          if (!magazine.reopen()) {
            // Leased from the list, not from the cache, so released as by anybody.
            release(handle);
            int block = BlockHandle.block(handle);
            if (!magazine.keep(block)) {
              pool.release(magazine, block);
            }
            break;
          }
        }
      }
    }
    return rounds;
  }

  private long take(Magazine magazine) {
    long handle = magazine.take();
    if (handle == BlockHandle.NONE && magazine.reopen()) {
      handle = magazine.take();
    }
    return handle == BlockHandle.NONE ? pool.refill(magazine, NumaPolicy.UNKNOWN, 1) : handle;
  }

  /** Releases as every thread may; false when the lease has ended already. */
  private boolean release(long handle) {
    int block = BlockHandle.block(handle);
    while (true) {
      long state = slabs.states().get(block);
      if (!BlockState.isLeaseOf(state, handle)) {
        return false;
      }
      ThreadCache exclusive = holders.exclusive(BlockState.holder(state, block));
      if (exclusive != null) {
        exclusive.share();
      } else if (slabs.states().compareAndSet(block, state, BlockHandle.next(handle))) {
        return true;
      }
    }
  }

  /**
   * The owner, which releases with plain stores, and another thread release the same lease at once:
   * exactly one of them succeeds.
   */
  @Test
  void anExclusiveLeaseEndsOnce() throws Exception {
    assertTrue(slabs.grow(pool, NumaPolicy.UNKNOWN));
    AtomicLong lent = new AtomicLong();
    long ownReleases = 0;
    AtomicLong foreignReleases = new AtomicLong();
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<?> other =
          threads.submit(
              () -> {
                for (int i = 0; i < RACES; i++) {
                  long handle = awaitHandle(lent);
                  if (release(handle)) {
                    foreignReleases.getAndIncrement();
                    pool.release(newStripe(), BlockHandle.block(handle));
                  }
                  lent.set(BlockHandle.NONE);
                }
              });
      ThreadCache cache = newCache();
      Magazine magazine = cache.magazine(0);
      for (int i = 0; i < RACES; i++) {
        cache.makeExclusive();
        long handle = take(magazine);
        lent.set(handle);
        if (releaseAsOwner(magazine, handle, i)) {
          ownReleases++;
        }
        while (lent.get() != BlockHandle.NONE) {
          Thread.onSpinWait();
        }
        assertEquals(i + 1, ownReleases + foreignReleases.get(), "race " + i);
      }
      other.get();
      pool.takeBack(magazine);
    }
    assertTrue(ownReleases > 0, "the owner never won");
    assertTrue(foreignReleases.get() > 0, "the other thread never won");
    assertAllFree();
  }

  /** After 2^32 leases of a block its generations begin again. */
  @Test
  void generationsWrap() {
    assertTrue(slabs.grow(pool, NumaPolicy.UNKNOWN));
    int first = pool.freeLists()[0].pop();
    int blocks = slabs.links().count(first);
    slabs.states().set(first, BlockHandle.of(first, -1));
    Magazine magazine = newCache().magazine(0);
    assertEquals(BlockLinks.NONE, magazine.fill(first, blocks));
    long[] others = new long[blocks - 1];
    Arrays.setAll(others, i -> magazine.take());
    long last = magazine.take();
    assertEquals(BlockHandle.of(first, -1), last);
    assertTrue(magazine.give(last));
    assertFalse(magazine.give(last), "released twice");
    assertEquals(BlockHandle.of(first, 0), magazine.take());
    assertFalse(magazine.give(last), "an old handle");
    assertTrue(magazine.give(BlockHandle.of(first, 0)));
    for (long handle : others) {
      assertTrue(magazine.give(handle));
    }
    assertTrue(pool.takeBack(magazine));
    assertAllFree();
  }

  /** More takes than the word has room for are moved on, and every one is counted. */
  @Test
  void takesAreCountedBeyondTheWord() {
    assertTrue(slabs.grow(pool, NumaPolicy.UNKNOWN));
    Magazine magazine = newFilledMagazine();
    long before = magazine.takes();
    long added = Magazine.MOST_TAKES - 3;
    magazine.addTakes(added);
    long releases = magazine.releases();
    for (int i = 0; i < 6; i++) {
      long handle = magazine.take();
      assertTrue(handle != BlockHandle.NONE, "take " + i);
      assertEquals(before + added + i + 1, magazine.takes());
      assertTrue(magazine.give(handle));
      assertEquals(releases + i + 1, magazine.releases());
    }
    assertTrue(pool.takeBack(magazine));
    assertAllFree();
  }

  /**
   * An operation that a StackOverflowError has ended leaves its announcement behind; the owner's
   * next one takes it back, and whoever waits for the owner goes on.
   */
  @Test
  void anAnnouncementLeftBehindIsTakenBack() throws Exception {
    assertTrue(slabs.grow(pool, NumaPolicy.UNKNOWN));
    Magazine magazine = newFilledMagazine();
    magazine.announce();
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<Boolean> thief = threads.submit(() -> pool.takeBack(magazine));
      while (!thief.isDone()) {
        long handle = magazine.take();
        if (handle != BlockHandle.NONE) {
          assertTrue(releaseAsOwner(magazine, handle, 0));
        }
      }
      assertTrue(thief.get());
    }
    pool.takeBack(magazine);
    assertAllFree();
  }

  private Magazine newFilledMagazine() {
    Magazine magazine = newCache().magazine(0);
    assertTrue(releaseAsOwner(magazine, take(magazine), 0));
    return magazine;
  }

  private boolean releaseAsOwner(Magazine magazine, long handle, int delay) {
    for (int i = 0; i < delay * 7 % 5000; i++) {
      Thread.onSpinWait();
    }
    do {
      if (magazine.give(handle)) {
        return true;
      }
    } while (magazine.reopen());
    if (!release(handle)) {
      return false;
    }
    pool.release(magazine, BlockHandle.block(handle));
    return true;
  }

  /** A cache that keeps nothing, so that blocks go to the shared list. */
  private StripeCache newStripe() {
    StripeCache stripe = new StripeCache(pool, slabs.states(), 0);
    stripe.shut();
    return stripe;
  }

  private static long awaitHandle(AtomicLong lent) {
    while (lent.get() == BlockHandle.NONE) {
      Thread.onSpinWait();
    }
    return lent.get();
  }

  private void assertAllFree() {
    assertEquals(BLOCKS, pool.freeBlocks());
    int firstBlock = slabs.table().all()[0].firstBlock();
    boolean[] seen = new boolean[BLOCKS];
    long[] handles = new long[BLOCKS];
    int count = 0;
    for (long handle = next(); handle != BlockHandle.NONE; handle = next()) {
      int index = BlockHandle.block(handle) - firstBlock;
      assertTrue(!seen[index], "block " + index + " came out twice");
      seen[index] = true;
      handles[count++] = handle;
    }
    assertEquals(BLOCKS, count);
    for (long handle : handles) {
      assertTrue(release(handle));
    }
  }

  private long next() {
    return pool.refill(newStripe(), NumaPolicy.UNKNOWN, 1);
  }
}
