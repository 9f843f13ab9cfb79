package io.rdma4j.pool.internal;

import java.util.Arrays;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The pool's slabs by number, and the numbering of blocks: slab number in the high bits, place in
 * the slab in the low ones. Reading takes no lock.
 */
final class SlabTable {
  private final int indexBits;
  private final BlockLinks links;
  private volatile Slab[] slabs = {};
  private boolean closed;

  /**
   * Creates an empty table.
   *
   * @param blocksPerSlab most blocks that a slab can have
   */
  SlabTable(int blocksPerSlab) {
    this.indexBits = Integer.SIZE - Integer.numberOfLeadingZeros(blocksPerSlab - 1);
    this.links = new BlockLinks(indexBits);
  }

  BlockLinks links() {
    return links;
  }

  /**
   * Makes a slab for the next free number and adds it.
   *
   * @throws IllegalStateException when the table is closed
   */
  synchronized Slab add(IntFunction<Slab> maker) {
    if (closed) {
      throw new IllegalStateException("the pool was closed while it grew");
    }
    int number = slabs.length;
    links.addSlab(number);
    Slab[] grown = Arrays.copyOf(slabs, number + 1);
    Slab slab = maker.apply(number);
    grown[number] = slab;
    slabs = grown;
    return slab;
  }

  /** Refuses new slabs from here on and returns all there are. */
  synchronized Slab[] close() {
    closed = true;
    return slabs;
  }

  Slab[] all() {
    return slabs;
  }

  /** Returns the slab of a block that exists. */
  Slab slabOf(int block) {
    return slabs[block >>> indexBits];
  }

  int indexOf(int block) {
    return block & (1 << indexBits) - 1;
  }

  int blockOf(Slab slab, int index) {
    return slab.number() << indexBits | index;
  }

  /** Returns the slab of a number that may be anything, null when there is no such block. */
  @Nullable Slab find(int block) {
    Slab[] now = slabs;
    int number = block >>> indexBits;
    if (number >= now.length || indexOf(block) >= now[number].blocks()) {
      return null;
    }
    return now[number];
  }
}
