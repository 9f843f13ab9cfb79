package io.rdma4j.pool.internal;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolProgress;
import java.util.List;
import java.util.Objects;

/**
 * Whole pools that many samples share, one pool after the other: a thread's cache changes between
 * exclusive and shared some thousand times only. A pool ends with its process, which is the sample
 * runner's own.
 */
final class StressPools {
  /** Below the changes that a cache has identities for. */
  private static final int SAMPLES_PER_POOL = 2_000;

  private static final int BLOCK_BYTES = 4096;
  private static final int BLOCKS = 64;
  private static int samples;
  private static BlockPool pool = create(BLOCKS, NanoClock.SYSTEM);

  private StressPools() {}

  /** Returns the pool for one more sample, which has more blocks than are ever on lease. */
  static synchronized BlockPool next() {
    if (++samples % SAMPLES_PER_POOL == 0) {
      pool = create(BLOCKS, NanoClock.SYSTEM);
    }
    return pool;
  }

  /** Creates a pool of one slab, which nobody maintains but its users. */
  static BlockPool create(int blocks, NanoClock clock) {
    int bytes = blocks * BLOCK_BYTES;
    PoolConfig config =
        PoolConfig.builder()
            .blockSizes(BLOCK_BYTES)
            .slabBytes(bytes)
            .maxBytes(bytes)
            .minBytes(0)
            .initialBytes(bytes)
            .maxCached(Math.min(16, blocks))
            .numaAware(false)
            .hugePages(HugePages.NONE)
            .backgroundThread(false)
            .build();
    return new BlockPool(
        config,
        new SizeClasses(config.blockSizes()),
        List.of(),
        SystemRoot.host(),
        clock,
        PoolProgress.NONE);
  }

  /** Returns the calling platform thread's magazine. */
  static Magazine own(BlockPool pool) {
    return Objects.requireNonNull(pool.own(null, 0));
  }
}
