package io.rdma4j.verbs;

import io.rdma4j.os.ArenaHook;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory that belongs to someone else: a direct buffer, or a segment of an arena.
 *
 * <p>A registration names an address, which does not keep Java memory alive. This class does: the
 * buffer or segment stays reachable until the device has forgotten it, even when this object is
 * dropped; and where memory ends by {@link Arena#close()}, the close ends the registration first.
 * Requests still posted then fail at the device with a protection error instead of touching memory
 * that has become someone else's.
 *
 * <p>Safe for use by several threads. {@link #close()} does not wait; see {@link MemoryRegion}.
 */
public final class ForeignMemory implements AutoCloseable {
  /** The most that {@link MemorySegment#asByteBuffer()} can show. */
  public static final int MAX_VIEW_BYTES = Integer.MAX_VALUE - 8;

  private static final int WRITES = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC;

  /** What the garbage collector must not take: every registration the device still knows. */
  private static final Set<ForeignMemory> REGISTERED = ConcurrentHashMap.newKeySet();

  private final Object memory;
  private final MemorySegment segment;
  private final MemoryRegion region;

  private ForeignMemory(Object memory, MemorySegment segment, MemoryRegion region) {
    this.memory = memory;
    this.segment = segment;
    this.region = region;
    REGISTERED.add(this);
    region.whenDeregistered(() -> REGISTERED.remove(this));
  }

  /**
   * Registers the bytes of a direct buffer between position and limit.
   *
   * @param access bits of {@link Access}
   * @throws IllegalArgumentException for a heap buffer, an empty one, a read-only one that the
   *     device shall write to, or the view of an arena's segment: register that segment instead
   */
  public static ForeignMemory register(ProtectionDomain domain, ByteBuffer buffer, int access) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "a heap buffer has no fixed address: register a direct buffer, not " + buffer);
    }
    return registerLasting(domain, buffer, MemorySegment.ofBuffer(buffer), access);
  }

  /**
   * Registers a segment that no one can close: of the global or an automatic arena.
   *
   * @throws IllegalArgumentException for a segment that can be closed, and as for a buffer
   */
  public static ForeignMemory register(ProtectionDomain domain, MemorySegment segment, int access) {
    return registerLasting(domain, segment, segment, access);
  }

  /**
   * Registers a segment of an arena. {@link Arena#close()} ends the registration before it frees
   * the memory.
   *
   * @param arena the arena that the segment was allocated from
   * @throws IllegalArgumentException for a segment of another arena, and as for a buffer
   * @throws IllegalStateException when the arena has been closed
   */
  public static ForeignMemory register(
      ProtectionDomain domain, MemorySegment segment, Arena arena, int access) {
    check(segment, access);
    if (!arena.scope().equals(segment.scope())) {
      throw new IllegalArgumentException(segment + " was not allocated from the arena given");
    }
    var guard = new Guard();
    ArenaHook.atClose(arena, segment, guard);
    MemoryRegion region =
        guard.register(() -> domain.registerMemory(segment.address(), segment.byteSize(), access));
    return new ForeignMemory(segment, segment, region);
  }

  private static ForeignMemory registerLasting(
      ProtectionDomain domain, Object memory, MemorySegment segment, int access) {
    check(segment, access);
    if (ArenaHook.isClosable(segment.scope())) {
      throw new IllegalArgumentException(
          segment + " can be closed while the device uses it: pass its arena as well");
    }
    MemoryRegion region = domain.registerMemory(segment.address(), segment.byteSize(), access);
    return new ForeignMemory(memory, segment, region);
  }

  private static void check(MemorySegment segment, int access) {
    if (!segment.isNative() || segment.byteSize() == 0) {
      throw new IllegalArgumentException(
          "a registration needs at least 1 byte of native memory, not " + segment);
    }
    if (segment.isReadOnly() && (access & WRITES) != 0) {
      throw new IllegalArgumentException(
          "read-only memory can not be registered for writing by the device: " + segment);
    }
  }

  /** Returns the registration, for keys and reference counts. */
  public MemoryRegion region() {
    return region;
  }

  /** Returns the memory. */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Returns the memory as a buffer.
   *
   * @throws UnsupportedOperationException above {@link Integer#MAX_VALUE} bytes, and for a segment
   *     already above {@link #MAX_VIEW_BYTES}; the registration stays usable
   */
  public ByteBuffer asByteBuffer() {
    if (memory instanceof ByteBuffer buffer) {
      return buffer.slice().order(buffer.order());
    }
    if (segment.byteSize() > MAX_VIEW_BYTES) {
      throw new UnsupportedOperationException(
          "the view of a segment as ByteBuffer holds at most "
              + MAX_VIEW_BYTES
              + " bytes, this one has "
              + segment.byteSize()
              + ": use segment()");
    }
    return segment.asByteBuffer();
  }

  @Override
  public void close() {
    region.close();
  }

  @Override
  public String toString() {
    return region + " of " + memory;
  }

  /**
   * Ends a registration when its arena is closed. The arena's memory is freed only after {@link
   * #run} returns, so registering and running must not overlap.
   */
  private static final class Guard implements Runnable {
    private @Nullable MemoryRegion region;
    private boolean ended;

    synchronized MemoryRegion register(Supplier<MemoryRegion> registration) {
      if (ended) {
        throw new IllegalStateException("the arena was closed while its memory was registered");
      }
      MemoryRegion made = registration.get();
      region = made;
      made.whenDeregistered(this::forget);
      return made;
    }

    /** The arena may live on for long; what it keeps of an ended registration is this shell. */
    private synchronized void forget() {
      region = null;
    }

    @Override
    public void run() {
      MemoryRegion live;
      synchronized (this) {
        ended = true;
        live = region;
      }
      if (live != null) {
        live.revoke();
      }
    }
  }
}
