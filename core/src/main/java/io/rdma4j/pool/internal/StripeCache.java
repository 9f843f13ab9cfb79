package io.rdma4j.pool.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A cache for virtual threads, of which there are too many for a cache each: some threads share it,
 * one at a time. The holder is whoever got {@link #tryLock}; a thread that finds it taken goes to
 * the next one, so nobody waits.
 *
 * <p>Nothing inside the lock blocks, so a virtual thread never leaves its carrier while holding it.
 */
final class StripeCache extends BlockCache {
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
  private static final VarHandle LOCKED;

  static {
    try {
      LOCKED = MethodHandles.lookup().findVarHandle(StripeCache.class, "locked", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final int[][] blocks;
  private final long[] words;
  private volatile boolean locked;
  private boolean shut;

  StripeCache(int classes, int capacity) {
    super(classes);
    this.blocks = new int[classes][capacity];
    this.words = new long[classes];
  }

  boolean tryLock() {
    return !locked && LOCKED.compareAndSet(this, false, true);
  }

  @Override
  void hold() {
    while (!tryLock()) {
      Thread.onSpinWait();
    }
  }

  @Override
  void letGo() {
    LOCKED.setRelease(this, false);
  }

  @Override
  int pop(int sizeClass) {
    long word = words[sizeClass];
    int count = count(word);
    if (count == 0 || shut) {
      return NONE;
    }
    setWord(sizeClass, word + POP);
    return blocks[sizeClass][count - 1];
  }

  @Override
  boolean push(int sizeClass, int block, int limit) {
    long word = words[sizeClass];
    int count = count(word);
    if (count >= limit || shut) {
      return false;
    }
    blocks[sizeClass][count] = block;
    setWord(sizeClass, word + PUSH);
    return true;
  }

  @Override
  boolean reopen() {
    return false;
  }

  @Override
  int fill(int sizeClass, int chain, int blocks, BlockLinks links) {
    int[] stack = this.blocks[sizeClass];
    long word = words[sizeClass];
    int count = count(word);
    int filled = -count;
    int full = shut ? 0 : Math.min(stack.length, count + blocks);
    int block = chain;
    while (count < full && block != NONE) {
      stack[count++] = block;
      block = links.next(block);
    }
    filled += count;
    countFilled(sizeClass, filled);
    setWord(sizeClass, word + filled * PUSH);
    return block;
  }

  @Override
  int drainHalf(int sizeClass, BlockLinks links) {
    return drain(sizeClass, links, (count(words[sizeClass]) + 1) / 2);
  }

  @Override
  int takeAll(int sizeClass, BlockLinks links) {
    hold();
    try {
      return drain(sizeClass, links, count(words[sizeClass]));
    } finally {
      letGo();
    }
  }

  private int drain(int sizeClass, BlockLinks links, int drained) {
    int[] stack = blocks[sizeClass];
    int count = count(words[sizeClass]);
    int batch = NONE;
    for (int i = 0; i < drained; i++) {
      links.setNext(stack[i], batch);
      batch = stack[i];
    }
    if (batch != NONE) {
      links.setCount(batch, drained);
    }
    System.arraycopy(stack, drained, stack, 0, count - drained);
    countFilled(sizeClass, -drained);
    setWord(sizeClass, words[sizeClass] - drained * PUSH);
    return batch;
  }

  @Override
  long word(int sizeClass) {
    return (long) WORD.getOpaque(words, sizeClass);
  }

  /** Opaque, for the sake of those who glance at it. */
  private void setWord(int sizeClass, long word) {
    WORD.setOpaque(words, sizeClass, word);
  }

  @Override
  void shut() {
    hold();
    try {
      shut = true;
    } finally {
      letGo();
    }
  }
}
