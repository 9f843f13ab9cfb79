package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class ThreadCacheTest {
  private static final int BLOCKS = 8;
  private static final int REVOCATIONS = 1_500;

  /**
   * The owner pops and pushes as fast as it can while another thread keeps taking everything away:
   * every block must come out exactly once.
   */
  @Test
  void revocationNeitherLosesNorDoublesABlock() throws Exception {
    BlockLinks links = new BlockLinks(3);
    links.addSlab(0);
    SharedList free = new SharedList(links);
    for (int block = 0; block < BLOCKS; block++) {
      pushOne(links, free, block);
    }
    AtomicBoolean stop = new AtomicBoolean();
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      ThreadCache cache =
          threads.submit(() -> new ThreadCache(Thread.currentThread(), 1, BLOCKS)).get();
      Future<Long> owner = threads.submit(() -> runOwner(links, free, cache, stop));
      try {
        int revocations = 0;
        while (revocations < REVOCATIONS && !owner.isDone()) {
          int batch = cache.takeAll(0, links);
          if (batch != BlockLinks.NONE) {
            free.push(batch);
            revocations++;
          }
        }
      } finally {
        stop.set(true);
      }
      assertTrue(owner.get() > 0);
      int batch = cache.takeAll(0, links);
      if (batch != BlockLinks.NONE) {
        free.push(batch);
      }
      assertEquals(cache.pops(0), cache.pushes(0));
    }
    assertEquals(BLOCKS, free.freeBlocks());
    boolean[] seen = new boolean[BLOCKS];
    int count = 0;
    for (int head = free.pop(); head != BlockLinks.NONE; head = free.pop()) {
      for (int block = head; block != BlockLinks.NONE; block = links.next(block)) {
        assertTrue(!seen[block], "block " + block + " came out twice");
        seen[block] = true;
        count++;
      }
    }
    assertEquals(BLOCKS, count);
  }

  private static long runOwner(
      BlockLinks links, SharedList free, ThreadCache cache, AtomicBoolean stop) {
    long rounds = 0;
    while (!stop.get()) {
      int block = cache.pop(0);
      if (block != BlockLinks.NONE) {
        rounds++;
        // Opened again, the cache has room, unless it was taken away once more.
        while (!cache.push(0, block, BLOCKS)) {
          cache.reopen();
        }
      } else {
        cache.reopen();
        int batch = free.pop();
        if (batch != BlockLinks.NONE) {
          assertEquals(BlockLinks.NONE, cache.fill(0, batch, BLOCKS, links));
        }
      }
    }
    return rounds;
  }

  private static void pushOne(BlockLinks links, SharedList free, int block) {
    links.setNext(block, BlockLinks.NONE);
    links.setCount(block, 1);
    free.push(block);
  }
}
