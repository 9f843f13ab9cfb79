package io.rdma4j.transport;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Memory that peers may reach by one-sided operations. Owned by whoever exported it.
 *
 * <p>Safe for use by several threads. The peer's operations are carried out by this node's polling
 * threads; once {@link #close()} has returned, none of them touches the memory any more, and later
 * ones are refused.
 */
public final class ExportedRegion implements AutoCloseable {
  private final ExportTable owner;
  private final MemorySegment memory;
  private final RegionDescriptor descriptor;

  /** Held while the memory is accessed for a peer, and to end that. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Guarded by the lock. */
  private boolean closed;

  ExportedRegion(ExportTable owner, MemorySegment memory, RegionDescriptor descriptor) {
    this.owner = owner;
    this.memory = memory;
    this.descriptor = descriptor;
  }

  /** Returns what a peer needs to know, to be sent to it. */
  public RegionDescriptor descriptor() {
    return descriptor;
  }

  /** Returns the memory. */
  public MemorySegment memory() {
    return memory;
  }

  /** Keeps the region open for one access; false when it is closed. */
  boolean enter() {
    lock.lock();
    if (closed || !memory.scope().isAlive()) {
      lock.unlock();
      return false;
    }
    return true;
  }

  void leave() {
    lock.unlock();
  }

  /** Takes the memory back from peers, when the access under way has ended; idempotent. */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
    } finally {
      lock.unlock();
    }
    owner.remove(this);
  }

  @Override
  public String toString() {
    return "exported region 0x%x of %d bytes".formatted(descriptor.id(), descriptor.lengthBytes());
  }
}
