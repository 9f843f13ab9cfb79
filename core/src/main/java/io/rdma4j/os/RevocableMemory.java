package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Native memory that one thread uses without any atomic operation, and that other threads can take
 * away from it.
 *
 * <p>The owner goes through {@link #view}. {@link #revoke} closes the view's shared arena, and the
 * platform promises that this happens atomically with regard to every access: an access has either
 * taken effect before the close, or it fails with {@link IllegalStateException}. So an owner whose
 * every operation ends with the store that makes it count needs no lock, and pays for revocation
 * only when it happens: a handshake with all threads, some tens of microseconds.
 *
 * <p>{@link #view} and {@link #renew} belong to the owner; the others are for any thread. Revoking
 * and renewing are serialised by the caller.
 */
public final class RevocableMemory {
  private static final long ALIGNMENT_BYTES = 128;

  private final MemorySegment backing;
  private View view;

  /** Allocates zeroed memory, which lives as long as this object. */
  public RevocableMemory(long lengthBytes) {
    this.backing = Arena.ofAuto().allocate(lengthBytes, ALIGNMENT_BYTES);
    this.view = new View(backing);
  }

  /** One way to the memory, closed once. The arena owns no memory, so it may also stay open. */
  private static final class View {
    final Arena arena = Arena.ofShared();
    final MemorySegment segment;

    @SuppressWarnings("restricted")
    View(MemorySegment backing) {
      segment =
          MemorySegment.ofAddress(backing.address()).reinterpret(backing.byteSize(), arena, null);
    }
  }

  /** Returns the owner's access to the memory; it fails once revoked. */
  public MemorySegment view() {
    return view.segment;
  }

  /** Returns the memory itself: for a glance at any time, and for use while the view is revoked. */
  public MemorySegment backing() {
    return backing;
  }

  /** Returns true between {@link #revoke} and {@link #renew}. */
  public boolean isRevoked() {
    return !view.arena.scope().isAlive();
  }

  /** Makes every later access through the view fail; idempotent. */
  public void revoke() {
    if (!isRevoked()) {
      view.arena.close();
    }
  }

  /** Gives the owner a new view of the same memory. */
  public MemorySegment renew() {
    view = new View(backing);
    return view.segment;
  }
}
