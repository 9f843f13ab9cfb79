package io.rdma4j.pool;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.provider.MemoryRegistrar;
import java.util.List;

/** Real pools on a machine of which a copied tree tells, for tests of other packages. */
public final class RootedPool {
  private RootedPool() {}

  /** Returns an empty pool of slabs with one block each, which knows one device. */
  public static RegisteredBufferPool empty(
      MemoryRegistrar device, SystemRoot root, int blockBytes) {
    PoolConfig config = PoolTestSupport.oneClass(blockBytes, 1).initialBytes(0).build();
    return RegisteredBufferPool.create(config, List.of(device), root, NanoClock.SYSTEM);
  }
}
