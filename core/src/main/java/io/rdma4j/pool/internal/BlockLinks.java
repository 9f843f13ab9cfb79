package io.rdma4j.pool.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Links between free blocks, kept beside the blocks so that free memory is never touched.
 *
 * <p>A batch is a chain of blocks through {@link #next}. Its first block also says how many there
 * are and, inside a {@link SharedList}, which batch comes below. Four ints per block:
 *
 * <pre>
 *  +0 next block of the batch | +1 batch below | +2 blocks in the batch | +3 unused
 * </pre>
 *
 * <p>Whoever holds a batch alone writes its links. A thread that is about to lose the race for a
 * batch may read them meanwhile, so access is opaque, and links outlive the slab they belong to.
 */
final class BlockLinks {
  /** Ends a chain; no block has this number. */
  static final int NONE = -1;

  private static final VarHandle INT = MethodHandles.arrayElementVarHandle(int[].class);
  private static final int NEXT = 0;
  private static final int BELOW = 1;
  private static final int COUNT = 2;
  private static final int INTS_PER_BLOCK = 4;

  private final int indexBits;
  private volatile int[][] chunks = {};

  /**
   * Creates links for no blocks yet.
   *
   * @param indexBits low bits of a block number that count within a slab
   */
  BlockLinks(int indexBits) {
    this.indexBits = indexBits;
  }

  /** Makes room for the blocks of a slab, whose number may have been another one's before. */
  synchronized void addSlab(int slabNumber, int blocks) {
    int[][] grown = Arrays.copyOf(chunks, Math.max(chunks.length, slabNumber + 1));
    int ints = INTS_PER_BLOCK * blocks;
    int[] before = grown[slabNumber];
    if (before == null || before.length < ints) {
      grown[slabNumber] = before == null ? new int[ints] : Arrays.copyOf(before, ints);
      chunks = grown;
    }
  }

  int next(int block) {
    return get(block, NEXT);
  }

  void setNext(int block, int next) {
    set(block, NEXT, next);
  }

  int below(int head) {
    return get(head, BELOW);
  }

  void setBelow(int head, int below) {
    set(head, BELOW, below);
  }

  int count(int head) {
    return get(head, COUNT);
  }

  void setCount(int head, int blocks) {
    set(head, COUNT, blocks);
  }

  /** Returns the last block of a batch. */
  int last(int head) {
    int last = head;
    for (int block = head; block != NONE; block = next(block)) {
      last = block;
    }
    return last;
  }

  /** Returns the number of blocks in a chain, by walking it. */
  int lengthOf(int chain) {
    int length = 0;
    for (int block = chain; block != NONE; block = next(block)) {
      length++;
    }
    return length;
  }

  private int get(int block, int field) {
    return (int) INT.getOpaque(chunks[block >>> indexBits], position(block, field));
  }

  private void set(int block, int field, int value) {
    INT.setOpaque(chunks[block >>> indexBits], position(block, field), value);
  }

  private int position(int block, int field) {
    return (block & (1 << indexBits) - 1) * INTS_PER_BLOCK + field;
  }
}
