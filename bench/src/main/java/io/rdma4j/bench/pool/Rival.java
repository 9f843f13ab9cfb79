package io.rdma4j.bench.pool;

import io.rdma4j.Availability;

/**
 * An allocator in a race: the pool or one it is held against.
 *
 * <p>Every rival does the same work: allocating ends with a write to the first word of the block,
 * and nobody clears memory unless the allocator does so by itself. Safe for use by several threads;
 * slots belong to one thread at a time.
 *
 * @param <S> where blocks in hand are kept: addresses, handles or objects
 */
interface Rival<S> {
  /** Returns whether this rival can run here, with what is missing. */
  default Availability availability() {
    return Availability.usable("always");
  }

  /** Creates empty slots. */
  S newSlots(int count);

  /** Allocates a block into an empty slot and writes its first word. */
  void allocate(S slots, int slot, int sizeBytes);

  /** Gives back the block in a slot. */
  void release(S slots, int slot);
}
