package io.rdma4j.pool.internal;

import java.util.Arrays;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One size class: its shared lists, one for each NUMA node; its pending slabs; the way of blocks
 * between lists and caches; and what was counted on the way.
 *
 * <p>Safe for use by several threads. No method is called while holding a cache.
 */
final class SizeClassPool {
  static final int NONE = BlockLinks.NONE;

  private final int sizeClass;
  private final int leastBytes;
  private final int blockBytes;
  private final boolean reserve;
  private final int maxCached;
  private final SlabTable table;
  private final BlockLinks links;
  private final BlockStates states;
  private final NumaPolicy numa;
  private final AllocationTimes allocationTimes;
  private final FreeLists[] free;
  private final Transfers transfers = new Transfers();
  private final Growth growth;
  private final ConcurrentLinkedDeque<Slab> pending = new ConcurrentLinkedDeque<>();
  private final AtomicLong registeredBlocks = new AtomicLong();
  private final LongAdder slowAllocations = new LongAdder();
  private final LongAdder slowReleases = new LongAdder();
  private final LongAdder crossNode = new LongAdder();
  private final LongAdder steals = new LongAdder();
  private final LongAdder exhausted = new LongAdder();
  private final LongAdder revivals = new LongAdder();
  private final LongAdder fallbacks = new LongAdder();
  private final LongAdder trims = new LongAdder();

  /**
   * Most blocks that a cache keeps now. Halved each time blocks had to be stolen, so that in scarce
   * times surplus reaches the shared lists by itself; back at the maximum once plenty are free.
   */
  private volatile int cacheLimit;

  private volatile boolean sorting;

  SizeClassPool(
      int sizeClass,
      int leastBytes,
      int blockBytes,
      boolean reserve,
      int maxCached,
      Slabs slabs,
      NumaPolicy numa,
      Workers workers) {
    this.sizeClass = sizeClass;
    this.leastBytes = leastBytes;
    this.blockBytes = blockBytes;
    this.reserve = reserve;
    this.maxCached = maxCached;
    this.table = slabs.table();
    this.links = slabs.links();
    this.states = slabs.states();
    this.numa = numa;
    this.allocationTimes = slabs.allocationTimes();
    this.free = new FreeLists[numa.lists()];
    Arrays.setAll(free, node -> new FreeLists(links));
    this.growth = new Growth(workers);
    this.cacheLimit = maxCached;
  }

  int sizeClass() {
    return sizeClass;
  }

  /** Returns the least length that is served from this class and not from a smaller one. */
  int leastBytes() {
    return leastBytes;
  }

  int blockBytes() {
    return blockBytes;
  }

  /** Returns true for the blocks kept apart for receives: as many as there are, for ever. */
  boolean isReserve() {
    return reserve;
  }

  int cacheLimit() {
    return cacheLimit;
  }

  BlockLinks links() {
    return links;
  }

  Growth growth() {
    return growth;
  }

  AllocationTimes allocationTimes() {
    return allocationTimes;
  }

  /**
   * Leases a block from the shared lists, and keeps more in the cache.
   *
   * @param node where the caller runs; its own list first, then the nearest
   * @param caches the number of caches that want their share
   * @return the block's handle, {@link BlockHandle#NONE} when the lists are empty
   */
  long refill(BlockCache cache, int node, int caches) {
    if (isListEmpty()) {
      return BlockHandle.NONE;
    }
    transfers.begin();
    cache.hold();
    try {
      long freeBefore = freeBlocks();
      int batch = pop(node);
      if (batch == NONE) {
        return BlockHandle.NONE;
      }
      int blocks = links.count(batch);
      long extra = Math.min(cacheLimit / 2, freeBefore / (caches + 1) - 1);
      int rest = cache.fill(links.next(batch), (int) Math.max(0, extra));
      if (rest != NONE) {
        links.setCount(rest, links.lengthOf(rest));
        push(rest);
      }
      if (cacheLimit < maxCached && freeBefore - blocks >= (long) maxCached * (caches + 1)) {
        cacheLimit = maxCached;
      }
      slowAllocations.increment();
      return states.lease(batch, sizeClass);
    } finally {
      cache.letGo();
      transfers.end();
    }
  }

  private int pop(int node) {
    int[] nearest = numa.nearest(node);
    for (int i = 0; i < nearest.length; i++) {
      int batch = free[nearest[i]].pop();
      if (batch != NONE) {
        if (i > 0) {
          crossNode.add(links.count(batch));
        }
        return batch;
      }
    }
    return NONE;
  }

  /** Gives a batch to the lists: each block to its node's, and behind others if its slab is. */
  private void push(int batch) {
    if (free.length == 1 && !sorting) {
      free[0].push(batch);
      return;
    }
    // More than once only if the reaper changes its mind about a slab meanwhile.
    while (batch != NONE) {
      for (int list = 0; list < free.length; list++) {
        batch = pushPart(batch, list, true);
        batch = pushPart(batch, list, false);
      }
    }
  }

  /** Gives those blocks of a chain to a list that belong there; returns the others. */
  private int pushPart(int chain, int list, boolean preferred) {
    int part = NONE;
    int count = 0;
    int others = NONE;
    for (int block = chain; block != NONE; ) {
      int next = links.next(block);
      Slab slab = table.slabOf(block);
      if (numa.listOf(slab.node()) == list && slab.heat().isPreferred() == preferred) {
        links.setNext(block, part);
        part = block;
        count++;
      } else {
        links.setNext(block, others);
        others = block;
      }
      block = next;
    }
    if (part != NONE) {
      links.setCount(part, count);
      if (preferred) {
        free[list].push(part);
      } else {
        free[list].pushLast(part);
      }
    }
    return others;
  }

  /** Sets whether some slabs' blocks are to be handed out after those of others. */
  void sorting(boolean wanted) {
    sorting = wanted;
  }

  /** Gives a free block of the calling thread back through a cache that does not take it. */
  void release(BlockCache cache, int block) {
    transfers.begin();
    cache.hold();
    try {
      pushIfAny(cache.drain(cacheLimit / 2));
      if (!cache.keep(block)) {
        slowReleases.increment();
        links.setNext(block, NONE);
        links.setCount(block, 1);
        push(block);
      }
    } finally {
      cache.letGo();
      transfers.end();
    }
  }

  /** Moves all blocks of a cache to the shared lists, whoever holds it; false if it had none. */
  boolean takeBack(BlockCache cache) {
    if (cache.count() == 0) {
      return false;
    }
    transfers.begin();
    try {
      return pushIfAny(cache.takeAll());
    } finally {
      transfers.end();
    }
  }

  /** Has caches keep fewer blocks, after a search that had to take some away. */
  void keepLess() {
    int limit = cacheLimit;
    cacheLimit = limit / 2;
  }

  /** Takes blocks back from a cache whose holder may still want them. */
  boolean steal(BlockCache cache) {
    if (!takeBack(cache)) {
      return false;
    }
    steals.increment();
    return true;
  }

  /** Gives back blocks of a slab that others are to be preferred to. */
  void pushLast(Slab slab, int batch) {
    free[numa.listOf(slab.node())].pushLast(batch);
  }

  private boolean pushIfAny(int batch) {
    if (batch == NONE) {
      return false;
    }
    push(batch);
    return true;
  }

  /** Adds a new slab's blocks in batches, such that the first blocks are handed out first. */
  void addAll(Slab slab) {
    registeredBlocks.getAndAdd(slab.blocks());
    pushBlocks(slab);
  }

  /** Adds a slab whose one block is on lease from the start; returns its handle. */
  long addLeased(Slab slab) {
    registeredBlocks.getAndAdd(slab.blocks());
    slowAllocations.increment();
    fallbacks.increment();
    return states.lease(slab.firstBlock(), sizeClass);
  }

  private void pushBlocks(Slab slab) {
    int batchBlocks = batchBlocks();
    transfers.begin();
    try {
      int end = slab.blocks();
      while (end > 0) {
        int start = (end - 1) / batchBlocks * batchBlocks;
        int batch = NONE;
        for (int i = end - 1; i >= start; i--) {
          links.setNext(slab.firstBlock() + i, batch);
          batch = slab.firstBlock() + i;
        }
        links.setCount(batch, end - start);
        push(batch);
        end = start;
      }
    } finally {
      transfers.end();
    }
  }

  /** Makes a slab pending whose blocks have all been withdrawn from the lists. */
  void suspend(Slab slab, long nowNs) {
    slab.heat().suspendedAt(nowNs);
    if (slab.move(Slab.State.ACTIVE, Slab.State.PENDING)) {
      pending.addLast(slab);
    }
  }

  /** Returns the pending slabs, the one that has been so for longest first. */
  Iterable<Slab> pending() {
    return pending;
  }

  /** Puts the slab that became pending last back to work; false when there is none. */
  boolean revive() {
    if (pending.isEmpty()) {
      return false;
    }
    transfers.begin();
    try {
      for (Slab slab = pending.pollLast(); slab != null; slab = pending.pollLast()) {
        if (slab.move(Slab.State.PENDING, Slab.State.ACTIVE)) {
          revivals.increment();
          pushBlocks(slab);
          return true;
        }
      }
      return false;
    } finally {
      transfers.end();
    }
  }

  /** Takes the oldest pending slab out of the class for good, null when there is none. */
  @Nullable Slab retireOldest() {
    for (Slab slab : pending) {
      if (retire(slab)) {
        return slab;
      }
    }
    return null;
  }

  /** Takes a pending slab out of the class for good; false when it is wanted again. */
  boolean retire(Slab slab) {
    boolean retired = slab.move(Slab.State.PENDING, Slab.State.GONE);
    if (retired) {
      trims.increment();
      registeredBlocks.getAndAdd(-slab.blocks());
      pending.remove(slab);
    }
    return retired;
  }

  Transfers transfers() {
    return transfers;
  }

  FreeLists[] freeLists() {
    return free;
  }

  int batchBlocks() {
    return Math.max(1, maxCached / 2);
  }

  private boolean isListEmpty() {
    for (FreeLists lists : free) {
      if (!lists.isEmpty()) {
        return false;
      }
    }
    return true;
  }

  /** Returns a mark for {@link #isEmptySince}, taken before a search through the caches. */
  long mark() {
    return transfers.mark();
  }

  /**
   * Returns true when a search that found no cached block since the mark can not have missed one.
   */
  boolean isEmptySince(long mark) {
    return isListEmpty() && pending.isEmpty() && transfers.isQuietSince(mark);
  }

  void countExhausted() {
    exhausted.increment();
  }

  /** Counts a release that no cache kept, of a pool that is closed. */
  void countSlowRelease() {
    slowReleases.increment();
  }

  long freeBlocks() {
    long blocks = 0;
    for (FreeLists lists : free) {
      blocks += lists.freeBlocks();
    }
    return blocks;
  }

  long freeBlocks(int list) {
    return free[list].freeBlocks();
  }

  long pendingBlocks() {
    long blocks = 0;
    for (Slab slab : pending) {
      blocks += slab.state() == Slab.State.PENDING ? slab.blocks() : 0;
    }
    return blocks;
  }

  long pendingSlabBytes() {
    long bytes = 0;
    for (Slab slab : pending) {
      bytes += slab.state() == Slab.State.PENDING ? slab.lengthBytes() : 0;
    }
    return bytes;
  }

  long registeredBlocks() {
    return registeredBlocks.get();
  }

  long slowAllocations() {
    return slowAllocations.sum();
  }

  long slowReleases() {
    return slowReleases.sum();
  }

  long crossNode() {
    return crossNode.sum();
  }

  long steals() {
    return steals.sum();
  }

  long exhausted() {
    return exhausted.sum();
  }

  long revivals() {
    return revivals.sum();
  }

  /** Returns the allocations among {@link #slowAllocations} that registered their own block. */
  long fallbacks() {
    return fallbacks.sum();
  }

  /** Returns the slabs that left the class. */
  long trims() {
    return trims.sum();
  }
}
