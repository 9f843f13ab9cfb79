package io.rdma4j.pool.internal;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.internal.SlabFactory.RegisteredMemory;
import io.rdma4j.provider.MemoryRegistrar;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The back of the pool: all slabs, the states of their blocks, and the ways in which slabs come and
 * go. Safe for use by several threads.
 */
final class Slabs {
  private static final Logger LOG = System.getLogger("io.rdma4j.pool");
  private static final long LOOK_AGAIN_NS = 1_000_000;
  private static final AtomicInteger POOLS = new AtomicInteger();

  private final PoolConfig config;
  private final NumaPolicy numa;
  private final NanoClock clock;
  private final SlabTable table;
  private final BlockLinks links;
  private final BlockStates states;
  private final SlabFactory factory;
  private final AddressIndex index = new AddressIndex();
  private final int poolNumber = POOLS.incrementAndGet();
  private final int firstGeneration = BlockHandle.firstGeneration(poolNumber);

  /** Slabs out of the pool that a device has not forgotten yet. */
  private final ConcurrentLinkedQueue<Slab> leaving = new ConcurrentLinkedQueue<>();

  /** Held from the moment that a slab can not be revived until its budget is back. */
  private final Object retirement = new Object();

  /** Gives back other memory of the pool that nobody uses; false when there is none. */
  private volatile BooleanSupplier evictOther = () -> false;

  private final AtomicInteger fallbackSlabs = new AtomicInteger();
  private final LongAdder adoptions = new LongAdder();
  private final AllocationTimes allocationTimes;

  Slabs(
      PoolConfig config,
      SizeClasses sizes,
      List<MemoryRegistrar> registrars,
      SystemRoot root,
      NumaPolicy numa,
      NanoClock clock) {
    this.config = config;
    this.numa = numa;
    this.clock = clock;
    this.table =
        new SlabTable(
            config.maxBytes() / config.slabBytes(), config.slabBytes() / sizes.blockBytes(0));
    this.links = new BlockLinks(table.indexBits());
    this.states = new BlockStates(table.mostBlocks());
    this.factory = new SlabFactory(config, registrars, root);
    this.allocationTimes = new AllocationTimes(config.sampleEvery());
  }

  /** Returns the pool's number in this process, from 1. */
  int poolNumber() {
    return poolNumber;
  }

  SlabTable table() {
    return table;
  }

  BlockLinks links() {
    return links;
  }

  BlockStates states() {
    return states;
  }

  SlabFactory factory() {
    return factory;
  }

  NumaPolicy numa() {
    return numa;
  }

  AllocationTimes allocationTimes() {
    return allocationTimes;
  }

  /** Returns the slabs that have left their class and that a device has not forgotten yet. */
  Iterable<Slab> leaving() {
    return leaving;
  }

  AddressIndex index() {
    return index;
  }

  /** Says what else to evict when the budget is spent and no slab is pending. */
  void thenEvict(BooleanSupplier evictOther) {
    this.evictOther = evictOther;
  }

  /**
   * Adds a whole slab to a class. When the budget is spent, slabs that wait for deregistration make
   * room.
   *
   * @param others the classes that may have such slabs
   * @return false when there is no room
   * @throws io.rdma4j.pool.PoolGrowthException when a registrar refuses; nothing is left behind
   */
  boolean grow(SizeClassPool pool, int node, SizeClassPool... others) {
    Slab slab = create(pool, config.slabBytes(), node, false);
    while (slab == null && (evictPending(others) || evictOther.getAsBoolean())) {
      slab = create(pool, config.slabBytes(), node, false);
    }
    if (slab == null) {
      slab = createAfterRetirement(pool, node);
    }
    if (slab == null) {
      return false;
    }
    pool.addAll(slab);
    return true;
  }

  /** Removes the slab of a class that has been pending for longest; false when there is none. */
  boolean evictPending(SizeClassPool... classes) {
    synchronized (retirement) {
      return evictOnePending(classes);
    }
  }

  private boolean evictOnePending(SizeClassPool... classes) {
    for (SizeClassPool pool : classes) {
      Slab slab = pool.retireOldest();
      if (slab != null) {
        remove(slab);
        return true;
      }
    }
    return false;
  }

  /** Returns true when the budget has room for one more slab. */
  boolean hasRoom() {
    return config.maxBytes() - factory.budgetedBytes() >= config.slabBytes();
  }

  /**
   * Registers one block for a request that can not wait. It stays in the class when released.
   *
   * @return the handle of the block on lease, {@link BlockHandle#NONE} when the budget is spent
   * @throws io.rdma4j.pool.PoolGrowthException when a registrar refuses; nothing is left behind
   */
  long fallBack(SizeClassPool pool, int node) {
    // Beyond this number they would take the numbers of whole slabs.
    if (fallbackSlabs.incrementAndGet() > SlabTable.SPARE_SLABS) {
      fallbackSlabs.getAndDecrement();
      return BlockHandle.NONE;
    }
    Slab slab = null;
    try {
      slab = create(pool, factory.wholePages(pool.blockBytes()), node, true);
    } finally {
      if (slab == null) {
        fallbackSlabs.getAndDecrement();
      }
    }
    if (slab == null) {
      return BlockHandle.NONE;
    }
    return pool.addLeased(slab);
  }

  private @Nullable Slab create(SizeClassPool pool, long lengthBytes, int node, boolean fallback) {
    if (!factory.reserve(lengthBytes)) {
      return null;
    }
    Slab slab = null;
    try {
      slab = register(pool, lengthBytes, node, fallback);
      return slab;
    } finally {
      if (slab == null) {
        factory.unreserve(lengthBytes);
      }
    }
  }

  private @Nullable Slab register(
      SizeClassPool pool, long lengthBytes, int node, boolean fallback) {
    RegisteredMemory memory = factory.create(lengthBytes, numa.placeFor(node));
    try {
      Slab slab = table.add(number -> carve(number, pool, fallback, memory));
      if (slab == null) {
        factory.giveBack(memory, new IllegalStateException("no slab number is free"));
      } else {
        index.add(slab);
      }
      return slab;
    } catch (RuntimeException | Error e) {
      factory.giveBack(memory, e);
      throw e;
    }
  }

  private Slab carve(int number, SizeClassPool pool, boolean fallback, RegisteredMemory memory) {
    int blockBytes = pool.blockBytes();
    int blocks = fallback ? 1 : (int) (memory.mapping().lengthBytes() / blockBytes);
    int firstBlock = table.firstBlockOf(number);
    links.addSlab(number, blocks);
    int generations = 0;
    for (int block = firstBlock; block < firstBlock + blocks; block++) {
      // Goes on counting where the block's number has been used before.
      long before = states.get(block);
      int generation = before == 0 ? firstGeneration : BlockState.generation(before);
      states.set(block, BlockHandle.of(block, generation));
      generations += generation;
    }
    Heat heat = new Heat(generations, clock.nanoTime());
    return new Slab(number, firstBlock, pool.sizeClass(), blockBytes, fallback, memory, heat);
  }

  /**
   * Takes a pending slab out of its class and gives its memory back.
   *
   * @return false when it is wanted again
   */
  boolean retire(SizeClassPool pool, Slab slab) {
    synchronized (retirement) {
      if (!pool.retire(slab)) {
        return false;
      }
      remove(slab);
      return true;
    }
  }

  /** Takes bytes from the budget, once what has left its class has given them back. */
  boolean reserveAfterRetirement(long bytes) {
    synchronized (retirement) {
      return factory.reserve(bytes);
    }
  }

  /** Makes a slab when one that is in no class any more has given its budget back. */
  private @Nullable Slab createAfterRetirement(SizeClassPool pool, int node) {
    synchronized (retirement) {
      return create(pool, config.slabBytes(), node, false);
    }
  }

  /**
   * Deregisters and unmaps a slab that its class has retired. What a device does not forget yet
   * keeps its memory and its budget until {@link #retryLeaving}.
   */
  void remove(Slab slab) {
    if (table.remove(slab)) {
      index.remove(slab);
      leaving.add(slab);
      try {
        leave(slab);
      } catch (RuntimeException e) {
        // Counted; the maintenance tries again and tells. It is no matter of whoever wants memory.
        LOG.log(Level.DEBUG, "a slab could not leave at once", e);
      }
    }
  }

  /**
   * Tries again to give back what devices had not forgotten.
   *
   * @throws RuntimeException the last failure, when all have been tried
   */
  void retryLeaving() {
    RuntimeException failure = null;
    for (Slab slab : leaving) {
      try {
        leave(slab);
      } catch (RuntimeException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** Unmaps a slab on its way out once no device can reach it. */
  private void leave(Slab slab) {
    if (forget(slab)) {
      slab.unmap();
      leaving.remove(slab);
    }
  }

  /** Returns true once no device can reach a slab, which gives its budget back. */
  private boolean forget(Slab slab) {
    synchronized (slab) {
      if (!slab.isForgotten() && factory.deregister(slab.memory())) {
        slab.markForgotten();
        factory.unreserve(slab.lengthBytes());
        if (slab.isFallback()) {
          fallbackSlabs.getAndDecrement();
        }
      }
      return slab.isForgotten();
    }
  }

  /** Returns the slabs whose memory has not been given back. */
  long mappedSlabs() {
    return Stream.concat(Arrays.stream(table.all()), leaving.stream())
        .filter(Slab::isMapped)
        .count();
  }

  /** Waits until no block is on lease and nothing else is in use, or the time is over. */
  void awaitReleases(long timeoutNs, BooleanSupplier isOtherInUse) {
    long startNs = System.nanoTime();
    while ((leasedBlocks() > 0 || isOtherInUse.getAsBoolean())
        && System.nanoTime() - startNs < timeoutNs
        && !Thread.currentThread().isInterrupted()) {
      LockSupport.parkNanos(this, LOOK_AGAIN_NS);
    }
  }

  private long leasedBlocks() {
    return Arrays.stream(table.all()).mapToLong(slab -> slab.leasedBlocks(states)).sum();
  }

  /**
   * Makes all devices forget all memory and unmaps it, but for slabs with blocks on lease, which
   * stay mapped until the last of them is released. Another call tries again what failed.
   *
   * @throws IllegalStateException naming the number of blocks on lease, the first time; other
   *     failures likewise, after everything else has been given back
   */
  void close() {
    table.close();
    index.clear();
    RuntimeException failure = null;
    long leased = 0;
    for (Slab slab : table.all()) {
      try {
        leased += close(slab);
      } catch (RuntimeException e) {
        failure = merged(failure, e);
      }
    }
    try {
      retryLeaving();
    } catch (RuntimeException e) {
      failure = merged(failure, e);
    }
    if (!leaving.isEmpty()) {
      failure = merged(failure, stillReachable(leavingBytes(), "of trimmed slabs"));
    }
    if (leased > 0) {
      failure = merged(stillLeased(leased), failure);
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** Returns the blocks still on lease. Memory that a device may still reach stays mapped. */
  private int close(Slab slab) {
    if (slab.isForgotten() && !slab.isMapped()) {
      return 0;
    }
    boolean again = slab.isForgotten();
    if (!forget(slab)) {
      throw stillReachable(slab.lengthBytes(), "at 0x%x".formatted(slab.address()));
    }
    int leased = slab.leasedBlocks(states);
    if (leased == 0) {
      slab.unmap();
    }
    return again ? 0 : leased;
  }

  private static IllegalStateException stillReachable(long bytes, String where) {
    return new IllegalStateException(
        "posted requests still use %d bytes %s, which stay registered and mapped; close again"
            .formatted(bytes, where));
  }

  private static IllegalStateException stillLeased(long blocks) {
    return new IllegalStateException(
        ("%d blocks were on lease when the pool was closed; their memory stays mapped until they"
                + " are released, but no device can reach it")
            .formatted(blocks));
  }

  static RuntimeException merged(
      @Nullable RuntimeException first, @Nullable RuntimeException next) {
    if (first == null || next == null) {
      return first == null ? Objects.requireNonNull(next) : first;
    }
    first.addSuppressed(next);
    return first;
  }

  /** Returns the bytes of slabs that devices have not forgotten yet. */
  long leavingBytes() {
    return leaving.stream().mapToLong(Slab::lengthBytes).sum();
  }

  /** Returns the bytes of slabs that are registered but of no use to anybody until revived. */
  long pendingBytes(SizeClassPool... classes) {
    return Arrays.stream(classes).mapToLong(SizeClassPool::pendingSlabBytes).sum();
  }

  /** Counts the fallback slabs whose first user is done, so that they serve everybody now. */
  void countAdoptions(LiveBlocks live) {
    for (Slab slab : table.all()) {
      if (slab.isFallback() && live.of(slab) == 0 && slab.adopt()) {
        adoptions.increment();
      }
    }
  }

  long adoptions() {
    return adoptions.sum();
  }
}
