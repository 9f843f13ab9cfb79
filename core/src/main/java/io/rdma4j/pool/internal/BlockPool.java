package io.rdma4j.pool.internal;

import io.rdma4j.os.Mapping;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Hands out block numbers and takes them back. Safe for use by several threads. */
public final class BlockPool {
  private static final AtomicInteger POOLS = new AtomicInteger();
  private static final int NONE = -1;

  private final PoolConfig config;
  private final SizeClasses sizes;
  private final List<MemoryRegistrar> registrars;
  private final int firstGeneration = BlockHandle.firstGeneration(POOLS.incrementAndGet());
  private final int indexBits;
  private final int[][] stacks;
  private final int[] tops;
  private final long[] allocations;
  private final long[] releases;
  private volatile Slab[] slabs = {};
  private long refused;
  private long exhausted;
  private boolean closed;

  /** Creates the pool and its first slabs. */
  public BlockPool(
      PoolConfig config, SizeClasses sizes, List<MemoryRegistrar> registrars, SystemRoot root) {
    this.config = config;
    this.sizes = sizes;
    this.registrars = registrars;
    this.indexBits =
        32 - Integer.numberOfLeadingZeros(config.slabBytes() / sizes.blockBytes(0) - 1);
    this.stacks = new int[sizes.count()][0];
    this.tops = new int[sizes.count()];
    this.allocations = new long[sizes.count()];
    this.releases = new long[sizes.count()];
  }

  /** Returns a block that is the caller's alone, or a negative number when exhausted. */
  public synchronized int take(int sizeClass) {
    if (closed) {
      throw new IllegalStateException("the pool is closed");
    }
    if (tops[sizeClass] == 0 && !grow(sizeClass)) {
      exhausted++;
      return NONE;
    }
    allocations[sizeClass]++;
    return stacks[sizeClass][--tops[sizeClass]];
  }

  private boolean grow(int sizeClass) {
    if ((slabs.length + 1L) * config.slabBytes() > config.maxBytes()) {
      return false;
    }
    Mapping mapping = Mapping.anonymous(config.slabBytes(), Mapping.Option.POPULATE);
    List<Registration> registrations = new ArrayList<>();
    try {
      for (MemoryRegistrar registrar : registrars) {
        registrations.add(registrar.register(mapping.address(), mapping.lengthBytes()));
      }
    } catch (RuntimeException e) {
      Slab.closeAll(registrations);
      mapping.close();
      throw e;
    }
    Slab slab =
        Slab.carve(
            slabs.length,
            sizeClass,
            sizes.blockBytes(sizeClass),
            firstGeneration,
            mapping,
            registrations);
    Slab[] grown = Arrays.copyOf(slabs, slabs.length + 1);
    grown[slab.number()] = slab;
    slabs = grown;
    stacks[sizeClass] = Arrays.copyOf(stacks[sizeClass], stacks[sizeClass].length + slab.blocks());
    for (int i = slab.blocks() - 1; i >= 0; i--) {
      stacks[sizeClass][tops[sizeClass]++] = slab.number() << indexBits | i;
    }
    return true;
  }

  /** Returns the slab of a block that was handed out. */
  public Slab slabOf(int block) {
    return slabs[block >>> indexBits];
  }

  /** Returns a block's place in its slab. */
  public int indexOf(int block) {
    return block & (1 << indexBits) - 1;
  }

  /** Returns the slab of a lease in force. */
  public Slab slabOfLease(long handle) {
    int block = BlockHandle.block(handle);
    int number = block >>> indexBits;
    Slab[] known = slabs;
    if (block >= 0 && number < known.length && indexOf(block) < known[number].blocks()) {
      if (known[number].isLeased(indexOf(block), BlockHandle.generation(handle))) {
        return known[number];
      }
    }
    throw refuse(handle);
  }

  /** Takes a block back by its handle. */
  public synchronized void release(long handle) {
    Slab slab = slabOfLease(handle);
    int block = BlockHandle.block(handle);
    if (!slab.endLease(indexOf(block), BlockHandle.generation(handle))) {
      throw refuse(handle);
    }
    int sizeClass = slab.sizeClass();
    releases[sizeClass]++;
    stacks[sizeClass][tops[sizeClass]++] = block;
    if (closed && slab.leasedBlocks() == 0) {
      slab.unmap();
    }
  }

  private synchronized IllegalStateException refuse(long handle) {
    refused++;
    return new IllegalStateException(
        "handle 0x%x is not on lease here: released before, or of another pool".formatted(handle));
  }

  /** Returns the threads that wait for a class to grow. */
  public int waiters(int sizeClass) {
    return 0;
  }

  /** Returns what the pool holds and has done. */
  public synchronized PoolStatistics statistics() {
    List<PoolStatistics.SizeClass> classes = new ArrayList<>();
    for (int c = 0; c < sizes.count(); c++) {
      int count = 0;
      long registered = 0;
      for (Slab slab : slabs) {
        if (slab.sizeClass() == c) {
          count++;
          registered += slab.blocks();
        }
      }
      classes.add(
          new PoolStatistics.SizeClass(
              sizes.blockBytes(c),
              count,
              registered,
              allocations[c] - releases[c],
              0,
              tops[c],
              allocations[c],
              releases[c],
              0,
              allocations[c],
              0,
              count));
    }
    long registrations = (long) slabs.length * registrars.size();
    return new PoolStatistics(
        config.maxBytes(),
        classes,
        registrations,
        closed ? registrations : 0,
        refused,
        exhausted,
        0);
  }

  /** Gives everything back. */
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    int leased = 0;
    for (Slab slab : slabs) {
      slab.deregister();
      if (slab.leasedBlocks() == 0) {
        slab.unmap();
      }
      leased += slab.leasedBlocks();
    }
    if (leased > 0) {
      throw new IllegalStateException(leased + " blocks were still on lease when the pool closed");
    }
  }
}
