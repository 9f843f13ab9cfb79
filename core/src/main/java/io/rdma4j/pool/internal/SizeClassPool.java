package io.rdma4j.pool.internal;

import java.util.concurrent.atomic.LongAdder;

/**
 * One size class: its shared list, the way of blocks between list and caches, and what was counted
 * on the way.
 *
 * <p>Safe for use by several threads. No method is called while holding a cache.
 */
final class SizeClassPool {
  static final int NONE = BlockLinks.NONE;

  private final int sizeClass;
  private final int maxCached;
  private final BlockLinks links;
  private final SharedList free;
  private final Transfers transfers = new Transfers();
  private final Growth growth = new Growth();
  private final LongAdder slowAllocations = new LongAdder();
  private final LongAdder slowReleases = new LongAdder();
  private final LongAdder steals = new LongAdder();
  private final LongAdder exhausted = new LongAdder();

  /**
   * Most blocks that a cache keeps now. Halved each time blocks had to be stolen, so that in scarce
   * times surplus reaches the shared list by itself; back at the maximum once plenty are free.
   */
  private volatile int cacheLimit;

  SizeClassPool(int sizeClass, int maxCached, BlockLinks links) {
    this.sizeClass = sizeClass;
    this.maxCached = maxCached;
    this.links = links;
    this.free = new SharedList(links);
    this.cacheLimit = maxCached;
  }

  int cacheLimit() {
    return cacheLimit;
  }

  Growth growth() {
    return growth;
  }

  /**
   * Takes a block from the shared list, and more for the cache.
   *
   * @param caches the number of caches that want their share
   */
  int refill(BlockCache cache, int caches) {
    if (free.isEmpty()) {
      return NONE;
    }
    transfers.begin();
    cache.hold();
    try {
      int freeBefore = free.freeBlocks();
      int batch = free.pop();
      if (batch == NONE) {
        return NONE;
      }
      int blocks = links.count(batch);
      int extra = Math.min(cacheLimit / 2, freeBefore / (caches + 1) - 1);
      int rest = cache.fill(sizeClass, links.next(batch), Math.max(0, extra), links);
      if (rest != NONE) {
        links.setCount(rest, lengthOf(rest));
        free.push(rest);
      }
      if (cacheLimit < maxCached && freeBefore - blocks >= maxCached * (caches + 1)) {
        cacheLimit = maxCached;
      }
      slowAllocations.increment();
      return batch;
    } finally {
      cache.letGo();
      transfers.end();
    }
  }

  private int lengthOf(int chain) {
    int length = 0;
    for (int block = chain; block != NONE; block = links.next(block)) {
      length++;
    }
    return length;
  }

  /** Gives a block back through a cache that is full: makes room first, by a batch. */
  void release(BlockCache cache, int block) {
    transfers.begin();
    cache.hold();
    try {
      pushIfAny(cache.drainHalf(sizeClass, links));
      if (!cache.push(sizeClass, block, cacheLimit)) {
        slowReleases.increment();
        links.setNext(block, NONE);
        links.setCount(block, 1);
        free.push(block);
      }
    } finally {
      cache.letGo();
      transfers.end();
    }
  }

  /** Moves all blocks of a cache to the shared list, whoever holds it; false if there were none. */
  boolean takeBack(BlockCache cache) {
    if (cache.count(sizeClass) == 0) {
      return false;
    }
    transfers.begin();
    try {
      return pushIfAny(cache.takeAll(sizeClass, links));
    } finally {
      transfers.end();
    }
  }

  /** Takes blocks back from a cache whose holder may still want them. */
  boolean steal(BlockCache cache) {
    if (!takeBack(cache)) {
      return false;
    }
    int limit = cacheLimit;
    cacheLimit = limit / 2;
    steals.increment();
    return true;
  }

  private boolean pushIfAny(int batch) {
    if (batch == NONE) {
      return false;
    }
    free.push(batch);
    return true;
  }

  /** Adds a new slab's blocks in batches, such that the first blocks are handed out first. */
  void addAll(SlabTable table, Slab slab) {
    int batchBlocks = Math.max(1, maxCached / 2);
    transfers.begin();
    try {
      int lastStart = (slab.blocks() - 1) / batchBlocks * batchBlocks;
      for (int start = lastStart; start >= 0; start -= batchBlocks) {
        int end = Math.min(slab.blocks(), start + batchBlocks);
        int batch = NONE;
        for (int i = end - 1; i >= start; i--) {
          int block = table.blockOf(slab, i);
          links.setNext(block, batch);
          batch = block;
        }
        links.setCount(batch, end - start);
        free.push(batch);
      }
    } finally {
      transfers.end();
    }
  }

  /** Returns a mark for {@link #isEmptySince}, taken before a search through the caches. */
  long mark() {
    return transfers.mark();
  }

  /**
   * Returns true when a search that found no cached block since the mark can not have missed one.
   */
  boolean isEmptySince(long mark) {
    return free.isEmpty() && transfers.isQuietSince(mark);
  }

  void countExhausted() {
    exhausted.increment();
  }

  int freeBlocks() {
    return free.freeBlocks();
  }

  long slowAllocations() {
    return slowAllocations.sum();
  }

  long slowReleases() {
    return slowReleases.sum();
  }

  long steals() {
    return steals.sum();
  }

  long exhausted() {
    return exhausted.sum();
  }
}
