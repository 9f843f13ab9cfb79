package io.rdma4j.bench.pool;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;

/** The pool itself: a reused lease to allocate, a handle while the block is in hand. */
record PoolRival(RegisteredBufferPool pool) implements Rival<PoolRival.Slots> {
  /** Handles of blocks in hand, and the lease of whichever thread has the slots. */
  record Slots(long[] handles, RegisteredBuffer lease) {}

  @Override
  public Slots newSlots(int count) {
    return new Slots(new long[count], pool.newLease());
  }

  @Override
  public void allocate(Slots slots, int slot, int sizeBytes) {
    RegisteredBuffer lease = slots.lease;
    pool.allocate(sizeBytes, lease);
    lease.segment().set(JAVA_LONG, 0, sizeBytes);
    slots.handles[slot] = lease.detach();
  }

  @Override
  public void release(Slots slots, int slot) {
    pool.release(slots.handles[slot]);
  }
}
