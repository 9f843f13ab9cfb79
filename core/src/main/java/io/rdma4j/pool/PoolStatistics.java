package io.rdma4j.pool;

import java.util.List;

/**
 * What a pool holds and has done. At a quiet point (no thread inside the pool) the parts add up:
 * {@code registered = used + cached + free + pending} for every class; in between they are each
 * correct but taken one after the other.
 *
 * @param maxBytes the byte budget
 * @param classes one entry per block size, ascending; then the receive reserve, if there is one
 * @param registrations slabs registered so far, counted once per registrar
 * @param deregistrations registrations given back so far
 * @param deregistrationFailures refusals of a device to forget memory, which is kept
 * @param leavingBytes bytes out of the classes that a device has not forgotten yet
 * @param fallbacks blocks registered one by one for requests that could not wait
 * @param adoptions such blocks that serve everybody since
 * @param refusedReleases double, stale and foreign releases, each of which also failed loudly
 * @param exhausted allocations refused because the budget was spent
 * @param quarantinedBlocks blocks in use that nobody may touch, see {@link Quarantine}
 * @param threadCaches caches of live threads
 */
public record PoolStatistics(
    long maxBytes,
    List<SizeClass> classes,
    long registrations,
    long deregistrations,
    long deregistrationFailures,
    long leavingBytes,
    long fallbacks,
    long adoptions,
    long refusedReleases,
    long exhausted,
    long quarantinedBlocks,
    int threadCaches) {

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
   * @param freeBlocks free blocks in the shared list
   * @param pendingBlocks free blocks of slabs that are deregistered soon, unless wanted again
   * @param allocations blocks handed out so far
   * @param releases blocks given back so far
   * @param threadCacheHits allocations served from the thread's own cache
   * @param sharedHits allocations served from the shared list
   * @param steals times blocks were taken back from another thread's cache
   * @param growths slabs added so far
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
      long allocations,
      long releases,
      long threadCacheHits,
      long sharedHits,
      long steals,
      long growths) {}

  /** Returns the bytes registered now, all classes together. */
  public long registeredBytes() {
    return classes.stream().mapToLong(c -> c.registeredBlocks * c.blockBytes).sum();
  }

  /** Returns the bytes on lease, whole blocks counted. */
  public long usedBytes() {
    return classes.stream().mapToLong(c -> c.usedBlocks * c.blockBytes).sum();
  }

  /** Returns the free bytes kept by threads. */
  public long cachedBytes() {
    return classes.stream().mapToLong(c -> c.cachedBlocks * c.blockBytes).sum();
  }

  /** Returns the free bytes in the shared lists. */
  public long freeBytes() {
    return classes.stream().mapToLong(c -> c.freeBlocks * c.blockBytes).sum();
  }

  /** Returns the free bytes of slabs that are deregistered soon. */
  public long pendingBytes() {
    return classes.stream().mapToLong(c -> c.pendingBlocks * c.blockBytes).sum();
  }

  /** Returns 1 - used / registered bytes: 0 for a full pool and for an empty one, below 1 else. */
  public double fragmentation() {
    long registered = registeredBytes();
    return registered == 0 ? 0.0 : 1.0 - (double) usedBytes() / registered;
  }

  /**
   * Returns the share of allocations that the thread's own cache served, 1 when there were none.
   */
  public double threadCacheHitRate() {
    long allocations = classes.stream().mapToLong(SizeClass::allocations).sum();
    long hits = classes.stream().mapToLong(SizeClass::threadCacheHits).sum();
    return allocations == 0 ? 1.0 : (double) hits / allocations;
  }
}
