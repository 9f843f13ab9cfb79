package io.rdma4j.bench.pool;

import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * The executor JMH is told to use: one and the same thread for every row of every round, so that
 * each rival finds its thread cache as it left it. It is of Netty's class, without which Netty's
 * allocators take a slower way; it is an ordinary platform thread to everybody else.
 */
public final class MeasuringThread extends AbstractExecutorService {
  private static final ExecutorService THREAD =
      Executors.newSingleThreadExecutor(MeasuringThread::create);

  private boolean shutdown;

  /** Makes a thread as every platform thread of the benchmarks is. */
  static Thread create(Runnable task) {
    Thread thread = new FastThreadLocalThread(task, "bench");
    thread.setDaemon(true);
    return thread;
  }

  /** Called by JMH. */
  public MeasuringThread(int maxThreads, String prefix) {
    if (maxThreads != 1) {
      throw new IllegalArgumentException(
          "these benchmarks run on 1 JMH thread, not on %d (%s)".formatted(maxThreads, prefix));
    }
  }

  @Override
  public void execute(Runnable task) {
    THREAD.execute(task);
  }

  /** Leaves the thread to the next row. */
  @Override
  public void shutdown() {
    shutdown = true;
  }

  @Override
  public List<Runnable> shutdownNow() {
    shutdown();
    return List.of();
  }

  @Override
  public boolean isShutdown() {
    return shutdown;
  }

  @Override
  public boolean isTerminated() {
    return shutdown;
  }

  @Override
  public boolean awaitTermination(long timeout, TimeUnit unit) {
    return shutdown;
  }
}
