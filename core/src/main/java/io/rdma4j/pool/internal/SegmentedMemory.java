package io.rdma4j.pool.internal;

import io.rdma4j.Rdma4jException;
import io.rdma4j.os.Mapping;
import io.rdma4j.pool.RegisteredRange;
import io.rdma4j.pool.internal.SlabFactory.RegisteredMemory;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One mapping that the devices get to know segment by segment, each with keys of its own. All
 * segments are of one length but for the last, which may be shorter.
 *
 * <p>Any thread may wait for any part. The first failure ends the whole: it reaches everybody who
 * waits or asks for a key, and no segment is ready any more. Safe for use by several threads; the
 * monitor is never held over a registration.
 */
public final class SegmentedMemory {
  private final Mapping mapping;
  private final int node;
  private final long segmentBytes;
  private final SlabFactory factory;
  private final AddressIndex index;
  private final AtomicReferenceArray<@Nullable Segment> segments;
  private final CompletableFuture<@Nullable Void> whole = new CompletableFuture<>();

  /** All that was registered, also in part. Guarded by this object's monitor, like the next. */
  private final List<RegisteredMemory> registrations = new ArrayList<>();

  private int ready;
  private volatile boolean isWhole;
  private volatile @Nullable Throwable failure;

  /** Takes over a mapping, none of which is registered. */
  SegmentedMemory(
      Mapping mapping, int node, long segmentBytes, SlabFactory factory, AddressIndex index) {
    this.mapping = mapping;
    this.node = node;
    this.segmentBytes = segmentBytes;
    this.factory = factory;
    this.index = index;
    int count = Math.toIntExact(Math.ceilDiv(mapping.lengthBytes(), segmentBytes));
    this.segments = new AtomicReferenceArray<>(count);
  }

  private record Segment(long address, long lengthBytes, int[] lkeys, int[] rkeys)
      implements RegisteredRange {
    static Segment of(long address, long lengthBytes, List<Registration> registrations) {
      return new Segment(
          address,
          lengthBytes,
          registrations.stream().mapToInt(Registration::lkey).toArray(),
          registrations.stream().mapToInt(Registration::rkey).toArray());
    }

    @Override
    public int lkey(int registrarIndex) {
      return lkeys[registrarIndex];
    }

    @Override
    public int rkey(int registrarIndex) {
      return rkeys[registrarIndex];
    }
  }

  /** Returns all of the memory. */
  public MemorySegment memory() {
    return mapping.segment();
  }

  /** Returns the bytes mapped. */
  public long lengthBytes() {
    return mapping.lengthBytes();
  }

  /** Returns the number of segments. */
  public int segmentCount() {
    return segments.length();
  }

  /** Returns the length of a segment; the last one may be shorter. */
  public long segmentBytes() {
    return segmentBytes;
  }

  int node() {
    return node;
  }

  boolean isMapped() {
    return mapping.segment().scope().isAlive();
  }

  private int segmentOf(long offset) {
    return (int) (offset / segmentBytes);
  }

  /**
   * Returns the registered segment at an offset.
   *
   * @throws IllegalStateException when it is not ready yet
   * @throws Rdma4jException when the registration has failed
   */
  public RegisteredRange rangeAt(long offset) {
    Segment segment = segments.getAcquire(segmentOf(offset));
    if (segment == null || failure != null) {
      throw notReady(offset);
    }
    return segment;
  }

  private RuntimeException notReady(long offset) {
    throwIfFailed();
    return new IllegalStateException(
        "segment %d of %d, at offset %d, is not registered yet; wait with awaitReady or whenReady"
            .formatted(segmentOf(offset), segmentCount(), offset));
  }

  /** Returns true when all segments of a part are registered. */
  public boolean isReady(long offset, long lengthBytes) {
    if (isWhole || failure != null) {
      return isWhole;
    }
    int last = lengthBytes == 0 ? segmentOf(offset) : segmentOf(offset + lengthBytes - 1);
    for (int i = segmentOf(offset); i <= last && i < segmentCount(); i++) {
      if (segments.getAcquire(i) == null) {
        return false;
      }
    }
    return true;
  }

  /** Returns true when every segment is registered. */
  public boolean isWhole() {
    return isWhole;
  }

  /** Returns true while segments are being registered, or are still to be. */
  boolean isUnderWay() {
    return !isWhole && failure == null;
  }

  boolean hasFailed() {
    return failure != null;
  }

  /**
   * Waits until a part is registered.
   *
   * @return false when the time is over, or the thread was interrupted, which stays set
   * @throws Rdma4jException when the registration has failed
   */
  public boolean awaitReady(long offset, long lengthBytes, long timeoutNs) {
    try {
      return await(offset, lengthBytes, timeoutNs);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Waits until a part is registered, through interrupts, which are kept for the caller. */
  public void awaitReady(long offset, long lengthBytes) {
    boolean interrupted = false;
    try {
      for (boolean done = false; !done; ) {
        try {
          done = await(offset, lengthBytes, Long.MAX_VALUE);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private boolean await(long offset, long lengthBytes, long timeoutNs) throws InterruptedException {
    if (isReady(offset, lengthBytes)) {
      return true;
    }
    long startNs = System.nanoTime();
    synchronized (this) {
      while (!isReady(offset, lengthBytes)) {
        throwIfFailed();
        long leftNs = timeoutNs - (System.nanoTime() - startNs);
        if (leftNs <= 0) {
          return false;
        }
        TimeUnit.NANOSECONDS.timedWait(this, leftNs);
      }
      return true;
    }
  }

  /** Returns a stage that ends when every segment is registered, or with the first failure. */
  public CompletionStage<@Nullable Void> whenWhole() {
    return whole.minimalCompletionStage();
  }

  /** Calls back with the first failure, if there ever is one. */
  void onFailure(Consumer<Throwable> action) {
    var _ =
        whole.exceptionally(
            e -> {
              action.accept(e);
              return null;
            });
  }

  /** Everybody gets a failure of his own, with his own stack. */
  private void throwIfFailed() {
    Throwable first = failure;
    if (first != null) {
      throw Waiting.ownFailure(first, String.valueOf(first.getMessage()));
    }
  }

  /**
   * Makes a segment's pages present and registers it. Its pages first: pinning absent ones would
   * bring them in one by one.
   *
   * @throws Rdma4jException when that fails; what was made is kept for {@link #deregister}
   */
  void register(int segment) {
    long offset = segment * segmentBytes;
    long lengthBytes = Math.min(segmentBytes, lengthBytes() - offset);
    mapping.populate(offset, lengthBytes);
    long address = mapping.address() + offset;
    List<Registration> done = new ArrayList<>();
    try {
      factory.register(address, lengthBytes, done);
    } finally {
      synchronized (this) {
        registrations.add(RegisteredMemory.of(mapping, lengthBytes, done, node));
      }
    }
    publish(segment, Segment.of(address, lengthBytes, done));
  }

  private void publish(int number, Segment segment) {
    boolean last;
    synchronized (this) {
      if (failure != null) {
        return;
      }
      index.add(segment);
      segments.setRelease(number, segment);
      ready++;
      isWhole = ready == segmentCount();
      last = isWhole;
      notifyAll();
    }
    if (last) {
      whole.complete(null);
    }
  }

  /** Ends the registration unless it is complete; the first failure counts. */
  void fail(Throwable cause) {
    synchronized (this) {
      if (failure != null || isWhole) {
        return;
      }
      failure = cause;
      notifyAll();
    }
    whole.completeExceptionally(cause);
  }

  /**
   * Makes all devices forget all segments. One thread at a time, and none beside {@link #register}.
   *
   * @return true when they have; false while one still has requests in flight
   * @throws RuntimeException the first failure, when all have been tried
   */
  boolean deregister() {
    for (int i = 0; i < segmentCount(); i++) {
      Segment segment = segments.getAcquire(i);
      if (segment != null) {
        index.remove(segment);
      }
    }
    List<RegisteredMemory> all;
    synchronized (this) {
      all = List.copyOf(registrations);
    }
    RuntimeException refusal = null;
    boolean forgotten = true;
    for (RegisteredMemory memory : all) {
      try {
        forgotten &= factory.deregister(memory);
      } catch (RuntimeException e) {
        if (refusal == null) {
          refusal = e;
        } else {
          refusal.addSuppressed(e);
        }
      }
    }
    if (refusal != null) {
      throw refusal;
    }
    return forgotten;
  }

  /** Unmaps the memory; every access through a segment of it fails from here on. */
  void unmap() {
    mapping.close();
  }
}
