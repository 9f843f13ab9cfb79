package io.rdma4j.pool.internal;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Registers the segments of one object on several workers, the first ones first. After each segment
 * a worker puts itself behind the work of others, so that a large object does not hold up the
 * growth of a class by more than one segment.
 */
final class SegmentWork implements Runnable {
  private final SegmentedMemory memory;
  private final Workers workers;
  private final Runnable atEnd;
  private final AtomicInteger next = new AtomicInteger();

  /** Workers that may touch the memory, and one for whoever has yet to start them. */
  private final AtomicInteger running = new AtomicInteger(1);

  /**
   * Creates work that is not begun.
   *
   * @param atEnd called once, when no worker has to do with the memory any more
   */
  SegmentWork(SegmentedMemory memory, Workers workers, Runnable atEnd) {
    this.memory = memory;
    this.workers = workers;
    this.atEnd = atEnd;
  }

  /** Begins, once, on at most so many workers; what goes wrong is the memory's failure. */
  void start(int threads) {
    int most = Math.min(threads, memory.segmentCount());
    running.getAndAdd(most);
    for (int i = 0; i < most; i++) {
      submit();
    }
    end();
  }

  /** Returns true when no worker has to do with the memory any more. */
  boolean isOver() {
    return running.get() == 0;
  }

  @Override
  public void run() {
    int segment = memory.hasFailed() ? memory.segmentCount() : next.getAndIncrement();
    if (segment >= memory.segmentCount()) {
      end();
      return;
    }
    try {
      memory.register(segment);
    } catch (RuntimeException | Error e) {
      memory.fail(e);
    }
    submit();
  }

  private void submit() {
    try {
      workers.execute(this);
    } catch (RejectedExecutionException e) {
      memory.fail(new IllegalStateException("the pool was closed while it registered memory", e));
      end();
    } catch (RuntimeException | Error e) {
      memory.fail(e);
      end();
    }
  }

  private void end() {
    if (running.decrementAndGet() == 0) {
      atEnd.run();
    }
  }
}
