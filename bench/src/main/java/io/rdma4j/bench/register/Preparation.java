package io.rdma4j.bench.register;

import io.rdma4j.provider.MemoryRegistrar;

/** A way to come by a large piece of memory that a device knows. */
interface Preparation {
  /** Returns the row's name. */
  String name();

  /**
   * Maps memory and registers it; returns when all of it is ready.
   *
   * @param firstReady to be run, by any thread, as soon as some of the memory can be used
   * @return the memory, which closing makes the device forget and gives back
   */
  Prepared prepare(long lengthBytes, MemoryRegistrar registrar, Runnable firstReady);

  /** Memory that is ready. */
  interface Prepared extends AutoCloseable {
    @Override
    void close();
  }
}
