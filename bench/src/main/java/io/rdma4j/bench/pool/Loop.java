package io.rdma4j.bench.pool;

/**
 * A pattern of use by several threads. One run moves a fixed number of blocks, and its wall time
 * counts, so that both who allocates and who releases are paid for.
 *
 * <p>A subclass has its rival in a {@code private static final} field, set by {@link
 * LoopCopy#rival}, and a constructor that takes the block size. Closing gives back the blocks that
 * are kept between runs.
 */
abstract class Loop implements AutoCloseable {
  /** Returns the number of threads of a run, the caller's included. */
  abstract int threads();

  /** Does the part of one of the threads in a run, all of which are under way at the same time. */
  abstract void work(int thread);

  @Override
  public void close() {}
}
