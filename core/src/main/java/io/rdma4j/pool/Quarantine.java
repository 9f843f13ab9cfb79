package io.rdma4j.pool;

import io.rdma4j.pool.internal.BlockPool;
import java.util.Arrays;

/**
 * Buffers whose request has been given up while a device or a peer may still read or write them.
 * They stay on lease, so nobody else gets them, and count as used and as quarantined, until {@link
 * #release}: when the connection has been flushed, or the key the peer holds is no longer valid.
 *
 * <p>Safe for use by several threads. Owned by whoever opened it, usually a connection.
 */
public final class Quarantine implements AutoCloseable {
  private static final int FIRST_CAPACITY = 8;

  private final RegisteredBufferPool pool;
  private final BlockPool blocks;
  private final String owner;
  private long[] handles = new long[FIRST_CAPACITY];
  private int size;
  private boolean closed;

  Quarantine(RegisteredBufferPool pool, BlockPool blocks, String owner) {
    this.pool = pool;
    this.blocks = blocks;
    this.owner = owner;
  }

  /**
   * Takes over the block of a lease, which is empty afterwards.
   *
   * @throws IllegalStateException when the lease is empty, stale or of another pool, or this is
   *     closed; nothing is changed
   */
  public void add(RegisteredBuffer lease) {
    if (lease.pool() != pool) {
      throw new IllegalStateException("this lease belongs to another pool than " + this);
    }
    synchronized (this) {
      checkOpen();
      keep(lease.detach());
    }
  }

  /**
   * Takes over a block that is held by handle, which must not be used any more.
   *
   * @throws IllegalStateException for a handle that is not in force, or when this is closed
   */
  public synchronized void add(long handle) {
    checkOpen();
    pool.segment(handle);
    keep(handle);
  }

  private void checkOpen() {
    if (closed) {
      throw new IllegalStateException(this + " is closed: its connection can not be waited for");
    }
  }

  private void keep(long handle) {
    if (size == handles.length) {
      handles = Arrays.copyOf(handles, 2 * size);
    }
    handles[size++] = handle;
    blocks.countQuarantined(1);
  }

  /** Returns the number of blocks in here. */
  public synchronized int size() {
    return size;
  }

  /**
   * Gives all blocks back to the pool: no device and no peer can reach them any more.
   *
   * @throws IllegalStateException when one was released behind its back; the others are given back
   */
  public synchronized void release() {
    RuntimeException failure = null;
    while (size > 0) {
      blocks.countQuarantined(-1);
      try {
        pool.release(handles[--size]);
      } catch (IllegalStateException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  /** Releases, and refuses more. */
  @Override
  public synchronized void close() {
    closed = true;
    release();
  }

  @Override
  public String toString() {
    return "quarantine of " + owner;
  }
}
