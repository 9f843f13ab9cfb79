package io.rdma4j.pool;

import io.rdma4j.os.ArenaHook;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Keys for memory that is not the pool's own: segments of arenas, and direct buffers. What has been
 * registered once stays registered for a while, so that the next use of the same memory, or of any
 * part of it, costs a look-up.
 *
 * <p><b>Never stale.</b> A registration is found by the scope of a segment and an address inside.
 * Equal scopes denote the same lifetime (see {@link MemorySegment.Scope}), so as long as the scope
 * is alive its memory has been there since the registration; other memory at the same address has
 * another scope. The cache keeps the scope of what a device knows, so a direct buffer or the memory
 * of an automatic arena is not collected before the registration has ended: at the latest, by
 * {@link #maintain}, when nobody has used it for {@link RegistrationCacheConfig#maxIdle}.
 *
 * <p><b>Memory that can be freed by hand.</b> Pass the arena along with the segment: its close then
 * ends the registration before the memory is freed, whether in use or not. Without the arena the
 * rights must be local, and the arena must stay open until the leases are released. What the cache
 * has of a closed arena is never found again and ends with the next miss or {@link #maintain};
 * until then its pages stay pinned. Whoever frees memory behind the back of its scope (global
 * segments of addresses from C, cleaners of direct buffers) calls {@link #invalidate} first.
 *
 * <p><b>What is registered.</b> Exactly what was asked for, with two exceptions. With local rights
 * alone, neighbours with the same rights are taken in, as long as each at least doubles thereby, so
 * that pieces used one after the other end up in few registrations. And where the same range is
 * registered with other rights, the new registration has both. Registrations that become
 * superfluous end with their last user. Ask for a large segment as a whole first, and all its
 * slices hit.
 *
 * <p><b>Rights of peers outlast the lease.</b> A key given to a peer works until its registration
 * ends; {@link #invalidate} ends it as soon as its leases are released.
 *
 * <p><b>Bounds.</b> When the cache is full, those unused for longest are ended. When all are in
 * use, a registration is made for its users alone and ends with them; statistics count it as
 * uncached.
 *
 * <p>Safe for use by several threads. A hit takes no lock and costs one atomic operation, as does
 * the release. Of several threads that miss the same memory one registers. The cache owns its
 * registrations, not the registrar, which must outlive it.
 */
public final class RegistrationCache implements AutoCloseable {
  private final RegistrationTable table;

  private RegistrationCache(RegistrationTable table) {
    this.table = table;
  }

  /** Creates an empty cache for one device. */
  public static RegistrationCache create(
      RegistrationCacheConfig config, MemoryRegistrar registrar) {
    return new RegistrationCache(new RegistrationTable(config, registrar));
  }

  /** Returns an empty lease for the methods that fill one. */
  public RegistrationLease newLease() {
    return new RegistrationLease(this);
  }

  /**
   * Fills a lease with the keys for a segment.
   *
   * @param access bits of {@link MemoryAccess}; of peers only where no one can close the segment's
   *     arena
   * @param lease empty, of this cache; stays empty when this fails
   * @throws IllegalArgumentException for a heap segment, an empty one, a read-only one that the
   *     device shall write to, rights that contradict each other, and peers' rights to memory that
   *     can be closed
   * @throws io.rdma4j.Rdma4jException when the device refuses the registration
   * @throws IllegalStateException when the segment's arena or this cache is closed, or the lease is
   *     not empty
   */
  public void acquire(MemorySegment segment, int access, RegistrationLease lease) {
    fill(lease, segment, null, access);
  }

  /** Returns a new lease with the keys for a segment, as if filled. */
  public RegistrationLease acquire(MemorySegment segment, int access) {
    RegistrationLease lease = newLease();
    fill(lease, segment, null, access);
    return lease;
  }

  /**
   * Fills a lease with the keys for the bytes of a direct buffer between position and limit.
   *
   * <p>Slices and duplicates of a buffer share its registrations. For a buffer that is the view of
   * a segment pass the segment and its arena. A hit makes garbage here, some 70 bytes: to make
   * none, keep {@link MemorySegment#ofBuffer} of the buffer and pass that.
   *
   * @throws IllegalArgumentException and others as for a segment
   */
  public void acquire(ByteBuffer buffer, int access, RegistrationLease lease) {
    fill(lease, segmentOf(buffer), null, access);
  }

  /** Returns a new lease with the keys for a direct buffer, as if filled. */
  public RegistrationLease acquire(ByteBuffer buffer, int access) {
    return acquire(segmentOf(buffer), access);
  }

  /**
   * Fills a lease with the keys for a segment of an arena, whose close ends the registration before
   * it frees the memory. Work still posted then fails at the device.
   *
   * @param arena the arena that the segment was allocated from; when confined, the calling thread's
   * @throws IllegalArgumentException for a segment of another arena, and as for a segment alone
   * @throws WrongThreadException for another thread's confined arena
   */
  public void acquire(MemorySegment segment, Arena arena, int access, RegistrationLease lease) {
    fill(lease, segment, arena, access);
  }

  private void fill(
      RegistrationLease lease, MemorySegment segment, @Nullable Arena arena, int access) {
    if (lease.cache() != this || !lease.isEmpty()) {
      throw refused(lease);
    }
    long address = segment.address();
    long lengthBytes = segment.byteSize();
    MemorySegment.Scope scope = segment.scope();
    if (!isRegistrable(segment, access) || (arena != null && !arena.scope().equals(scope))) {
      throw refused(segment, arena, access);
    }
    CachedRegistration registration = table.tryAcquire(scope, address, lengthBytes, access);
    if (registration == null) {
      registration = acquireSlowly(segment, arena, access);
    } else if (arena != null && !registration.isGuarded()) {
      guard(arena, segment, registration);
    }
    if (!scope.isAlive()) {
      registration.release();
      RegistrationTable.checkAlive(scope);
    }
    lease.fill(registration, address, lengthBytes);
  }

  private static boolean isRegistrable(MemorySegment segment, int access) {
    return segment.isNative()
        && segment.byteSize() > 0
        && MemoryAccess.isValid(access)
        && !(segment.isReadOnly() && MemoryAccess.isWriting(access));
  }

  private CachedRegistration acquireSlowly(
      MemorySegment segment, @Nullable Arena arena, int access) {
    MemoryRange range = rangeOf(segment);
    MemorySegment.Scope scope = segment.scope();
    if (arena != null) {
      table.guard(arena, segment, range);
    } else if (MemoryAccess.isRemote(access) && ArenaHook.isClosable(scope)) {
      throw new IllegalArgumentException(
          segment
              + " can be closed while peers use it with "
              + MemoryAccess.toString(access)
              + ": pass its arena as well");
    }
    return table.acquire(scope, range, access);
  }

  /** Lets the arena end a registration that somebody else made without it. */
  private void guard(Arena arena, MemorySegment segment, CachedRegistration registration) {
    try {
      table.guard(arena, segment, registration.range());
    } catch (RuntimeException | Error e) {
      registration.release();
      throw e;
    }
  }

  private static MemoryRange rangeOf(MemorySegment segment) {
    try {
      return MemoryRange.of(segment.address(), segment.byteSize());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(segment + " reaches beyond all addresses", e);
    }
  }

  private static MemorySegment segmentOf(ByteBuffer buffer) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(
          "a heap buffer has no fixed address: use a direct buffer, not " + buffer);
    }
    return MemorySegment.ofBuffer(buffer);
  }

  private IllegalStateException refused(RegistrationLease lease) {
    return new IllegalStateException(
        lease.cache() != this
            ? "this lease belongs to another cache"
            : "this lease still holds a registration; release it first: " + lease);
  }

  private static IllegalArgumentException refused(
      MemorySegment segment, @Nullable Arena arena, int access) {
    MemoryAccess.check(access);
    if (!segment.isNative() || segment.byteSize() == 0) {
      return new IllegalArgumentException(
          "a registration needs at least 1 byte of native memory, not " + segment);
    }
    if (segment.isReadOnly() && MemoryAccess.isWriting(access)) {
      return new IllegalArgumentException(
          "read-only memory can not be registered for "
              + MemoryAccess.toString(access)
              + ": "
              + segment);
    }
    return new IllegalArgumentException(
        segment + " was not allocated from the arena given, " + arena);
  }

  /**
   * Forgets all that overlaps a range, whatever its scope: before the memory is freed by means that
   * its scope does not know of, or to end the rights of peers. Registrations without leases end
   * here, others with their last lease; neither is found again.
   *
   * @return the number of registrations of the range that the device still knows: the memory must
   *     not be freed before this is 0
   */
  public int invalidate(long address, long lengthBytes) {
    return table.invalidate(MemoryRange.of(address, lengthBytes));
  }

  /**
   * Ends registrations of closed arenas and those that nobody has used for {@link
   * RegistrationCacheConfig#maxIdle}, and tries again to end those that the device did not let go.
   * Call it now and then, from any thread; the cache has no thread of its own.
   *
   * @param nowNs present time of a clock like {@link System#nanoTime}, the same at each call
   * @return the number of registrations ended
   */
  public int maintain(long nowNs) {
    return table.maintain(nowNs);
  }

  /** Returns what the cache holds and has done; any thread. */
  public RegistrationCacheStatistics statistics() {
    return table.statistics();
  }

  /**
   * Ends all registrations that are not in use and refuses new leases. Those in use end with their
   * last release. Closing again tries again what the device has refused.
   *
   * @throws IllegalStateException naming the number of registrations that the device still knows,
   *     after everything else has ended
   */
  @Override
  public void close() {
    table.close();
  }

  @Override
  public String toString() {
    return "registration cache of " + table;
  }
}
