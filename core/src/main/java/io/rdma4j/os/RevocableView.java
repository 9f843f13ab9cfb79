package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * One thread's way to memory that others reach as well, which can be taken away from it.
 *
 * <p>The owner writes through {@link #segment} without any atomic operation. {@link #revoke} closes
 * the view's shared arena, which stops the owner at a point of its program: what it has written by
 * then is there for everybody to see, and every later access through the view fails. An access that
 * fails with {@link IllegalStateException} may have been carried out before that point, since the
 * failure can strike between a store and its return; the memory tells. So an owner whose every
 * operation counts by one store needs no lock, and pays for revocation only when it happens: a
 * handshake with all threads, some tens of microseconds.
 *
 * <p>{@link #segment} and {@link #renew} belong to the owner; the others are for any thread.
 * Revoking and renewing are serialised by the caller.
 */
public final class RevocableView {
  private final MemorySegment memory;
  private Access access;

  /**
   * Creates a view that is in force.
   *
   * @param memory kept reachable by this object
   */
  public RevocableView(MemorySegment memory) {
    this.memory = memory;
    this.access = new Access(memory);
  }

  /** One way to the memory, closed once. The arena owns no memory, so it may also stay open. */
  private static final class Access {
    final Arena arena = Arena.ofShared();
    final MemorySegment segment;

    @SuppressWarnings("restricted")
    Access(MemorySegment memory) {
      segment =
          MemorySegment.ofAddress(memory.address()).reinterpret(memory.byteSize(), arena, null);
    }
  }

  /** Returns the owner's access to the memory; it fails once revoked. */
  public MemorySegment segment() {
    return access.segment;
  }

  /** Returns true between {@link #revoke} and {@link #renew}. */
  public boolean isRevoked() {
    return !access.arena.scope().isAlive();
  }

  /** Makes every later access through the view fail; idempotent. */
  public void revoke() {
    if (!isRevoked()) {
      access.arena.close();
    }
  }

  /** Gives the owner a new view of the same memory. */
  public MemorySegment renew() {
    access = new Access(memory);
    return access.segment;
  }
}
