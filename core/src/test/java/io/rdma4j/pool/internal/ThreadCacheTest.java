package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
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
      new SizeClassPool(0, 4096, false, BLOCKS, slabs, NumaPolicy.unknown(), workers);

  @AfterEach
  void close() {
    workers.close();
    slabs.close();
  }

  private ThreadCache newCache() {
    return new ThreadCache(
        Thread.currentThread(), holders, slabs.states(), new SizeClassPool[] {pool}, BLOCKS);
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
        while (revocations < REVOCATIONS && !owner.isDone()) {
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
      if (!BlockStates.isLeaseOf(state, handle)) {
        return false;
      }
      ThreadCache exclusive = holders.exclusive(BlockState.holder(state));
      if (exclusive != null) {
        exclusive.share();
      } else if (slabs.states().compareAndSet(block, state, BlockState.givenBack(state))) {
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

  /** After 2^30 leases the state of a free block of class 0 that nobody keeps is 0 again. */
  @Test
  void anInterruptedTakeTellsAStateOfZeroFromALease() {
    assertTrue(slabs.grow(pool, NumaPolicy.UNKNOWN));
    Magazine magazine = newCache().magazine(0);
    int chain = pool.freeLists()[0].pop();
    for (int block = chain; block != BlockLinks.NONE; block = slabs.links().next(block)) {
      slabs.states().set(block, 0);
    }
    int left = magazine.fill(chain, BLOCKS);
    assertEquals(BlockLinks.NONE, left);
    assertTrue(pool.takeBack(magazine));
    assertEquals(BlockHandle.NONE, magazine.take());
    assertAllFree();
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
    boolean[] seen = new boolean[BLOCKS];
    int count = 0;
    for (long handle = next(); handle != BlockHandle.NONE; handle = next()) {
      int block = BlockHandle.block(handle);
      assertTrue(!seen[block], "block " + block + " came out twice");
      seen[block] = true;
      count++;
    }
    assertEquals(BLOCKS, count);
    for (int block = 0; block < BLOCKS; block++) {
      assertTrue(release(BlockHandle.of(block, slabs.states().get(block))));
    }
  }

  private long next() {
    return pool.refill(newStripe(), NumaPolicy.UNKNOWN, 1);
  }
}
