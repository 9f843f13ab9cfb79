package io.rdma4j.bench.register;

import io.rdma4j.bench.natives.Linux;
import io.rdma4j.provider.MemoryRegistrar;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Huge pages, in segments: threads take segment after segment, have the kernel bring its pages in,
 * and register it. The first segment can be used while the others are still on their way.
 *
 * <p>The pool has no objects of this size; this is the recipe by itself, in its place.
 */
final class SegmentedPreparation implements Preparation {
  private final String name;
  private final long segmentBytes;
  private final int threads;

  /**
   * Creates the recipe.
   *
   * @param segmentBytes whole huge pages
   */
  SegmentedPreparation(String name, long segmentBytes, int threads) {
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
    RawRange range = RawRange.map(lengthBytes, Linux.MADV_HUGEPAGE);
    try (ExecutorService workers = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> segments = new ArrayList<>();
      for (long offset = 0; offset < lengthBytes; offset += segmentBytes) {
        long address = range.address() + offset;
        long bytes = Math.min(segmentBytes, lengthBytes - offset);
        segments.add(
            workers.submit(
                () -> {
                  Linux.madvise(address, bytes, Linux.MADV_POPULATE_WRITE);
                  range.add(registrar.register(address, bytes));
                  firstReady.run();
                }));
      }
      for (Future<?> segment : segments) {
        segment.get();
      }
      return range;
    } catch (ExecutionException e) {
      range.close();
      if (e.getCause() instanceof RuntimeException refused) {
        throw refused;
      }
      throw new IllegalStateException("a segment could not be prepared", e);
    } catch (InterruptedException e) {
      range.close();
      throw new IllegalStateException("interrupted while registering", e);
    }
  }
}
