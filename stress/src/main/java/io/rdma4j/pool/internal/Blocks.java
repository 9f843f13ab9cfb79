package io.rdma4j.pool.internal;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Four blocks of one sample's own: numbers, links and states, but no memory behind them. They come
 * from a common range, since tables for each sample would cost more than what is looked at.
 */
final class Blocks {
  /** Blocks of one sample. */
  static final int PER_SAMPLE = 4;

  /** Enough that none is given out again while its sample lasts. */
  private static final int RANGE = 1 << 18;

  private static final int BLOCK_BYTES = 4096;

  /** A number that slabs may have. */
  private static final int SLAB = 1;

  static final Slabs SLABS = slabs();
  static final Workers WORKERS = new Workers("stress", 2);
  private static final AtomicInteger NEXT = new AtomicInteger();

  private final int first;

  private Blocks(int first) {
    this.first = first;
  }

  private static Slabs slabs() {
    PoolConfig config =
        PoolConfig.builder()
            .blockSizes(BLOCK_BYTES)
            .slabBytes(RANGE * BLOCK_BYTES)
            .maxBytes((long) RANGE * BLOCK_BYTES)
            .minBytes(0)
            .initialBytes(0)
            .hugePages(HugePages.NONE)
            .build();
    Slabs slabs =
        new Slabs(
            config,
            new SizeClasses(config.blockSizes()),
            List.of(),
            SystemRoot.host(),
            NumaPolicy.unknown(),
            NanoClock.SYSTEM);
    slabs.links().addSlab(SLAB, RANGE);
    return slabs;
  }

  /** Returns a sample's blocks, all free and nobody's. */
  static Blocks next() {
    int place = (NEXT.getAndIncrement() & RANGE / PER_SAMPLE - 1) * PER_SAMPLE;
    Blocks blocks = new Blocks(SLABS.table().firstBlockOf(SLAB) + place);
    for (int i = 0; i < PER_SAMPLE; i++) {
      SLABS.states().set(blocks.number(i), BlockHandle.of(blocks.number(i), 0));
    }
    return blocks;
  }

  static SizeClassPool newPool() {
    return new SizeClassPool(
        0, 0, BLOCK_BYTES, false, PER_SAMPLE, SLABS, NumaPolicy.unknown(), WORKERS);
  }

  /** Returns the number of the sample's block at that place. */
  int number(int index) {
    return first + index;
  }

  /** Links some of the blocks; returns the batch. */
  int batch(int index, int blocks) {
    int batch = BlockLinks.NONE;
    for (int i = index + blocks - 1; i >= index; i--) {
      SLABS.links().setNext(number(i), batch);
      batch = number(i);
    }
    SLABS.links().setCount(batch, blocks);
    return batch;
  }

  Count count() {
    return new Count();
  }

  /** What came to light of the blocks after the actors were done. */
  final class Count {
    private int seen;
    private boolean twice;

    void addBlock(int block) {
      if (block != BlockLinks.NONE) {
        int bit = 1 << (block - first);
        twice |= (seen & bit) != 0;
        seen |= bit;
      }
    }

    void addChain(int chain) {
      int most = PER_SAMPLE;
      for (int block = chain; block != BlockLinks.NONE && most-- > 0; ) {
        addBlock(block);
        block = SLABS.links().next(block);
      }
    }

    void addLease(long handle) {
      if (handle != BlockHandle.NONE) {
        addBlock(BlockHandle.block(handle));
      }
    }

    /** Returns how many blocks there were, -1 when one of them was there twice. */
    int distinctOrMinusOne() {
      return twice ? -1 : Integer.bitCount(seen);
    }
  }
}
