package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

/** What several tests of the pool share. */
final class PoolTestSupport {
  private PoolTestSupport() {}

  /**
   * One class, small slabs, no huge pages: quick to make and easy to count. Nothing happens in the
   * background.
   */
  static PoolConfig.Builder oneClass(int blockBytes, int blocksPerSlab) {
    return PoolConfig.builder()
        .blockSizes(blockBytes)
        .slabBytes(blockBytes * blocksPerSlab)
        .hugePages(HugePages.NONE)
        .lowWatermark(0)
        .backgroundThread(false);
  }

  static RegisteredBufferPool plain(PoolConfig.Builder config) {
    return RegisteredBufferPool.create(config.build(), List.of());
  }

  /** Holds at every quiet point. */
  static void assertAddsUp(RegisteredBufferPool pool) {
    for (PoolStatistics.SizeClass c : pool.statistics().classes()) {
      assertEquals(
          c.registeredBlocks(),
          c.usedBlocks() + c.cachedBlocks() + c.freeBlocks() + c.pendingBlocks(),
          c.toString());
      assertEquals(c.usedBlocks(), c.allocations() - c.releases(), c.toString());
      assertEquals(
          c.allocations(), c.threadCacheHits() + c.sharedHits() + c.fallbacks(), c.toString());
      assertNodesAddUp(c);
    }
  }

  private static void assertNodesAddUp(PoolStatistics.SizeClass c) {
    long[] sums = new long[5];
    for (PoolStatistics.Node node : c.nodes()) {
      sums[0] += node.registeredBlocks();
      sums[1] += node.usedBlocks();
      sums[2] += node.cachedBlocks();
      sums[3] += node.freeBlocks();
      sums[4] += node.pendingBlocks();
    }
    long[] totals = {
      c.registeredBlocks(), c.usedBlocks(), c.cachedBlocks(), c.freeBlocks(), c.pendingBlocks()
    };
    assertArrayEquals(totals, sums, c.toString());
  }

  /** Holds when every buffer has been given back. */
  static void assertDrained(RegisteredBufferPool pool) {
    assertAddsUp(pool);
    for (PoolStatistics.SizeClass c : pool.statistics().classes()) {
      assertEquals(0, c.usedBlocks(), c.toString());
    }
  }

  static PoolStatistics.SizeClass onlyClass(RegisteredBufferPool pool) {
    return pool.statistics().classes().getFirst();
  }
}
