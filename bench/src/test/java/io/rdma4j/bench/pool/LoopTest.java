package io.rdma4j.bench.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.RegisteredBufferPool;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The loops move the blocks they are paid for, and keep none. */
@Timeout(120)
final class LoopTest {
  @ParameterizedTest
  @ValueSource(classes = {HandoverLoop.class, BatchLoop.class, LarsonLoop.class, VirtualLoop.class})
  void everyBlockIsAllocatedAndComesHome(Class<? extends Loop> pattern) throws Exception {
    try (RegisteredBufferPool pool =
        RegisteredBufferPool.create(PoolConfig.defaults(), List.of())) {
      Loop loop = LoopCopy.of(pattern, new PoolRival(pool), 8192);
      run(loop);
      run(loop);
      loop.close();
      PoolStatistics.SizeClass blocks = pool.statistics().classes().getFirst();
      int expected =
          2 * (pattern == VirtualLoop.class ? MixBenchmark.VIRTUAL_BLOCKS : MixBenchmark.BLOCKS);
      assertTrue(
          blocks.allocations() >= expected,
          () -> "%d allocations instead of %d".formatted(blocks.allocations(), expected));
      assertEquals(0, blocks.usedBlocks());
    }
  }

  private static void run(Loop loop) throws Exception {
    try (ExecutorService helpers = Executors.newCachedThreadPool()) {
      List<Future<?>> parts = new ArrayList<>();
      for (int thread = 0; thread < loop.threads(); thread++) {
        int part = thread;
        parts.add(helpers.submit(() -> loop.work(part)));
      }
      for (Future<?> part : parts) {
        part.get();
      }
    }
  }
}
