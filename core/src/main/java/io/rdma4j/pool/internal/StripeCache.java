package io.rdma4j.pool.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A cache for virtual threads, of which there are too many for a cache each: some threads share it,
 * one at a time. The holder is whoever got {@link #tryHold}; a thread that finds it taken goes to
 * the next one, so nobody waits.
 *
 * <p>Nothing inside the lock blocks, so a virtual thread never leaves its carrier while holding it.
 * Blocks in it, or leased from it, have no holder in their state.
 */
final class StripeCache extends BlockCache {
  private static final VarHandle WORD;
  private static final VarHandle LOCKED;

  static {
    try {
      WORD = MethodHandles.lookup().findVarHandle(StripeCache.class, "word", long.class);
      LOCKED = MethodHandles.lookup().findVarHandle(StripeCache.class, "locked", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final SizeClassPool pool;
  private final BlockStates states;
  private final int[] stack;
  private long word;
  private volatile boolean locked;
  private boolean shut;

  StripeCache(SizeClassPool pool, BlockStates states, int capacity) {
    super(pool.sizeClass());
    this.pool = pool;
    this.states = states;
    this.stack = new int[capacity];
  }

  boolean tryHold() {
    return !locked && LOCKED.compareAndSet(this, false, true);
  }

  @Override
  void hold() {
    while (!tryHold()) {
      Thread.onSpinWait();
    }
  }

  @Override
  void letGo() {
    LOCKED.setRelease(this, false);
  }

  @Override
  long take() {
    long word = this.word;
    int count = count(word);
    if (count == 0 || shut) {
      return BlockHandle.NONE;
    }
    int block = stack[count - 1];
    long handle = states.lease(block, sizeClass());
    setWord(word + TAKE);
    return handle;
  }

  @Override
  boolean keep(int block) {
    long word = this.word;
    int count = count(word);
    if (count >= pool.cacheLimit() || shut) {
      return false;
    }
    stack[count] = block;
    setWord(word + KEEP);
    return true;
  }

  @Override
  boolean reopen() {
    return false;
  }

  @Override
  int fill(int chain, int blocks) {
    long word = this.word;
    int count = count(word);
    int filled = -count;
    int full = shut ? 0 : Math.min(stack.length, count + blocks);
    int block = chain;
    while (count < full && block != NONE) {
      stack[count++] = block;
      block = pool.links().next(block);
    }
    filled += count;
    countFilled(filled);
    setWord(word + filled);
    return block;
  }

  @Override
  int drain(int kept) {
    long word = this.word;
    int count = count(word);
    int drained = Math.max(0, count - kept);
    int batch = NONE;
    for (int i = 0; i < drained; i++) {
      pool.links().setNext(stack[i], batch);
      batch = stack[i];
    }
    if (batch != NONE) {
      pool.links().setCount(batch, drained);
    }
    System.arraycopy(stack, drained, stack, 0, count - drained);
    countFilled(-drained);
    setWord(word - drained);
    return batch;
  }

  @Override
  int takeAll() {
    hold();
    try {
      return drain(0);
    } finally {
      letGo();
    }
  }

  @Override
  long word() {
    return (long) WORD.getOpaque(this);
  }

  /** Opaque, for the sake of those who glance at it. */
  private void setWord(long word) {
    WORD.setOpaque(this, word);
  }

  /** Takes the cache out of use: it keeps nothing from here on. */
  void shut() {
    hold();
    try {
      shut = true;
    } finally {
      letGo();
    }
  }
}
