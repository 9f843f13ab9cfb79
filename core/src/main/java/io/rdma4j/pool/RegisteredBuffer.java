package io.rdma4j.pool;

import io.rdma4j.pool.internal.BlockHandle;
import io.rdma4j.pool.internal.Magazine;
import io.rdma4j.pool.internal.Slab;
import io.rdma4j.provider.MemoryRegistrar;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A lease of one block of registered memory.
 *
 * <p>A lease is empty or holds one block. It has one owner at a time and is not safe for use by
 * several threads at once, but it may be handed from thread to thread, and any thread may release
 * it. An empty lease can be filled again by {@link RegisteredBufferPool#allocate(int,
 * RegisteredBuffer)}, which makes no garbage.
 *
 * <p>Using an empty lease, or one whose block was released behind its back through {@link
 * RegisteredBufferPool#release(long)}, fails with {@link IllegalStateException}. The segment is the
 * block itself: whoever keeps it past the release writes into somebody else's message.
 */
public final class RegisteredBuffer implements AutoCloseable {
  private final RegisteredBufferPool pool;

  /** The magazine of the thread that allocated last, which mostly allocates and releases next. */
  private @Nullable Magazine magazine;

  private long handle;
  private int lengthBytes;

  RegisteredBuffer(RegisteredBufferPool pool) {
    this.pool = pool;
  }

  void fill(long handle, int lengthBytes) {
    this.handle = handle;
    this.lengthBytes = lengthBytes;
  }

  @Nullable Magazine magazine() {
    return magazine;
  }

  void magazine(@Nullable Magazine magazine) {
    this.magazine = magazine;
  }

  /** Returns the slab when the lease is in force. */
  private Slab live() {
    // An empty lease's handle names no block.
    if (!pool.isLeased(handle)) {
      throw notLive();
    }
    return pool.slabOf(handle);
  }

  private IllegalStateException notLive() {
    return new IllegalStateException(
        isEmpty()
            ? "this lease is empty: its block was released, detached or never allocated"
            : "this lease is stale: its block was released through handle 0x%x".formatted(handle));
  }

  private MemorySegment segmentNow() {
    return live().segment(pool.indexOf(handle));
  }

  /** Returns the pool the block belongs to. */
  public RegisteredBufferPool pool() {
    return pool;
  }

  /** Returns the whole block, valid until the release; the same object for the block every time. */
  public MemorySegment segment() {
    return segmentNow();
  }

  /**
   * Returns a new direct buffer over the block, big-endian like every new one: position 0, limit
   * {@link #lengthBytes}, capacity {@link #capacityBytes}.
   *
   * <p>Like {@link #segment} it is valid until the release, and nothing checks that: after the
   * release it reaches memory that may be another's. Buffers of a {@link PooledArena} are checked.
   */
  public ByteBuffer asByteBuffer() {
    return segmentNow().asByteBuffer().limit(lengthBytes);
  }

  /** Returns the start address of the block. */
  public long address() {
    return segmentNow().address();
  }

  /** Returns the size of the block, at least what was asked for. */
  public int capacityBytes() {
    return (int) segmentNow().byteSize();
  }

  /** Returns the length of the payload: what was asked for, until set otherwise. */
  public int lengthBytes() {
    return lengthBytes;
  }

  /**
   * Sets the length of the payload.
   *
   * @throws IllegalArgumentException when negative or above {@link #capacityBytes}
   */
  public RegisteredBuffer lengthBytes(int lengthBytes) {
    int capacity = capacityBytes();
    if (lengthBytes < 0 || lengthBytes > capacity) {
      throw new IllegalArgumentException(
          "length must be 0 to %d bytes, the block, was %d".formatted(capacity, lengthBytes));
    }
    this.lengthBytes = lengthBytes;
    return this;
  }

  /** Returns the local key with the registrar at that place in the pool's list. */
  public int lkey(int registrarIndex) {
    return live().lkey(registrarIndex);
  }

  /** Returns the local key with a registrar of the pool. */
  public int lkey(MemoryRegistrar registrar) {
    return live().lkey(pool.indexOf(registrar));
  }

  /** Returns the remote key with the registrar at that place in the pool's list. */
  public int rkey(int registrarIndex) {
    return live().rkey(registrarIndex);
  }

  /** Returns the remote key with a registrar of the pool. */
  public int rkey(MemoryRegistrar registrar) {
    return live().rkey(pool.indexOf(registrar));
  }

  /** Returns true when the lease holds no block. */
  public boolean isEmpty() {
    return handle == BlockHandle.NONE;
  }

  /**
   * Gives the block back; the lease is empty afterwards.
   *
   * @throws IllegalStateException when the lease is empty or stale; the pool counts it
   */
  public void release() {
    long taken = takeHandle();
    Magazine last = magazine;
    if (last == null || !last.isOwnedBy(Thread.currentThread())) {
      pool.release(taken);
    } else if (!last.give(taken)) {
      pool.releaseSlow(taken, last);
    }
  }

  /** Gives the block back if there is one. */
  @Override
  public void close() {
    if (!isEmpty()) {
      release();
    }
  }

  /**
   * Moves ownership of the block into a handle, to be given back by {@link
   * RegisteredBufferPool#release(long)} or {@link RegisteredBufferPool#attach}; the lease is empty
   * afterwards and the handle not 0.
   *
   * @throws IllegalStateException when the lease is empty or stale
   */
  public long detach() {
    live();
    return takeHandle();
  }

  private long takeHandle() {
    long taken = handle;
    handle = BlockHandle.NONE;
    lengthBytes = 0;
    return taken;
  }

  @Override
  public String toString() {
    return isEmpty()
        ? "empty lease"
        : "lease of block %d, %d bytes, handle 0x%x"
            .formatted(BlockHandle.block(handle), lengthBytes, handle);
  }
}
