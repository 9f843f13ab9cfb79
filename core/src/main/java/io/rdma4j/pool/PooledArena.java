package io.rdma4j.pool;

import io.rdma4j.os.ScopedView;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An arena whose segments lie in registered memory: code that takes an {@link Arena} or a {@link
 * SegmentAllocator} works on memory that devices know, without a change to it. {@link
 * RegisteredBufferPool#find(MemorySegment)} has the keys.
 *
 * <p>Segments are cut from blocks of the pool one after the other; what is longer than a block gets
 * a large object of its own, registered as a whole before it is returned. Blocks go back to the
 * pool when the arena is closed, and from then on every access through a segment, a slice or a byte
 * buffer of the arena fails with {@link IllegalStateException}: the pool's memory stays, the way to
 * it ends. Nothing is given back before, so an arena is for work with an end, such as one message
 * or one batch. An arena that is never closed keeps its blocks.
 *
 * <p>Confined arenas are for the thread that opened them, and cost nothing to close. Shared ones
 * are for any thread. As with the arenas of the JDK, segments are zeroed, closing twice fails, and
 * a confined arena fails with {@link WrongThreadException} on another thread.
 */
public final class PooledArena implements Arena {
  /** Blocks begin at multiples of this. */
  private static final long BLOCK_ALIGNMENT_BYTES = 64;

  /** Of byte buffers: a cache line, so that no two of them share one. */
  private static final long BUFFER_ALIGNMENT_BYTES = 64;

  private final RegisteredBufferPool pool;
  private final Arena life;
  private final @Nullable Thread owner;
  private final SegmentAllocator uninitialized = this::allocateUninitialized;

  /** What is taken from the pool. Guarded, like all below, by the monitor if there is no owner. */
  private final RegisteredBuffer lease;

  private long[] handles = new long[4];
  private int handleCount;
  private @Nullable List<LargeBuffer> large;

  /** The block that segments are cut from, and how far it is used. */
  private MemorySegment block = MemorySegment.NULL;

  private long usedBytes;

  /** Opens an arena for the calling thread alone, or for any thread. */
  @SuppressWarnings("MustBeClosedChecker") // closed by close()
  PooledArena(RegisteredBufferPool pool, boolean shared) {
    this.pool = pool;
    if (shared) {
      this.life = Arena.ofShared();
      this.owner = null;
    } else {
      this.life = Arena.ofConfined();
      this.owner = Thread.currentThread();
    }
    this.lease = pool.newLease();
  }

  /**
   * Allocates zeroed memory.
   *
   * @throws PoolExhaustedException and others as {@link RegisteredBufferPool#allocate(int)} and
   *     {@link RegisteredBufferPool#allocateLarge}; the arena stays as it was
   */
  @Override
  public MemorySegment allocate(long byteSize, long byteAlignment) {
    return allocateUninitialized(byteSize, byteAlignment).fill((byte) 0);
  }

  /**
   * Returns this arena as an allocator that does not zero: for memory that is written as a whole
   * anyway. What is not written shows what an earlier user of the pool left there.
   */
  public SegmentAllocator uninitialized() {
    return uninitialized;
  }

  /**
   * Returns a new direct byte buffer like {@link ByteBuffer#allocateDirect}: zeroed, big-endian,
   * position 0, limit and capacity as asked for. After the arena's close every access fails.
   *
   * <p>On a confined arena it is for the owner's thread alone.
   *
   * @throws PoolExhaustedException and others as {@link #allocate}
   */
  public ByteBuffer allocateDirect(int capacityBytes) {
    return allocate(capacityBytes, BUFFER_ALIGNMENT_BYTES).asByteBuffer();
  }

  private MemorySegment allocateUninitialized(long byteSize, long byteAlignment) {
    if (byteSize < 0 || byteAlignment <= 0 || Long.bitCount(byteAlignment) != 1) {
      throw new IllegalArgumentException(
          "size must not be negative and alignment a power of two, were %d and %d"
              .formatted(byteSize, byteAlignment));
    }
    if (owner == null) {
      synchronized (this) {
        return cut(byteSize, byteAlignment);
      }
    }
    if (owner != Thread.currentThread()) {
      throw new WrongThreadException(
          "this arena belongs to %s; openSharedArena makes one for several threads"
              .formatted(owner));
    }
    return cut(byteSize, byteAlignment);
  }

  private MemorySegment cut(long byteSize, long byteAlignment) {
    if (!life.scope().isAlive()) {
      throw new IllegalStateException("this arena is closed");
    }
    // Segments of no length too have an address of their own.
    long lengthBytes = Math.max(1, byteSize);
    long start = aligned(block, usedBytes, byteAlignment);
    if (lengthBytes <= block.byteSize() - start) {
      usedBytes = start + lengthBytes;
      return block.asSlice(start, byteSize, byteAlignment);
    }
    long slack = Math.max(0, byteAlignment - BLOCK_ALIGNMENT_BYTES);
    // Too much for any pool is refused by the pool, with its limit.
    long needBytes = lengthBytes > Long.MAX_VALUE - slack ? Long.MAX_VALUE : lengthBytes + slack;
    MemorySegment view =
        needBytes <= pool.maxBufferBytes() ? takeBlock((int) needBytes) : takeLarge(needBytes);
    long first = aligned(view, 0, byteAlignment);
    long end = first + lengthBytes;
    if (needBytes <= pool.maxBufferBytes()
        && view.byteSize() - end > block.byteSize() - usedBytes) {
      block = view;
      usedBytes = end;
    }
    return view.asSlice(first, byteSize, byteAlignment);
  }

  /** Returns the first offset from {@code from} on whose address is aligned. */
  private static long aligned(MemorySegment memory, long from, long alignment) {
    long address = memory.address() + from;
    return from + (-address & alignment - 1);
  }

  private MemorySegment takeBlock(int needBytes) {
    if (handleCount == handles.length) {
      handles = Arrays.copyOf(handles, 2 * handleCount);
    }
    pool.allocate(needBytes, lease);
    MemorySegment memory = lease.segment();
    handles[handleCount++] = lease.detach();
    return ScopedView.of(memory, life);
  }

  private MemorySegment takeLarge(long needBytes) {
    LargeBuffer buffer = pool.allocateLarge(needBytes);
    try {
      buffer.awaitReady();
    } catch (RuntimeException | Error e) {
      buffer.close();
      throw e;
    }
    List<LargeBuffer> all = Objects.requireNonNullElseGet(large, ArrayList::new);
    all.add(buffer);
    large = all;
    return ScopedView.of(buffer.segment(), life);
  }

  @Override
  public MemorySegment.Scope scope() {
    return life.scope();
  }

  /**
   * Ends every way to the arena's memory, then gives it back.
   *
   * @throws IllegalStateException when it is closed, or a native call is using a segment of it,
   *     which changes nothing
   */
  @Override
  public void close() {
    if (owner != null) {
      life.close();
      giveBack();
    } else {
      synchronized (this) {
        life.close();
        giveBack();
      }
    }
  }

  private void giveBack() {
    block = MemorySegment.NULL;
    RuntimeException failure = null;
    while (handleCount > 0) {
      try {
        pool.release(handles[--handleCount]);
      } catch (IllegalStateException e) {
        failure = e;
      }
    }
    for (LargeBuffer buffer : Objects.requireNonNullElse(large, List.<LargeBuffer>of())) {
      try {
        buffer.release();
      } catch (RuntimeException e) {
        failure = e;
      }
    }
    large = null;
    if (failure != null) {
      throw failure;
    }
  }
}
