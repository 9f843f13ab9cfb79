package io.rdma4j.pool.internal;

import java.util.IdentityHashMap;
import java.util.List;

/**
 * Walks once through the shared lists of a class: withdraws the blocks of slabs that shall leave,
 * and puts those of fuller slabs first. Others may allocate and release meanwhile.
 */
final class ListSorter {
  private static final int NONE = BlockLinks.NONE;

  private final SizeClassPool pool;
  private final SlabTable table;
  private final BlockLinks links;
  private final IdentityHashMap<Slab, Chain> withdrawn = new IdentityHashMap<>();

  ListSorter(SizeClassPool pool, Slabs slabs, List<Slab> leaving) {
    this.pool = pool;
    this.table = slabs.table();
    this.links = slabs.links();
    leaving.forEach(slab -> withdrawn.put(slab, new Chain()));
  }

  /** Sorts, and makes those slabs pending whose blocks were all there. */
  void sort(long nowNs) {
    pool.transfers().begin();
    try {
      for (FreeLists lists : pool.freeLists()) {
        sort(lists);
      }
      withdrawn.forEach((slab, chain) -> settle(slab, chain, nowNs));
    } finally {
      pool.transfers().end();
    }
  }

  private void sort(FreeLists lists) {
    Chain first = new Chain();
    Chain last = new Chain();
    lists.turn();
    for (int batch = lists.popUnsorted(); batch != NONE; batch = lists.popUnsorted()) {
      for (int block = batch; block != NONE; ) {
        int next = links.next(block);
        Slab slab = table.slabOf(block);
        Chain leaving = withdrawn.get(slab);
        if (leaving != null) {
          leaving.add(block);
        } else if (slab.heat().isPreferred()) {
          first.add(block);
        } else {
          last.add(block);
        }
        block = next;
      }
      // Whole batches only, but nothing is kept out of sight for longer than one of them.
      if (first.count >= pool.batchBlocks()) {
        lists.push(first.take());
      }
      if (last.count >= pool.batchBlocks()) {
        lists.pushLast(last.take());
      }
    }
    if (first.count > 0) {
      lists.push(first.take());
    }
    if (last.count > 0) {
      lists.pushLast(last.take());
    }
  }

  private void settle(Slab slab, Chain chain, long nowNs) {
    if (chain.count == slab.blocks()) {
      pool.suspend(slab, nowNs);
    } else if (chain.count > 0) {
      pool.pushLast(slab, chain.take());
    }
  }

  /** Blocks on their way to a batch. */
  private final class Chain {
    private int head = NONE;
    private int count;

    void add(int block) {
      links.setNext(block, head);
      head = block;
      count++;
    }

    int take() {
      int batch = head;
      links.setCount(batch, count);
      head = NONE;
      count = 0;
      return batch;
    }
  }
}
