package io.rdma4j.bench.pool;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.TimeUnit;

/**
 * Hands numbered slots from one producing thread to one consuming thread and back. What lies in a
 * slot is the users' business.
 *
 * <p>Words of {@code words}, each in two cache lines of its own, since processors fetch lines in
 * pairs:
 *
 * <pre>
 *   word           writer     reader     access
 *   PUBLISHED      producer   consumer   release / acquire
 *   RETURNED       consumer   producer   release / acquire
 *   SEEN_RETURNED  producer   producer   plain: RETURNED as last read
 *   SEEN_PUBLISHED consumer   consumer   plain: PUBLISHED as last read
 * </pre>
 */
final class SpscRing {
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

  private static final int SPINS_BEFORE_YIELD = 1000;
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(10);

  private static final int STRIDE = 128 / Long.BYTES;
  private static final int PUBLISHED = STRIDE;
  private static final int SEEN_RETURNED = PUBLISHED + 1;
  private static final int RETURNED = PUBLISHED + 2 * STRIDE;
  private static final int SEEN_PUBLISHED = RETURNED + 1;

  private final long[] words = new long[RETURNED + 2 * STRIDE];
  private final int capacity;

  /**
   * Creates an empty ring.
   *
   * @param capacity number of slots, a power of two
   */
  SpscRing(int capacity) {
    if (Integer.bitCount(capacity) != 1) {
      throw new IllegalArgumentException("capacity must be a power of two, was " + capacity);
    }
    this.capacity = capacity;
  }

  /** Producer: returns the slot to fill next, or -1 when all are taken. */
  int claim() {
    long next = words[PUBLISHED];
    if (next - words[SEEN_RETURNED] == capacity) {
      words[SEEN_RETURNED] = (long) WORD.getAcquire(words, RETURNED);
      if (next - words[SEEN_RETURNED] == capacity) {
        return -1;
      }
    }
    return (int) next & (capacity - 1);
  }

  /** Producer: hands the claimed slot over. */
  void publish() {
    WORD.setRelease(words, PUBLISHED, words[PUBLISHED] + 1);
  }

  /** Consumer: returns the oldest slot handed over, or -1 when there is none. */
  int take() {
    long next = words[RETURNED];
    if (next == words[SEEN_PUBLISHED]) {
      words[SEEN_PUBLISHED] = (long) WORD.getAcquire(words, PUBLISHED);
      if (next == words[SEEN_PUBLISHED]) {
        return -1;
      }
    }
    return (int) next & (capacity - 1);
  }

  /** Consumer: gives the slot back to the producer. */
  void giveBack() {
    WORD.setRelease(words, RETURNED, words[RETURNED] + 1);
  }

  /** Producer: returns the slot to fill next, once there is one. */
  int awaitClaim() {
    int slot = claim();
    return slot >= 0 ? slot : await(true);
  }

  /** Consumer: returns the oldest slot handed over, once there is one. */
  int awaitTake() {
    int slot = take();
    return slot >= 0 ? slot : await(false);
  }

  @SuppressWarnings("ThreadPriorityCheck") // the other thread may be waiting for this processor
  private int await(boolean producer) {
    long startNs = System.nanoTime();
    for (int spins = 0; ; spins++) {
      int slot = producer ? claim() : take();
      if (slot >= 0) {
        return slot;
      }
      if (spins < SPINS_BEFORE_YIELD) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
        if (System.nanoTime() - startNs > PATIENCE_NS) {
          throw new IllegalStateException("the other thread has made no progress for 10 s");
        }
      }
    }
  }
}
