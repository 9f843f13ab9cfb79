package io.rdma4j.pool;

import io.rdma4j.pool.internal.LargeObject;
import io.rdma4j.pool.internal.LargeObjects;
import io.rdma4j.pool.internal.SegmentedMemory;
import io.rdma4j.provider.MemoryRegistrar;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * A lease of memory above the pool's largest block: contiguous, and registered in segments, each
 * with keys of its own.
 *
 * <pre>
 *  offset 0           segmentBytes       2 * segmentBytes        lengthBytes
 *  |  segment 0        |  segment 1       |  segment 2            |
 *  |  ready first      |  registered in parallel, in this order   |
 * </pre>
 *
 * <p>All of it can be written at once; a segment can be sent from when it is {@linkplain #isReady
 * ready}. When a device refuses one segment, the whole registration fails: everybody who waits or
 * asks for a key gets a {@link PoolGrowthException}, the devices forget the other segments, and the
 * memory stays readable until the release.
 *
 * <p>New memory is zeroed, memory handed out again is not. {@link #segment} is valid until the
 * release; the methods of this class check that, accesses through a segment kept for longer do not,
 * unless the memory is gone. For any thread.
 */
public final class LargeBuffer implements AutoCloseable {
  /** Takes one part that has one key. */
  @FunctionalInterface
  public interface PartConsumer {
    /**
     * Takes a part.
     *
     * @param address its start
     * @param lengthBytes its length, at most a segment's
     */
    void accept(long address, long lengthBytes, int lkey, int rkey);
  }

  private final RegisteredBufferPool pool;
  private final LargeObjects owner;
  private final LargeObject object;
  private final SegmentedMemory memory;
  private final MemorySegment segment;
  private final AtomicBoolean released = new AtomicBoolean();

  LargeBuffer(RegisteredBufferPool pool, LargeObjects owner, LargeObject object, long lengthBytes) {
    this.pool = pool;
    this.owner = owner;
    this.object = object;
    this.memory = object.memory();
    this.segment = memory.memory().asSlice(0, lengthBytes);
  }

  private SegmentedMemory live() {
    if (released.get()) {
      throw new IllegalStateException("this large buffer was released before");
    }
    return memory;
  }

  private SegmentedMemory live(long offset, long lengthBytes) {
    Objects.checkFromIndexSize(offset, lengthBytes, segment.byteSize());
    return live();
  }

  /** Returns the pool the memory belongs to. */
  public RegisteredBufferPool pool() {
    return pool;
  }

  /** Returns the memory, as long as was asked for; the same object every time. */
  public MemorySegment segment() {
    live();
    return segment;
  }

  /** Returns the start address, a multiple of the page size. */
  public long address() {
    return segment().address();
  }

  /** Returns the length that was asked for. */
  public long lengthBytes() {
    return segment.byteSize();
  }

  /** Returns the bytes of the object behind it, which count towards the pool's budget. */
  public long capacityBytes() {
    return memory.lengthBytes();
  }

  /** Returns the number of segments that hold {@link #lengthBytes}. */
  public int segmentCount() {
    return Math.toIntExact(Math.ceilDiv(lengthBytes(), memory.segmentBytes()));
  }

  /** Returns the length of a segment; the last one may be shorter. */
  public long segmentBytes() {
    return memory.segmentBytes();
  }

  /**
   * Returns the local key of the segment at an offset, with the registrar at that place in the
   * pool's list.
   *
   * @throws IllegalStateException when the segment is not ready yet, or this buffer was released
   * @throws PoolGrowthException when the registration has failed
   */
  public int lkey(long offset, int registrarIndex) {
    return live(offset, 1).rangeAt(offset).lkey(registrarIndex);
  }

  /** Returns the local key of the segment at an offset; see {@link #lkey(long, int)}. */
  public int lkey(long offset, MemoryRegistrar registrar) {
    return lkey(offset, pool.indexOf(registrar));
  }

  /** Returns the remote key of the segment at an offset; see {@link #lkey(long, int)}. */
  public int rkey(long offset, int registrarIndex) {
    return live(offset, 1).rangeAt(offset).rkey(registrarIndex);
  }

  /** Returns the remote key of the segment at an offset; see {@link #lkey(long, int)}. */
  public int rkey(long offset, MemoryRegistrar registrar) {
    return rkey(offset, pool.indexOf(registrar));
  }

  /** Returns true when every segment of a part is registered; false as well after a failure. */
  public boolean isReady(long offset, long lengthBytes) {
    return live(offset, lengthBytes).isReady(offset, lengthBytes);
  }

  /**
   * Waits until every segment of a part is registered.
   *
   * @return false when the time is over, or the thread was interrupted, which stays set
   * @throws PoolGrowthException when a device has refused a segment, be it another one
   * @throws io.rdma4j.Rdma4jException when the kernel has refused memory
   * @throws IllegalStateException when the pool was closed meanwhile, or this buffer was released
   */
  public boolean awaitReady(long offset, long lengthBytes, long timeoutNs) {
    return live(offset, lengthBytes).awaitReady(offset, lengthBytes, timeoutNs);
  }

  /** As {@link #awaitReady(long, long, long)}. */
  public boolean awaitReady(long offset, long lengthBytes, Duration timeout) {
    return awaitReady(offset, lengthBytes, timeout.toNanos());
  }

  /** Waits, however long it takes and through interrupts, until all is registered. */
  void awaitReady() {
    live().awaitReady(0, lengthBytes());
  }

  /**
   * Returns a stage that ends when every segment is registered, or with the failures of {@link
   * #awaitReady(long, long, long)}. Actions that depend on it without an executor run on a worker
   * of the pool, so they must be short.
   */
  public CompletionStage<@Nullable Void> whenReady() {
    return live().whenWhole();
  }

  /**
   * Splits a part at the bounds of segments: for gather lists, whose entries have one key each.
   * Makes no garbage.
   *
   * @param registrarIndex place of the registrar in the pool's list
   * @param consumer gets the parts in order
   * @throws IllegalStateException when a segment of the part is not ready yet, or this buffer was
   *     released; the consumer got nothing
   * @throws PoolGrowthException when the registration has failed
   */
  public void forEachPart(
      long offset, long lengthBytes, int registrarIndex, PartConsumer consumer) {
    SegmentedMemory now = live(offset, lengthBytes);
    long end = offset + lengthBytes;
    if (!now.isReady(offset, lengthBytes)) {
      requireKeys(now, offset, end);
    }
    long base = segment.address();
    for (long at = offset; at < end; ) {
      RegisteredRange range = now.rangeAt(at);
      long stop = Math.min(end, range.address() + range.lengthBytes() - base);
      consumer.accept(base + at, stop - at, range.lkey(registrarIndex), range.rkey(registrarIndex));
      at = stop;
    }
  }

  private static void requireKeys(SegmentedMemory memory, long offset, long end) {
    for (long at = offset; at < end; at += memory.segmentBytes()) {
      memory.rangeAt(at);
    }
    if (end > offset) {
      memory.rangeAt(end - 1);
    }
  }

  /**
   * Gives the memory back; it stays registered for the next request.
   *
   * @throws IllegalStateException when it was released before; the pool counts it
   */
  public void release() {
    if (!released.compareAndSet(false, true)) {
      throw pool.refused("this large buffer was released before");
    }
    owner.release(object);
  }

  /** Gives the memory back unless that was done before. */
  @Override
  public void close() {
    if (released.compareAndSet(false, true)) {
      owner.release(object);
    }
  }

  @Override
  public String toString() {
    return "large buffer of %d bytes in %d segments%s"
        .formatted(lengthBytes(), segmentCount(), released.get() ? ", released" : "");
  }
}
