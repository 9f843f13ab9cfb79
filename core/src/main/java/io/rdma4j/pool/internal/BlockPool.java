package io.rdma4j.pool.internal;

import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.internal.SlabFactory.RegisteredMemory;
import io.rdma4j.provider.MemoryRegistrar;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Hands out block numbers and takes them back.
 *
 * <p>The fast paths touch the caller's cache alone. The slow path for a block goes: shared list,
 * other threads' caches, another slab; it gives up only when the budget is spent and a search that
 * no block can have slipped past found none.
 *
 * <p>Safe for use by several threads.
 */
public final class BlockPool {
  /** Stands for no block. */
  public static final int NONE = BlockLinks.NONE;

  private static final AtomicInteger POOLS = new AtomicInteger();

  private final PoolConfig config;
  private final SizeClasses sizes;
  private final SlabTable table;
  private final SlabFactory factory;
  private final SizeClassPool[] classes;
  private final CacheRegistry caches;
  private final int firstGeneration = BlockHandle.firstGeneration(POOLS.incrementAndGet());
  private final AtomicBoolean closed = new AtomicBoolean();
  private final LongAdder refusedReleases = new LongAdder();

  /**
   * Creates a pool with its initial slabs.
   *
   * @throws io.rdma4j.pool.PoolGrowthException when a registrar refuses; nothing is left behind
   */
  public BlockPool(
      PoolConfig config, SizeClasses sizes, List<MemoryRegistrar> registrars, SystemRoot root) {
    this.config = config;
    this.sizes = sizes;
    this.table = new SlabTable(config.slabBytes() / sizes.blockBytes(0));
    this.factory = new SlabFactory(config, registrars, root);
    this.classes = new SizeClassPool[sizes.count()];
    for (int c = 0; c < classes.length; c++) {
      classes[c] = new SizeClassPool(c, config.maxCached(), table.links());
    }
    this.caches = new CacheRegistry(sizes.count(), config.maxCached());
    addInitialSlabs();
  }

  private void addInitialSlabs() {
    try {
      int sizeClass = 0;
      for (long bytes = 0; bytes < config.initialBytes(); bytes += config.slabBytes()) {
        addSlab(sizeClass);
        sizeClass = (sizeClass + 1) % sizes.count();
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
   * Returns the calling thread's cache, null for a virtual thread.
   *
   * @param last a cache of this pool that is probably it, which saves a look-up
   */
  public @Nullable ThreadCache ownCache(@Nullable ThreadCache last) {
    Thread thread = Thread.currentThread();
    if (last != null && last.isOwnedBy(thread)) {
      return last;
    }
    if (thread.isVirtual()) {
      return null;
    }
    ThreadCache cache = caches.own();
    return cache == null ? caches.addOwn(classes) : cache;
  }

  /**
   * Returns a block that is the caller's alone, or {@link #NONE} when exhausted.
   *
   * @param cache from {@link #ownCache}
   * @throws io.rdma4j.pool.PoolGrowthException when the pool had to grow and was refused
   * @throws IllegalStateException when closed
   */
  public int take(int sizeClass, @Nullable ThreadCache cache) {
    if (cache == null) {
      return takeFromStripe(sizeClass);
    }
    int block = cache.pop(sizeClass);
    return block == NONE ? takeSlow(sizeClass, cache) : block;
  }

  private int takeFromStripe(int sizeClass) {
    StripeCache stripe = caches.holdStripe();
    int block;
    try {
      block = stripe.pop(sizeClass);
    } finally {
      stripe.letGo();
    }
    return block == NONE ? takeSlow(sizeClass, stripe) : block;
  }

  // Yields only when blocks moved during the search, so that those who move them get on.
  @SuppressWarnings("ThreadPriorityCheck")
  private int takeSlow(int sizeClass, BlockCache cache) {
    SizeClassPool pool = classes[sizeClass];
    while (true) {
      if (closed.get()) {
        throw new IllegalStateException("the pool is closed");
      }
      if (cache.reopen()) {
        int kept = cache.pop(sizeClass);
        if (kept != NONE) {
          return kept;
        }
      }
      int block = pool.refill(cache, caches.count());
      if (block != NONE) {
        return block;
      }
      long grown = pool.growth().completed();
      long mark = pool.mark();
      long movement = caches.movement(sizeClass);
      if (caches.stealAll(pool)) {
        continue;
      }
      if (!pool.isEmptySince(mark) || caches.movement(sizeClass) != movement) {
        Thread.yield();
        continue;
      }
      if (!pool.growth().grow(grown, () -> addSlab(sizeClass))) {
        pool.countExhausted();
        return NONE;
      }
    }
  }

  /** Returns false when the budget is spent. */
  private boolean addSlab(int sizeClass) {
    if (!factory.reserve()) {
      return false;
    }
    Slab slab = null;
    try {
      slab = registerSlab(sizeClass);
    } finally {
      if (slab == null) {
        factory.unreserve();
      }
    }
    classes[sizeClass].addAll(table, slab);
    return true;
  }

  private Slab registerSlab(int sizeClass) {
    RegisteredMemory memory = factory.create();
    try {
      int blockBytes = sizes.blockBytes(sizeClass);
      return table.add(number -> new Slab(number, sizeClass, blockBytes, firstGeneration, memory));
    } catch (RuntimeException | Error e) {
      factory.giveBack(memory, e);
      throw e;
    }
  }

  /** Returns the slab of a block that was handed out. */
  public Slab slabOf(int block) {
    return table.slabOf(block);
  }

  /** Returns a block's place in its slab. */
  public int indexOf(int block) {
    return table.indexOf(block);
  }

  /**
   * Returns the slab of a lease in force.
   *
   * @throws IllegalStateException for any other handle
   */
  public Slab slabOfLease(long handle) {
    int block = BlockHandle.block(handle);
    Slab slab = table.find(block);
    if (slab == null || !slab.isLeased(table.indexOf(block), BlockHandle.generation(handle))) {
      throw refuse(handle);
    }
    return slab;
  }

  /**
   * Takes a block back.
   *
   * @throws IllegalStateException for a handle not on lease, which is counted and changes nothing
   */
  public void release(long handle) {
    int block = BlockHandle.block(handle);
    Slab slab = table.find(block);
    if (slab == null) {
      throw refuse(handle);
    }
    release(slab, table.indexOf(block), handle, ownCache(null));
  }

  /**
   * Takes a block back whose slab the caller knows.
   *
   * @param cache from {@link #ownCache}
   * @throws IllegalStateException as {@link #release(long)}
   */
  public void release(Slab slab, int index, long handle, @Nullable ThreadCache cache) {
    if (!slab.endLease(index, BlockHandle.generation(handle))) {
      throw refuse(handle);
    }
    int block = BlockHandle.block(handle);
    if (cache == null) {
      releaseToStripe(slab, block);
    } else if (!cache.push(slab.sizeClass(), block, classes[slab.sizeClass()].cacheLimit())) {
      releaseSlow(slab, block, cache);
    }
  }

  private void releaseToStripe(Slab slab, int block) {
    int sizeClass = slab.sizeClass();
    StripeCache stripe = caches.holdStripe();
    boolean kept;
    try {
      kept = stripe.push(sizeClass, block, classes[sizeClass].cacheLimit());
    } finally {
      stripe.letGo();
    }
    if (!kept) {
      releaseSlow(slab, block, stripe);
    }
  }

  private void releaseSlow(Slab slab, int block, BlockCache cache) {
    SizeClassPool pool = classes[slab.sizeClass()];
    if (!cache.reopen() || !cache.push(slab.sizeClass(), block, pool.cacheLimit())) {
      pool.release(cache, block);
    }
    // The lease has ended before this look: either the closing thread sees that, or this one
    // sees the close.
    if (closed.get() && slab.leasedBlocks() == 0 && slab.isDeregistered()) {
      slab.unmap();
    }
  }

  /** Counts a release without effect and returns its failure. */
  public IllegalStateException refuse(long handle) {
    refusedReleases.increment();
    return new IllegalStateException(
        handle == BlockHandle.NONE
            ? "this lease is empty: its block was released or detached before"
            : "handle 0x%x is not on lease here: it was released before, or is another pool's"
                .formatted(handle));
  }

  /** Gives back what ended threads kept; returns their number. */
  public int maintain() {
    return caches.sweep(classes);
  }

  /** Returns the threads that wait for a class to grow. */
  public int waiters(int sizeClass) {
    return classes[sizeClass].growth().waiters();
  }

  /** Returns the slabs whose memory has not been given back. */
  public long mappedSlabs() {
    return Arrays.stream(table.all()).filter(Slab::isMapped).count();
  }

  /** Returns what the pool holds and has done. */
  public PoolStatistics statistics() {
    List<PoolStatistics.SizeClass> all = new ArrayList<>(classes.length);
    long exhausted = 0;
    for (int c = 0; c < classes.length; c++) {
      all.add(statistics(c));
      exhausted += classes[c].exhausted();
    }
    return new PoolStatistics(
        config.maxBytes(),
        all,
        factory.registrations(),
        factory.deregistrations(),
        refusedReleases.sum(),
        exhausted,
        caches.count());
  }

  private PoolStatistics.SizeClass statistics(int sizeClass) {
    SizeClassPool pool = classes[sizeClass];
    CacheRegistry.Totals totals = caches.totals(sizeClass);
    long allocations = totals.pops() + pool.slowAllocations();
    long releases = totals.pushes() + pool.slowReleases();
    boolean open = !closed.get();
    int slabs = 0;
    long registered = 0;
    for (Slab slab : table.all()) {
      if (open && slab.sizeClass() == sizeClass) {
        slabs++;
        registered += slab.blocks();
      }
    }
    return new PoolStatistics.SizeClass(
        sizes.blockBytes(sizeClass),
        slabs,
        registered,
        allocations - releases,
        open ? totals.cachedBlocks() : 0,
        open ? pool.freeBlocks() : 0,
        allocations,
        releases,
        totals.pops(),
        pool.slowAllocations(),
        pool.steals(),
        pool.growth().completed());
  }

  /** Gives everything back; see {@link io.rdma4j.pool.RegisteredBufferPool#close}. */
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    caches.shut();
    RuntimeException failure = null;
    long leased = 0;
    for (Slab slab : table.close()) {
      try {
        leased += closeSlab(slab);
      } catch (RuntimeException e) {
        failure = merged(failure, e);
      }
    }
    if (leased > 0) {
      failure =
          merged(
              new IllegalStateException(
                  ("%d blocks were on lease when the pool was closed; their memory stays mapped"
                          + " until they are released, but no device can reach it")
                      .formatted(leased)),
              failure);
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** Returns the blocks still on lease. Memory that a device may still reach stays mapped. */
  private int closeSlab(Slab slab) {
    factory.deregister(slab.registrations());
    factory.unreserve();
    slab.markDeregistered();
    int leased = slab.leasedBlocks();
    if (leased == 0) {
      slab.unmap();
    }
    return leased;
  }

  private static RuntimeException merged(
      @Nullable RuntimeException first, @Nullable RuntimeException next) {
    if (first == null || next == null) {
      return first == null ? Objects.requireNonNull(next) : first;
    }
    first.addSuppressed(next);
    return first;
  }
}
