package io.rdma4j.bench.register;

import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.LargeBuffer;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.provider.MemoryRegistrar;
import java.time.Duration;
import java.util.List;

/**
 * A large object of the pool: huge pages, in segments that its workers bring in and register. The
 * first segment can be used while the others are still on their way. Making the pool, and giving
 * everything back, is part of what is timed.
 */
final class PoolPreparation implements Preparation {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final String name;
  private final long segmentBytes;
  private final int threads;

  /**
   * Creates a way.
   *
   * @param segmentBytes whole huge pages, at most 1 GiB
   */
  PoolPreparation(String name, long segmentBytes, int threads) {
    this.name = name;
    this.segmentBytes = segmentBytes;
    this.threads = threads;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Prepared prepare(long lengthBytes, MemoryRegistrar registrar, Runnable firstReady) {
    PoolConfig config =
        PoolConfig.builder()
            .maxBytes(lengthBytes)
            .hugePages(HugePages.TRANSPARENT)
            .largeSegmentBytes(segmentBytes)
            .registrationThreads(threads)
            .backgroundThread(false)
            .build();
    RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(registrar));
    try {
      LargeBuffer buffer = pool.allocateLarge(lengthBytes);
      firstReady.run();
      if (!buffer.awaitReady(0, lengthBytes, PATIENCE)) {
        throw new IllegalStateException(
            lengthBytes + " bytes were not registered within " + PATIENCE);
      }
      return () -> {
        try (pool) {
          buffer.release();
        }
      };
    } catch (RuntimeException | Error e) {
      try (pool) {
        throw e;
      }
    }
  }
}
