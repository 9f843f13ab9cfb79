package io.rdma4j.pool.internal;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.os.RevocableMemory;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;

/**
 * The cache of one platform thread, used by it without any atomic operation.
 *
 * <p>The stacks lie in memory that can be revoked. A pop or push ends with the store of the word,
 * so when another thread takes the blocks away, an operation has either happened before or fails as
 * a whole; the owner then goes through the slow path, which opens the cache again.
 *
 * <pre>
 *  per class:  +0 word (count and pops) | +8 block (coldest) | +12 block | ...
 * </pre>
 *
 * <p>Everything but pop, push and glances at counts runs under this object's monitor.
 */
public final class ThreadCache extends BlockCache {
  private final WeakReference<Thread> owner;
  private final long ownerId;
  private final RevocableMemory memory;
  private final int capacity;
  private final long strideBytes;
  private MemorySegment view;
  private boolean shut;

  ThreadCache(Thread owner, int classes, int capacity) {
    super(classes);
    this.owner = new WeakReference<>(owner);
    this.ownerId = owner.threadId();
    this.capacity = capacity;
    this.strideBytes = slot(0, capacity + 1) & -Long.BYTES;
    this.memory = new RevocableMemory(strideBytes * classes);
    this.view = memory.view();
  }

  /** Returns true for the thread this is the cache of. */
  boolean isOwnedBy(Thread thread) {
    return ownerId == thread.threadId();
  }

  /** Returns true once the owner has ended, which leaves its blocks to whoever comes first. */
  boolean isOrphan() {
    Thread thread = owner.get();
    return thread == null || !thread.isAlive();
  }

  @Override
  void hold() {}

  @Override
  void letGo() {}

  @Override
  int pop(int sizeClass) {
    try {
      MemorySegment view = this.view;
      long base = sizeClass * strideBytes;
      long word = view.get(JAVA_LONG, base);
      int count = count(word);
      if (count == 0) {
        return NONE;
      }
      int block = view.get(JAVA_INT, slot(base, count - 1));
      view.set(JAVA_LONG, base, word + POP);
      return block;
    } catch (IllegalStateException e) {
      checkRevoked(e);
      return NONE;
    }
  }

  @Override
  boolean push(int sizeClass, int block, int limit) {
    try {
      MemorySegment view = this.view;
      long base = sizeClass * strideBytes;
      long word = view.get(JAVA_LONG, base);
      int count = count(word);
      if (count >= limit) {
        return false;
      }
      view.set(JAVA_INT, slot(base, count), block);
      view.set(JAVA_LONG, base, word + PUSH);
      return true;
    } catch (IllegalStateException e) {
      checkRevoked(e);
      return false;
    }
  }

  private void checkRevoked(IllegalStateException e) {
    if (view.scope().isAlive()) {
      throw e;
    }
  }

  private static long slot(long base, int index) {
    return base + Long.BYTES + (long) Integer.BYTES * index;
  }

  @Override
  synchronized int fill(int sizeClass, int chain, int blocks, BlockLinks links) {
    if (!open()) {
      return chain;
    }
    MemorySegment memory = this.memory.backing();
    long base = sizeClass * strideBytes;
    long word = memory.get(JAVA_LONG, base);
    int count = count(word);
    int filled = -count;
    int block = chain;
    int full = Math.min(capacity, count + blocks);
    while (count < full && block != NONE) {
      memory.set(JAVA_INT, slot(base, count++), block);
      block = links.next(block);
    }
    filled += count;
    countFilled(sizeClass, filled);
    memory.set(JAVA_LONG, base, word + filled * PUSH);
    return block;
  }

  @Override
  synchronized boolean reopen() {
    return memory.isRevoked() && open();
  }

  /** Returns false when the cache is shut; else the owner may use it again. */
  private boolean open() {
    if (!shut && memory.isRevoked()) {
      view = memory.renew();
    }
    return !shut;
  }

  @Override
  synchronized int drainHalf(int sizeClass, BlockLinks links) {
    return open() ? drain(sizeClass, links, false) : NONE;
  }

  @Override
  synchronized int takeAll(int sizeClass, BlockLinks links) {
    if (count(sizeClass) == 0 || shut) {
      return NONE;
    }
    memory.revoke();
    return drain(sizeClass, links, true);
  }

  private int drain(int sizeClass, BlockLinks links, boolean all) {
    MemorySegment memory = this.memory.backing();
    long base = sizeClass * strideBytes;
    long word = memory.get(JAVA_LONG, base);
    int count = count(word);
    int drained = all ? count : (count + 1) / 2;
    int batch = NONE;
    for (int i = 0; i < drained; i++) {
      int block = memory.get(JAVA_INT, slot(base, i));
      links.setNext(block, batch);
      batch = block;
    }
    if (batch != NONE) {
      links.setCount(batch, drained);
    }
    int kept = count - drained;
    MemorySegment.copy(
        memory, slot(base, drained), memory, slot(base, 0), (long) Integer.BYTES * kept);
    countFilled(sizeClass, -drained);
    memory.set(JAVA_LONG, base, word - drained * PUSH);
    return batch;
  }

  @Override
  long word(int sizeClass) {
    return (long) JAVA_LONG.varHandle().getOpaque(memory.backing(), sizeClass * strideBytes);
  }

  @Override
  synchronized void shut() {
    shut = true;
    memory.revoke();
  }
}
