package io.rdma4j.pool.internal;

/**
 * The free blocks of one class on one NUMA node that no thread keeps.
 *
 * <p>There are two pairs of lists; each pair has blocks to hand out first, and the rest. New blocks
 * go to the present pair. The reaper turns the pairs and moves what is in the former one over,
 * batch by batch, so that at no time more than a batch is out of everybody's sight; a push that
 * came late to the former pair is found all the same and moved the next time.
 *
 * <p>Safe for use by several threads, of which one at a time sorts.
 */
final class FreeLists {
  static final int NONE = BlockLinks.NONE;

  private final SharedList[] first = new SharedList[2];
  private final SharedList[] rest = new SharedList[2];
  private volatile int present;

  FreeLists(BlockLinks links) {
    for (int pair = 0; pair < 2; pair++) {
      first[pair] = new SharedList(links);
      rest[pair] = new SharedList(links);
    }
  }

  /** Gives a batch to the lists; its links and count are set. */
  void push(int batch) {
    first[present].push(batch);
  }

  /** Takes a batch, {@link #NONE} when there is none. */
  int pop() {
    int now = present;
    int batch = popFrom(now);
    return batch == NONE ? popFrom(now ^ 1) : batch;
  }

  private int popFrom(int pair) {
    int batch = first[pair].pop();
    return batch == NONE ? rest[pair].pop() : batch;
  }

  boolean isEmpty() {
    return first[0].isEmpty() && first[1].isEmpty() && rest[0].isEmpty() && rest[1].isEmpty();
  }

  /** Returns the blocks in the lists, exact at quiet points. */
  int freeBlocks() {
    return first[0].freeBlocks()
        + first[1].freeBlocks()
        + rest[0].freeBlocks()
        + rest[1].freeBlocks();
  }

  /** Begins sorting: from here on new blocks go to the other pair. */
  void turn() {
    present ^= 1;
  }

  /** Takes a batch that has not been sorted yet, {@link #NONE} when all have. */
  int popUnsorted() {
    return popFrom(present ^ 1);
  }

  /** Gives a batch back among those to hand out last. */
  void pushLast(int batch) {
    rest[present].push(batch);
  }
}
