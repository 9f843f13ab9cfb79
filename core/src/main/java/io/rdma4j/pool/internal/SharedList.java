package io.rdma4j.pool.internal;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The free blocks of one class that no thread keeps: a lock-free stack of batches.
 *
 * <p>The head is one long: the first block of the top batch, and a tag that every push and pop
 * moves on. Without the tag, a thread that read a head and the batch below it could swing the head
 * to that batch after both had been taken and the head pushed again, and hand out blocks that are
 * in use.
 *
 * <pre>
 *  63                            32 31                             0
 * +--------------------------------+--------------------------------+
 * | tag                            | block number + 1, 0 when empty |
 * +--------------------------------+--------------------------------+
 * </pre>
 *
 * <p>Safe for use by several threads. A batch belongs to the thread that popped it.
 */
final class SharedList {
  private static final long BLOCK_MASK = 0xffff_ffffL;
  private static final long ONE_TAG = 1L << 32;

  private final AtomicLong head = new AtomicLong();
  private final AtomicInteger freeBlocks = new AtomicInteger();
  private final BlockLinks links;
  private final long tagStep;

  SharedList(BlockLinks links) {
    this(links, ONE_TAG);
  }

  /** With a tag step of 0 the list is broken; tests show that they notice. */
  SharedList(BlockLinks links, long tagStep) {
    this.links = links;
    this.tagStep = tagStep;
  }

  /** Gives a batch to the list; its links and count are set. */
  void push(int batch) {
    freeBlocks.getAndAdd(links.count(batch));
    long seen;
    long wanted;
    do {
      seen = head.get();
      links.setBelow(batch, block(seen));
      wanted = nextTag(seen) | batch + 1;
    } while (!head.compareAndSet(seen, wanted));
  }

  /** Takes the latest batch, {@link BlockLinks#NONE} when there is none. */
  int pop() {
    while (true) {
      long seen = head.get();
      int batch = block(seen);
      if (batch == BlockLinks.NONE) {
        return BlockLinks.NONE;
      }
      long wanted = nextTag(seen) | links.below(batch) + 1;
      if (head.compareAndSet(seen, wanted)) {
        freeBlocks.getAndAdd(-links.count(batch));
        return batch;
      }
    }
  }

  boolean isEmpty() {
    return block(head.get()) == BlockLinks.NONE;
  }

  /** Returns the blocks in the list, exact at quiet points. */
  int freeBlocks() {
    return Math.max(0, freeBlocks.get());
  }

  private long nextTag(long head) {
    return (head & ~BLOCK_MASK) + tagStep;
  }

  private static int block(long head) {
    return (int) head - 1;
  }
}
