package io.rdma4j.pool;

import io.rdma4j.status.Distribution;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * What a pool holds and has done. At a quiet point (no thread inside the pool) the parts add up,
 * for every class:
 *
 * <pre>
 *  registered  = used + cached + free + pending
 *  used        = allocations - releases
 *  allocations = threadCacheHits + sharedHits + fallbacks
 *  each count of blocks = its sum over the nodes
 * </pre>
 *
 * <p>In between they are each correct but taken one after the other. Immutable.
 *
 * @param maxBytes the byte budget
 * @param budgetedBytes bytes of the budget that are taken: all slabs, those being registered, those
 *     that a device has not forgotten yet, and the ends of slabs that no block fits into
 * @param classes one entry per block size, ascending; then the receive reserve, if there is one
 * @param registrationFailures registrations that a device refused
 * @param deregistrationFailures attempts to deregister that a device refused; it is asked again
 * @param adoptions blocks registered for one request that serve everybody now
 * @param refusedReleases double, stale and foreign releases, each of which also failed loudly
 * @param quarantinedBlocks blocks in use that nobody may touch, see {@link Quarantine}
 * @param threadCaches caches of live threads
 * @param allocationTimes how long allocations took. Those that a thread's cache serves are timed
 *     one in {@link PoolConfig#sampleEvery} and count as many times, all others are timed and count
 *     once. Reading the clock is part of it. Empty when {@code sampleEvery} is 0
 * @param registrationTimes how long the registrations took that succeeded, one per slab and
 *     registrar
 * @param deregistrationTimes how long it took devices to forget, likewise
 */
public record PoolStatistics(
    long maxBytes,
    long budgetedBytes,
    List<SizeClass> classes,
    long registrationFailures,
    long deregistrationFailures,
    long adoptions,
    long refusedReleases,
    long quarantinedBlocks,
    int threadCaches,
    Distribution allocationTimes,
    Distribution registrationTimes,
    Distribution deregistrationTimes) {

  /** Copies the list. */
  public PoolStatistics {
    classes = List.copyOf(classes);
  }

  /**
   * One block size. All block counts are of blocks of {@code blockBytes}.
   *
   * @param blockBytes size of a block
   * @param reserve whether the blocks are kept apart for receives
   * @param slabs slabs registered now
   * @param registeredBlocks blocks in them
   * @param usedBlocks blocks on lease, or held by handle
   * @param cachedBlocks free blocks kept by threads
   * @param freeBlocks free blocks in the shared lists
   * @param pendingBlocks free blocks of slabs that wait for deregistration or for being wanted
   *     again
   * @param nodes the same by NUMA node: one entry, of an unknown node, on a machine of one node
   * @param releases blocks given back so far
   * @param threadCacheHits allocations served from the thread's own cache
   * @param sharedHits allocations served from the shared list
   * @param fallbacks allocations that registered a block of their own
   * @param steals times blocks were taken back from another thread's cache
   * @param growths slabs added on demand or ahead of it
   * @param trims slabs that left, idle or to make room for another class
   * @param revivals slabs wanted again while they were pending
   * @param crossNodeBlocks blocks taken from another node's list than the caller's nearest
   * @param exhausted allocations refused because the budget was spent
   * @param waiters threads that wait for a block now
   */
  public record SizeClass(
      int blockBytes,
      boolean reserve,
      int slabs,
      long registeredBlocks,
      long usedBlocks,
      long cachedBlocks,
      long freeBlocks,
      long pendingBlocks,
      List<Node> nodes,
      long releases,
      long threadCacheHits,
      long sharedHits,
      long fallbacks,
      long steals,
      long growths,
      long trims,
      long revivals,
      long crossNodeBlocks,
      long exhausted,
      int waiters) {

    /** Copies the list. */
    public SizeClass {
      nodes = List.copyOf(nodes);
    }

    /** Returns the blocks handed out so far. */
    public long allocations() {
      return threadCacheHits + sharedHits + fallbacks;
    }
  }

  /**
   * The blocks of one class on one NUMA node; block counts as in {@link SizeClass}.
   *
   * @param node the node's number, {@link #UNKNOWN} when not known or of no matter
   * @param leavingBytes bytes of slabs that left the class and that a device has not forgotten yet;
   *     not among the registered blocks
   */
  public record Node(
      int node,
      long registeredBlocks,
      long usedBlocks,
      long cachedBlocks,
      long freeBlocks,
      long pendingBlocks,
      long leavingBytes) {

    /** Stands for a node that is not known. */
    public static final int UNKNOWN = -1;
  }

  /** Returns the bytes registered now, all classes together. */
  public long registeredBytes() {
    return bytes(SizeClass::registeredBlocks);
  }

  /** Returns the bytes on lease, whole blocks counted. */
  public long usedBytes() {
    return bytes(SizeClass::usedBlocks);
  }

  /** Returns the free bytes kept by threads. */
  public long cachedBytes() {
    return bytes(SizeClass::cachedBlocks);
  }

  /** Returns the free bytes in the shared lists. */
  public long freeBytes() {
    return bytes(SizeClass::freeBlocks);
  }

  /** Returns the free bytes of pending slabs. */
  public long pendingBytes() {
    return bytes(SizeClass::pendingBlocks);
  }

  /** Returns the bytes out of the classes that a device has not forgotten yet. */
  public long leavingBytes() {
    return sum(c -> c.nodes.stream().mapToLong(Node::leavingBytes).sum());
  }

  private long bytes(ToLongFunction<SizeClass> blocks) {
    return sum(c -> blocks.applyAsLong(c) * c.blockBytes);
  }

  private long sum(ToLongFunction<SizeClass> count) {
    return classes.stream().mapToLong(count).sum();
  }

  /** Returns the blocks handed out so far. */
  public long allocations() {
    return sum(SizeClass::allocations);
  }

  /** Returns the allocations that registered a block of their own. */
  public long fallbacks() {
    return sum(SizeClass::fallbacks);
  }

  /** Returns the allocations refused because the budget was spent. */
  public long exhausted() {
    return sum(SizeClass::exhausted);
  }

  /** Returns the registrations so far, counted once per registrar. */
  public long registrations() {
    return registrationTimes.count();
  }

  /** Returns the registrations given back so far. */
  public long deregistrations() {
    return deregistrationTimes.count();
  }

  /** Returns 1 - used / registered bytes: 0 for a full pool and for an empty one, below 1 else. */
  public double fragmentation() {
    long registered = registeredBytes();
    return registered == 0 ? 0.0 : Math.max(0.0, 1.0 - (double) usedBytes() / registered);
  }

  /**
   * Returns the share of allocations that the thread's own cache served, 1 when there were none.
   */
  public double threadCacheHitRate() {
    return allocations() == 0 ? 1.0 : share(SizeClass::threadCacheHits);
  }

  /** Returns the share of allocations that the shared lists served, 0 when there were none. */
  public double sharedHitRate() {
    return share(SizeClass::sharedHits);
  }

  /** Returns the share of allocations that registered their own block, 0 when there were none. */
  public double fallbackRate() {
    return share(SizeClass::fallbacks);
  }

  private double share(ToLongFunction<SizeClass> count) {
    long allocations = allocations();
    return allocations == 0 ? 0.0 : (double) sum(count) / allocations;
  }
}
