package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class SharedListTest {
  private static final int BLOCKS = 4;
  private static final int INDEX_BITS = 2;

  @Test
  void isAStackOfBatches() {
    BlockLinks links = new BlockLinks(INDEX_BITS);
    links.addSlab(0, BLOCKS);
    SharedList list = new SharedList(links);
    assertTrue(list.isEmpty());
    assertEquals(BlockLinks.NONE, list.pop());
    list.push(batch(links, 0, 1, 2));
    list.push(batch(links, 3));
    assertEquals(4, list.freeBlocks());
    assertEquals(3, list.pop());
    int batch = list.pop();
    assertEquals(0, batch);
    assertEquals(3, links.count(batch));
    assertEquals(1, links.next(0));
    assertEquals(2, links.next(1));
    assertEquals(BlockLinks.NONE, links.next(2));
    assertTrue(list.isEmpty());
    assertEquals(0, list.freeBlocks());
  }

  /** Four threads take and give back single blocks; nobody may get what another holds. */
  @Test
  void handsEveryBlockToOneThreadAtATime() throws Exception {
    Outcome outcome = stress(400_000);
    assertEquals(0, outcome.sharedBlocks);
    assertEquals(BLOCKS, outcome.blocksLeft);
  }

  private record Outcome(long sharedBlocks, int blocksLeft) {}

  private static Outcome stress(int rounds) throws Exception {
    BlockLinks links = new BlockLinks(INDEX_BITS);
    links.addSlab(0, BLOCKS);
    SharedList list = new SharedList(links);
    for (int block = 0; block < BLOCKS; block++) {
      list.push(batch(links, block));
    }
    AtomicIntegerArray holders = new AtomicIntegerArray(BLOCKS);
    AtomicLong shared = new AtomicLong();
    CountDownLatch start = new CountDownLatch(1);
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      int seed = t;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    awaitUninterruptibly(start);
                    run(links, list, holders, shared, seed, rounds);
                  }));
    }
    start.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    int left = 0;
    while (left <= BLOCKS && list.pop() != BlockLinks.NONE) {
      left++;
    }
    return new Outcome(shared.get(), left);
  }

  private static void run(
      BlockLinks links,
      SharedList list,
      AtomicIntegerArray holders,
      AtomicLong shared,
      int seed,
      int rounds) {
    int[] held = new int[2];
    for (int i = 0; i < rounds; i++) {
      int count = 0;
      int wanted = 1 + (i + seed) % 2;
      while (count < wanted) {
        int block = list.pop();
        if (block == BlockLinks.NONE) {
          break;
        }
        held[count++] = block;
        if (holders.getAndIncrement(block) != 0) {
          shared.getAndIncrement();
        }
      }
      // First in, first out: the order in which an old head comes back over a new batch below.
      for (int k = 0; k < count; k++) {
        holders.getAndDecrement(held[k]);
        list.push(batch(links, held[k]));
      }
    }
  }

  private static int batch(BlockLinks links, int... blocks) {
    int next = BlockLinks.NONE;
    for (int i = blocks.length - 1; i >= 0; i--) {
      links.setNext(blocks[i], next);
      next = blocks[i];
    }
    links.setCount(blocks[0], blocks.length);
    return blocks[0];
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
