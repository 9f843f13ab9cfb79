package io.rdma4j.pool;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.internal.BlockHandle;
import io.rdma4j.pool.internal.BlockPool;
import io.rdma4j.pool.internal.LargeObject;
import io.rdma4j.pool.internal.LargeObjects;
import io.rdma4j.pool.internal.Magazine;
import io.rdma4j.pool.internal.SizeClasses;
import io.rdma4j.pool.internal.Slab;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.ReceiveMemory;
import io.rdma4j.status.MetricSource;
import io.rdma4j.status.TableSource;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lends blocks of memory that every registrar's device knows already.
 *
 * <p>Blocks are carved from slabs, each mapped and registered once; a thread keeps a few free
 * blocks for itself, so that allocating and releasing touches nothing shared. Safe for use by
 * several threads, virtual ones included; a block may be released by any thread.
 *
 * <p>An allocation succeeds while a block of the class is free anywhere, in another thread's cache
 * too, or while the byte budget allows another slab. One thread at a time grows a class, without a
 * lock that anybody else could meet.
 *
 * <p>The pool owns slabs and registrations, not the registrars; these must outlive it.
 */
public final class RegisteredBufferPool implements AutoCloseable {
  private final List<MemoryRegistrar> registrars;
  private final SizeClasses sizes;
  private final int receiveBlockBytes;
  private final long maxBytes;
  private final BlockPool blocks;

  private RegisteredBufferPool(
      PoolConfig config,
      List<? extends MemoryRegistrar> registrars,
      SystemRoot root,
      NanoClock clock,
      PoolProgress progress) {
    this.registrars = List.copyOf(registrars);
    this.sizes = new SizeClasses(config.blockSizes());
    this.receiveBlockBytes = config.receiveBlockSize();
    this.maxBytes = config.maxBytes();
    this.blocks = new BlockPool(config, sizes, this.registrars, root, clock, progress);
  }

  /**
   * Creates a pool and registers {@link PoolConfig#initialBytes}.
   *
   * @param registrars every slab is registered with each; none for plain memory
   * @throws io.rdma4j.Rdma4jException when a registration is refused, with the limit that was hit;
   *     nothing stays mapped or registered
   */
  public static RegisteredBufferPool create(
      PoolConfig config, List<? extends MemoryRegistrar> registrars) {
    return create(config, registrars, PoolProgress.NONE);
  }

  /**
   * Creates a pool and registers {@link PoolConfig#initialBytes} and the receive reserve, telling
   * how far it has come.
   *
   * @param progress called on this thread
   * @throws io.rdma4j.Rdma4jException as {@link #create(PoolConfig, List)}
   */
  public static RegisteredBufferPool create(
      PoolConfig config, List<? extends MemoryRegistrar> registrars, PoolProgress progress) {
    return new RegisteredBufferPool(
        config, registrars, SystemRoot.host(), NanoClock.SYSTEM, progress);
  }

  static RegisteredBufferPool create(
      PoolConfig config,
      List<? extends MemoryRegistrar> registrars,
      SystemRoot root,
      NanoClock clock) {
    return new RegisteredBufferPool(config, registrars, root, clock, PoolProgress.NONE);
  }

  /** Returns an empty lease for {@link #allocate(int, RegisteredBuffer)}. */
  public RegisteredBuffer newLease() {
    return new RegisteredBuffer(this);
  }

  /**
   * Lends a block in a new lease.
   *
   * @param lengthBytes 0 to {@link #maxBufferBytes}
   * @throws PoolExhaustedException when no block is free and the budget is spent
   * @throws IllegalArgumentException when the length is out of range
   * @throws io.rdma4j.Rdma4jException when the pool had to grow and the registration was refused
   * @throws IllegalStateException when the pool is closed
   */
  public RegisteredBuffer allocate(int lengthBytes) {
    RegisteredBuffer lease = newLease();
    allocate(lengthBytes, lease);
    return lease;
  }

  /**
   * Lends a block in the caller's own lease; makes no garbage.
   *
   * @param lease empty, of this pool
   * @throws PoolExhaustedException and others as {@link #allocate(int)}; the lease stays empty
   * @throws IllegalStateException when the lease holds a block
   */
  public void allocate(int lengthBytes, RegisteredBuffer lease) {
    if (!tryAllocate(lengthBytes, lease)) {
      throw exhausted(sizes.classOf(lengthBytes));
    }
  }

  /**
   * Lends a block in the caller's own lease unless the pool is exhausted.
   *
   * @return false when no block is free and the budget is spent; the lease stays empty
   * @throws RuntimeException for everything else that {@link #allocate(int, RegisteredBuffer)}
   *     throws
   */
  public boolean tryAllocate(int lengthBytes, RegisteredBuffer lease) {
    Magazine magazine = lease.magazine();
    if (magazine != null
        && magazine.serves(Thread.currentThread(), lengthBytes)
        && lease.isEmpty()
        && lease.pool() == this) {
      long handle = magazine.take();
      if (handle != BlockHandle.NONE) {
        lease.fill(handle, lengthBytes);
        return true;
      }
    }
    return tryAllocateSlow(lengthBytes, lease);
  }

  /** Allocates where the lease's last magazine is another thread's or class's, or has no block. */
  private boolean tryAllocateSlow(int lengthBytes, RegisteredBuffer lease) {
    checkEmpty(lease);
    int sizeClass = sizes.classOf(lengthBytes);
    Magazine magazine = blocks.own(lease.magazine(), sizeClass);
    long handle = blocks.take(sizeClass, magazine);
    if (handle == BlockHandle.NONE) {
      return false;
    }
    lease.fill(handle, lengthBytes);
    lease.magazine(magazine);
    return true;
  }

  /**
   * Lends a block for a receive in the caller's own lease, from the {@linkplain
   * PoolConfig#receiveReserveBlocks() blocks kept apart}, which senders never get; when all of
   * those are in use, or the length is greater, any block.
   *
   * @return false when there is none of either; the lease stays empty
   * @throws RuntimeException as {@link #tryAllocate}
   */
  public boolean tryAllocateReceive(int lengthBytes, RegisteredBuffer lease) {
    int reserve = blocks.reserveClass();
    if (reserve >= 0 && lengthBytes >= 0 && lengthBytes <= receiveBlockBytes) {
      checkEmpty(lease);
      Magazine magazine = blocks.own(lease.magazine(), reserve);
      long handle = blocks.takeReserved(magazine);
      if (handle != BlockHandle.NONE) {
        lease.fill(handle, lengthBytes);
        lease.magazine(magazine);
        return true;
      }
    }
    return tryAllocate(lengthBytes, lease);
  }

  /**
   * Lends a block for a receive in a new lease; see {@link #tryAllocateReceive}.
   *
   * @throws PoolExhaustedException and others as {@link #allocate(int)}
   */
  public RegisteredBuffer allocateReceive(int lengthBytes) {
    RegisteredBuffer lease = newLease();
    if (!tryAllocateReceive(lengthBytes, lease)) {
      throw exhausted(sizes.classOf(lengthBytes));
    }
    return lease;
  }

  /**
   * Returns this pool as memory for receives, in blocks {@linkplain
   * PoolConfig#receiveReserveBlocks() kept apart} as long as there are some, then in any blocks.
   *
   * @param maxMessageBytes the longest message that a receive has to hold, at most {@link
   *     #maxBufferBytes}
   */
  public ReceiveMemory receiveMemory(int maxMessageBytes) {
    sizes.classOf(maxMessageBytes);
    return new ReceiveBlocks(this, maxMessageBytes);
  }

  /** Takes a block for a receive without waiting for the pool to grow; 0 when none is free. */
  long takeFreeReceive(int lengthBytes) {
    int reserve = blocks.reserveClass();
    if (reserve >= 0 && lengthBytes <= receiveBlockBytes) {
      long handle = blocks.takeReserved(blocks.own(null, reserve));
      if (handle != BlockHandle.NONE) {
        return handle;
      }
    }
    int sizeClass = sizes.classOf(lengthBytes);
    return blocks.takeFree(sizeClass, blocks.own(null, sizeClass));
  }

  /**
   * Lends memory above the largest block, up to what the budget allows: mapped as a whole, on the
   * caller's NUMA node, and registered in segments by the pool's workers. This method waits for the
   * first segment only; see {@link LargeBuffer} for the others. What was released before is handed
   * out again when it fits, registered as it is.
   *
   * @param lengthBytes 1 to {@link PoolConfig#maxBytes}; below {@link #maxBufferBytes}, {@link
   *     #allocate(int)} is the better way
   * @throws PoolExhaustedException when the budget is spent: with {@link ExhaustionPolicy#WAIT}
   *     after the timeout, with the other policies at once; cached large objects and idle slabs
   *     have made room before that
   * @throws PoolGrowthException when a device refuses the first segment; nothing is left behind
   * @throws io.rdma4j.Rdma4jException when the kernel refuses the memory
   * @throws IllegalArgumentException when the length is out of range
   * @throws IllegalStateException when the pool is closed
   */
  public LargeBuffer allocateLarge(long lengthBytes) {
    if (lengthBytes < 1 || lengthBytes > maxBytes) {
      throw new IllegalArgumentException(
          "length of a large buffer must be 1 to %d bytes, the pool's budget (%s), was %d"
              .formatted(maxBytes, PoolConfig.MAX_BYTES, lengthBytes));
    }
    LargeObjects large = blocks.large();
    LargeObject object = large.allocate(lengthBytes);
    if (object == null) {
      throw new PoolExhaustedException(
          lengthBytes, maxBytes, large.budgetedBytes(), large.statistics(), large.waiters());
    }
    return new LargeBuffer(this, large, object, lengthBytes);
  }

  /** Returns what the pool holds and has done above its largest block size. */
  public LargeStatistics largeStatistics() {
    return blocks.large().statistics();
  }

  /**
   * Opens an arena over blocks of this pool, for the calling thread alone.
   *
   * @return to be closed by the same thread
   */
  public PooledArena openArena() {
    return new PooledArena(this, false);
  }

  /**
   * Opens an arena over blocks of this pool, for any thread. Closing it costs a handshake with all
   * threads, tens of microseconds.
   */
  public PooledArena openSharedArena() {
    return new PooledArena(this, true);
  }

  /**
   * Returns the registered memory that contains all of a segment, wherever the segment came from,
   * so that it can be sent without a copy. One search in a sorted table; makes no garbage.
   *
   * @return null when it is not this pool's, or no single registration holds all of it
   * @throws IllegalStateException when the segment's arena is closed
   */
  public @Nullable RegisteredRange find(MemorySegment segment) {
    if (!segment.isNative()) {
      return null;
    }
    if (!segment.scope().isAlive()) {
      throw new IllegalStateException("the arena of this segment is closed: " + segment);
    }
    RegisteredRange range = blocks.rangeAt(segment.address());
    return range != null && range.contains(segment.address(), segment.byteSize()) ? range : null;
  }

  /**
   * As {@link #find(MemorySegment)}, for the bytes from a direct buffer's position to its limit.
   */
  public @Nullable RegisteredRange find(ByteBuffer buffer) {
    return buffer.isDirect() ? find(MemorySegment.ofBuffer(buffer)) : null;
  }

  /**
   * Returns the registered memory that contains an address, null when it is not this pool's: to cut
   * a segment that spans several registrations. The caller holds the memory.
   */
  public @Nullable RegisteredRange findAddress(long address) {
    return blocks.rangeAt(address);
  }

  IllegalStateException refused(String what) {
    return blocks.refuse(what);
  }

  private void checkEmpty(RegisteredBuffer lease) {
    if (lease.pool() != this || !lease.isEmpty()) {
      throw new IllegalStateException(
          lease.pool() != this
              ? "this lease belongs to another pool"
              : "this lease still holds a block; release it first: " + lease);
    }
  }

  PoolExhaustedException exhausted(int sizeClass) {
    PoolStatistics now = statistics();
    return new PoolExhaustedException(
        sizes.blockBytes(sizeClass),
        now.maxBytes(),
        now.registeredBytes(),
        now.classes().get(sizeClass).usedBlocks(),
        blocks.waiters(sizeClass));
  }

  int waiters(int sizeClass) {
    return blocks.waiters(sizeClass);
  }

  /** Returns the large objects whose memory has not been given back, for tests. */
  int mappedLarge() {
    return blocks.large().mapped();
  }

  /** Returns the slabs whose memory has not been given back, for tests. */
  long mappedSlabs() {
    return blocks.mappedSlabs();
  }

  /**
   * Makes the calling thread's own way to blocks of one size.
   *
   * @param lengthBytes 0 to {@link #maxBufferBytes}; the blocks are of the smallest class that
   *     holds it
   * @throws UnsupportedOperationException on a virtual thread: there may be too many of them for a
   *     cache each
   */
  public PoolView view(int lengthBytes) {
    int sizeClass = sizes.classOf(lengthBytes);
    Magazine magazine = blocks.own(null, sizeClass);
    if (magazine == null) {
      throw new UnsupportedOperationException(
          Thread.currentThread()
              + " can not have a view: it is virtual, or one of too many; use allocate(length,"
              + " lease)");
    }
    return new PoolView(this, blocks, magazine, sizes.blockBytes(sizeClass));
  }

  /**
   * Returns the memory of a block that is held by handle, valid until its release.
   *
   * @throws IllegalStateException for a handle that is not in force here
   */
  public MemorySegment segment(long handle) {
    return blocks.slabOfLease(handle).segment(blocks.indexOf(handle));
  }

  /** Returns the largest length that can be allocated. */
  public int maxBufferBytes() {
    return sizes.maxBlockBytes();
  }

  /**
   * Gives back a block that is held by handle.
   *
   * @param handle from {@link RegisteredBuffer#detach}
   * @throws IllegalStateException for a handle that was released before or never came from this
   *     pool; nothing is changed, and the pool counts it
   */
  public void release(long handle) {
    blocks.release(handle);
  }

  /**
   * Moves a block that is held by handle into an empty lease: the reverse of {@link
   * RegisteredBuffer#detach}. The handle must not be used any more.
   *
   * @throws IllegalStateException for a handle that is not in force here, or a lease that holds a
   *     block
   */
  public void attach(long handle, int lengthBytes, RegisteredBuffer lease) {
    checkEmpty(lease);
    long capacity = segment(handle).byteSize();
    if (lengthBytes < 0 || lengthBytes > capacity) {
      throw new IllegalArgumentException(
          "length must be 0 to %d bytes, the block, was %d".formatted(capacity, lengthBytes));
    }
    lease.fill(handle, lengthBytes);
  }

  /** Releases what the calling thread's magazine did not take back. */
  void releaseSlow(long handle, Magazine magazine) {
    blocks.releaseSlow(handle, magazine);
  }

  boolean isLeased(long handle) {
    return blocks.isLeased(handle);
  }

  Slab slabOf(long handle) {
    return blocks.slabOf(handle);
  }

  int indexOf(long handle) {
    return blocks.indexOf(handle);
  }

  /**
   * Opens a place for buffers that nobody may use again before their peer can not reach them any
   * more.
   *
   * @param owner for messages, for example the connection
   */
  public Quarantine openQuarantine(String owner) {
    return new Quarantine(this, blocks, owner);
  }

  /**
   * Returns the place of a registrar in the list the pool was created with.
   *
   * @throws IllegalArgumentException when the pool's memory is not registered there
   */
  public int indexOf(MemoryRegistrar registrar) {
    for (int i = 0; i < registrars.size(); i++) {
      if (registrars.get(i).equals(registrar)) {
        return i;
      }
    }
    throw new IllegalArgumentException(
        "this pool's memory is not registered with %s, only with %s"
            .formatted(registrar.name(), registrars.stream().map(MemoryRegistrar::name).toList()));
  }

  /** Returns what the pool holds and has done; any thread, never fails, costs no other thread. */
  public PoolStatistics statistics() {
    return blocks.census().statistics();
  }

  /**
   * Returns how warm each slab is, looked at now; none once the pool is closed. Any thread; waits
   * for a round of maintenance that is under way.
   */
  public HeatTable heat() {
    return blocks.heat();
  }

  /** Returns the heat table as a table of a {@link io.rdma4j.status.StatusRegistry}. */
  public TableSource heatTable() {
    return new HeatTableSource(this);
  }

  /**
   * Returns the pool's metrics, for a {@link io.rdma4j.status.StatusRegistry} that has no other
   * pool. The registration is to be closed before the pool, or reads a closed pool.
   */
  public MetricSource metrics() {
    return new PoolMetrics(this, null);
  }

  /**
   * Returns the pool's metrics with a label {@code pool} before all others, for a registry with
   * several pools.
   *
   * @param poolLabel its value, different for each pool
   */
  public MetricSource metrics(String poolLabel) {
    return new PoolMetrics(this, poolLabel);
  }

  /**
   * Gives the blocks that ended threads kept back to everybody, and forgets those threads. An
   * allocation does so by itself before the pool grows; calling this now and then, from any thread,
   * makes it show in {@link #statistics} earlier.
   *
   * @return the number of threads that had ended
   */
  public int maintain() {
    return blocks.maintain();
  }

  /**
   * Makes every device forget the pool's memory and unmaps it. Blocks still on lease stay mapped,
   * slab by slab, until their last one is released, so that nobody's memory vanishes under them; no
   * device can reach them any more. Idempotent.
   *
   * @throws IllegalStateException naming the number of blocks still on lease, after everything else
   *     has been given back
   */
  @Override
  public void close() {
    blocks.close();
  }
}
