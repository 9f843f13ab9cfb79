package io.rdma4j.pool.internal;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.HeatTable;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolProgress;
import io.rdma4j.pool.RegisteredRange;
import io.rdma4j.provider.MemoryRegistrar;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Hands out blocks by handle and takes them back.
 *
 * <p>The fast paths touch the caller's magazine alone ({@link Magazine#take}, {@link
 * Magazine#give}). The slow path for a block is {@link BlockSearch}; for a release it is here: who
 * may end the lease, and where the free block goes.
 *
 * <p>Safe for use by several threads.
 */
public final class BlockPool {
  private static final long WORKERS_END_NS = 10_000_000_000L;

  private final PoolConfig config;
  private final Slabs slabs;
  private final SlabTable table;
  private final BlockStates states;
  private final Workers workers;
  private final SizeClassPool[] classes;
  private final @Nullable SizeClassPool reserve;
  private final CacheRegistry caches;
  private final LargeObjects large;
  private final BlockSearch search;
  private final Maintenance maintenance;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final LongAdder refusedReleases = new LongAdder();
  private final LongAdder quarantined = new LongAdder();
  private final AllocationTimes times;

  /**
   * Creates a pool with its initial slabs.
   *
   * @throws io.rdma4j.pool.PoolGrowthException when a registrar refuses; nothing is left behind
   */
  public BlockPool(
      PoolConfig config,
      SizeClasses sizes,
      List<MemoryRegistrar> registrars,
      SystemRoot root,
      NanoClock clock,
      PoolProgress progress) {
    this.config = config;
    NumaPolicy numa = numaPolicy(config, registrars, root);
    this.slabs = new Slabs(config, sizes, registrars, root, numa, clock);
    String name = "rdma4j-pool-" + slabs.poolNumber();
    this.table = slabs.table();
    this.states = slabs.states();
    this.times = slabs.allocationTimes();
    this.workers = new Workers(name, config.registrationThreads());
    this.classes = classes(config, sizes, numa);
    this.reserve = config.receiveReserveBlocks() > 0 ? classes[sizes.count()] : null;
    this.caches = new CacheRegistry(classes, states, config.maxCached());
    this.large = new LargeObjects(config, classes, slabs, numa, workers, clock);
    this.search = new BlockSearch(config, classes, caches, slabs, numa, closed);
    this.maintenance = new Maintenance(name, config, classes, caches, slabs, large, search, clock);
    begin(progress);
  }

  private static NumaPolicy numaPolicy(
      PoolConfig config, List<MemoryRegistrar> registrars, SystemRoot root) {
    return config.numaAware()
        ? NumaPolicy.of(root, registrars.stream().map(MemoryRegistrar::name).toList())
        : NumaPolicy.unknown();
  }

  /** One class for each block size, then the receive reserve. */
  private SizeClassPool[] classes(PoolConfig config, SizeClasses sizes, NumaPolicy numa) {
    boolean reserve = config.receiveReserveBlocks() > 0;
    SizeClassPool[] all = new SizeClassPool[sizes.count() + (reserve ? 1 : 0)];
    for (int c = 0; c < all.length; c++) {
      boolean last = c == sizes.count();
      int leastBytes = last || c == 0 ? 0 : sizes.blockBytes(c - 1) + 1;
      int blockBytes = last ? config.receiveBlockSize() : sizes.blockBytes(c);
      all[c] =
          new SizeClassPool(
              c, leastBytes, blockBytes, last, config.maxCached(), slabs, numa, workers);
    }
    return all;
  }

  private void begin(PoolProgress progress) {
    try {
      new FirstSlabs(config, classes, slabs, workers, progress).add();
      if (config.backgroundThread()) {
        maintenance.start();
      }
    } catch (RuntimeException | Error e) {
      try {
        close();
      } catch (RuntimeException closing) {
        e.addSuppressed(closing);
      }
      throw e;
    }
  }

  /**
   * Returns the calling thread's magazine for a class, null for a virtual thread.
   *
   * @param last a magazine of this pool that is probably it, which saves a look-up
   */
  public @Nullable Magazine own(@Nullable Magazine last, int sizeClass) {
    return last != null && last.sizeClass() == sizeClass && last.isOwnedBy(Thread.currentThread())
        ? last
        : caches.own(sizeClass);
  }

  /**
   * Leases a block.
   *
   * @param magazine from {@link #own}
   * @return its handle, {@link BlockHandle#NONE} when the pool is exhausted
   * @throws io.rdma4j.pool.PoolGrowthException when the pool had to grow and was refused
   * @throws IllegalStateException when closed
   */
  public long take(int sizeClass, @Nullable Magazine magazine) {
    long handle = magazine != null ? magazine.take() : takeFromStripe(sizeClass);
    return handle == BlockHandle.NONE ? takeSlow(sizeClass, magazine) : handle;
  }

  /** Leases a block where the magazine has none; as {@link #take}. */
  public long takeSlow(int sizeClass, @Nullable Magazine magazine) {
    long startNs = startNs();
    return noted(startNs, search.find(classes[sizeClass], magazine));
  }

  /**
   * Leases a block that is free at this moment; as {@link #take}, without waiting for the pool to
   * grow, which it does in the background then.
   */
  public long takeFree(int sizeClass, @Nullable Magazine magazine) {
    long handle = magazine != null ? magazine.take() : takeFromStripe(sizeClass);
    if (handle != BlockHandle.NONE) {
      return handle;
    }
    long startNs = startNs();
    return noted(startNs, search.findNow(classes[sizeClass], magazine));
  }

  private long startNs() {
    return times.areTaken() ? System.nanoTime() : 0;
  }

  private long noted(long startNs, long handle) {
    if (times.areTaken() && handle != BlockHandle.NONE) {
      times.record(System.nanoTime() - startNs);
    }
    return handle;
  }

  /** Returns the class number of the blocks kept apart for receives, -1 when there are none. */
  public int reserveClass() {
    return reserve == null ? -1 : reserve.sizeClass();
  }

  /**
   * Leases a block of {@link #reserveClass}.
   *
   * @param magazine from {@link #own} for that class
   * @return its handle, {@link BlockHandle#NONE} when all are in use
   */
  public long takeReserved(@Nullable Magazine magazine) {
    if (reserve == null) {
      return BlockHandle.NONE;
    }
    long handle = magazine != null ? magazine.take() : takeFromStripe(reserve.sizeClass());
    if (handle != BlockHandle.NONE) {
      return handle;
    }
    long startNs = startNs();
    return noted(startNs, search.findReserved(reserve, magazine));
  }

  private long takeFromStripe(int sizeClass) {
    // A glance: threads that see the same word are all timed, a few samples too many.
    if (!AllocationTimes.isAtSample(caches.stripe(sizeClass).word(), times.sampleMask())) {
      return takeFromAnyStripe(sizeClass);
    }
    long startNs = System.nanoTime();
    long handle = takeFromAnyStripe(sizeClass);
    if (handle != BlockHandle.NONE) {
      times.recordSample(System.nanoTime() - startNs, 1);
    }
    return handle;
  }

  private long takeFromAnyStripe(int sizeClass) {
    StripeCache stripe = caches.holdStripe(sizeClass);
    try {
      return stripe.take();
    } finally {
      stripe.letGo();
    }
  }

  /**
   * Ends a lease and takes the block back, where the calling thread's magazine is not at hand.
   *
   * @throws IllegalStateException for a handle not on lease, which is counted and changes nothing
   */
  public void release(long handle) {
    Slab slab = slabToReleaseTo(handle);
    Magazine own = caches.own(slab.sizeClass());
    if (own == null || !own.give(handle)) {
      release(handle, slab, own);
    }
  }

  /**
   * Ends a lease that the calling thread's magazine did not end; as {@link #release}.
   *
   * @param mine of any class
   */
  public void releaseSlow(long handle, Magazine mine) {
    Slab slab = slabToReleaseTo(handle);
    Magazine own = mine.cache().magazine(slab.sizeClass());
    if (own == mine || !own.give(handle)) {
      release(handle, slab, own);
    }
  }

  private Slab slabToReleaseTo(long handle) {
    Slab slab = table.find(BlockHandle.block(handle));
    if (slab == null) {
      throw refuse(handle);
    }
    return slab;
  }

  /** Ends a lease that the calling thread may not end by itself, or where it has no room. */
  private void release(long handle, Slab slab, @Nullable Magazine own) {
    int block = BlockHandle.block(handle);
    int holder = BlockState.holder(states.get(block), block);
    if (own == null || !own.cache().isExclusiveAs(holder) || !own.endLease(handle)) {
      endLease(handle, own);
    }
    putBack(slab, block, own);
  }

  /** Ends a lease as everybody may: of several threads that try, one succeeds. */
  private void endLease(long handle, @Nullable Magazine own) {
    int block = BlockHandle.block(handle);
    while (true) {
      long state = states.get(block);
      if (!BlockState.isLeaseOf(state, handle)) {
        throw refuse(handle);
      }
      int holder = BlockState.holder(state, block);
      ThreadCache exclusive = Holders.isOdd(holder) ? caches.holders().exclusive(holder) : null;
      if (exclusive != null) {
        exclusive.share();
      } else if (states.compareAndSet(block, state, BlockHandle.next(handle))) {
        if (own != null) {
          own.cache().countOwnRelease(holder);
        }
        return;
      }
    }
  }

  /** Finds a place for a free block that is this thread's alone. */
  private void putBack(Slab slab, int block, @Nullable Magazine own) {
    SizeClassPool pool = classes[slab.sizeClass()];
    if (closed.get()) {
      pool.countSlowRelease();
      unmapIfLast(slab);
    } else if (own == null) {
      putBackToStripe(pool, block);
    } else if (!own.keep(block)) {
      pool.release(own, block);
    }
  }

  private void putBackToStripe(SizeClassPool pool, int block) {
    StripeCache stripe = caches.holdStripe(pool.sizeClass());
    boolean kept;
    try {
      kept = stripe.keep(block);
    } finally {
      stripe.letGo();
    }
    if (!kept) {
      pool.release(stripe, block);
    }
  }

  /** The lease has ended before this look: either the closing thread sees that, or this one. */
  private void unmapIfLast(Slab slab) {
    if (slab.isForgotten() && slab.leasedBlocks(states) == 0) {
      slab.unmap();
    }
  }

  /** Returns the slab of a block that was handed out. */
  public Slab slabOf(long handle) {
    return table.slabOf(BlockHandle.block(handle));
  }

  /** Returns a block's place in its slab. */
  public int indexOf(long handle) {
    return table.indexOf(BlockHandle.block(handle));
  }

  /** Returns true while the lease of that handle lasts; the handle must be one of this pool. */
  public boolean isLeased(long handle) {
    return states.isLeased(handle);
  }

  /**
   * Returns the slab of a lease in force.
   *
   * @throws IllegalStateException for any other handle, which is counted
   */
  public Slab slabOfLease(long handle) {
    Slab slab = table.find(BlockHandle.block(handle));
    if (slab == null || !states.isLeased(handle)) {
      throw refuse(handle);
    }
    return slab;
  }

  /** Counts a release without effect and returns its failure. */
  public IllegalStateException refuse(long handle) {
    return refuse(
        handle == BlockHandle.NONE
            ? "this lease is empty: its block was released or detached before"
            : "handle 0x%x is not on lease here: it was released before, or is another pool's"
                .formatted(handle));
  }

  /** Counts blocks that go into quarantine, or come out of it. */
  public void countQuarantined(int blocks) {
    quarantined.add(blocks);
  }

  /** Counts a release without effect and returns its failure. */
  public IllegalStateException refuse(String why) {
    refusedReleases.increment();
    return new IllegalStateException(why);
  }

  /** Returns the memory above the largest class. */
  public LargeObjects large() {
    return large;
  }

  /** Returns the registered memory that contains an address, null when none of the pool's does. */
  public @Nullable RegisteredRange rangeAt(long address) {
    return slabs.index().find(address);
  }

  /** Does what the background thread does now and then; returns the threads that had ended. */
  public int maintain() {
    return maintenance.run();
  }

  /** Returns the threads that wait for a block of a class. */
  public int waiters(int sizeClass) {
    return classes[sizeClass].growth().waiters().get();
  }

  /** Returns the slabs whose memory has not been given back. */
  public long mappedSlabs() {
    return slabs.mappedSlabs();
  }

  /** Returns how warm each slab is; none once the pool is closed. */
  public HeatTable heat() {
    return maintenance.heat();
  }

  /** Returns what the pool holds and has done. */
  public Census census() {
    return new Census(
        config, classes, caches, slabs, refusedReleases.sum(), quarantined.sum(), closed.get());
  }

  /** Gives everything back; see {@link io.rdma4j.pool.RegisteredBufferPool#close}. */
  public void close() {
    if (closed.compareAndSet(false, true)) {
      maintenance.close();
      workers.close();
      caches.shut();
      slabs.awaitReleases(config.closeTimeoutNs(), large::isInUse);
    }
    boolean quiet = workers.awaitEnd(WORKERS_END_NS);
    try (large) {
      slabs.close();
    }
    if (!quiet) {
      throw new IllegalStateException(
          "a registration was still under way when the pool was closed; the device must outlive"
              + " it");
    }
  }
}
