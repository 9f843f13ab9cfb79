package io.rdma4j.pool;

import io.rdma4j.provider.MemoryAccess;
import org.jspecify.annotations.Nullable;

/**
 * A counted hold on a cached registration: the keys for one range of memory, which the device knows
 * at least until the release.
 *
 * <p>A lease is empty or holds one registration. It has one owner at a time and is not safe for use
 * by several threads at once, but it may be handed from thread to thread, and any thread may
 * release it: release it when the work that names its key has completed, not when it has been
 * posted. An empty lease can be filled again by {@link RegistrationCache}, which makes no garbage.
 *
 * <p>Using an empty lease fails with {@link IllegalStateException}, and so does asking for the keys
 * of memory that was freed meanwhile by the close of its arena.
 */
public final class RegistrationLease implements AutoCloseable {
  private final RegistrationCache cache;
  private @Nullable CachedRegistration registration;
  private long address;
  private long lengthBytes;

  RegistrationLease(RegistrationCache cache) {
    this.cache = cache;
  }

  void fill(CachedRegistration registration, long address, long lengthBytes) {
    this.registration = registration;
    this.address = address;
    this.lengthBytes = lengthBytes;
  }

  private CachedRegistration held() {
    CachedRegistration held = registration;
    if (held == null) {
      throw new IllegalStateException("this lease is empty: it was released or never filled");
    }
    return held;
  }

  private CachedRegistration live() {
    CachedRegistration held = held();
    RegistrationTable.checkAlive(held.scope());
    return held;
  }

  /** Returns the cache that fills this lease. */
  public RegistrationCache cache() {
    return cache;
  }

  /** Returns the key for local gather and scatter entries. */
  public int lkey() {
    return live().lkey();
  }

  /**
   * Returns the key for peers. It may reach further than {@link #address} and {@link #lengthBytes}
   * where the same rights to more memory have been asked for before.
   *
   * @throws IllegalStateException when peers have no rights, and as for every key
   */
  public int rkey() {
    CachedRegistration live = live();
    if (!MemoryAccess.isRemote(live.access())) {
      throw new IllegalStateException("peers have no rights to this memory: " + this);
    }
    return live.rkey();
  }

  /** Returns the rights that the key grants: at least those asked for. */
  public int access() {
    return held().access();
  }

  /** Returns the start of the memory asked for. */
  public long address() {
    held();
    return address;
  }

  /** Returns the length of the memory asked for. */
  public long lengthBytes() {
    held();
    return lengthBytes;
  }

  /** Returns true when the lease holds no registration. */
  public boolean isEmpty() {
    return registration == null;
  }

  /**
   * Lets go of the registration; the lease is empty afterwards. The last user of a registration
   * that can not be found any more deregisters it here.
   *
   * @throws IllegalStateException when the lease is empty
   */
  public void release() {
    CachedRegistration held = held();
    registration = null;
    held.release();
  }

  /** Lets go of the registration if there is one. */
  @Override
  public void close() {
    if (!isEmpty()) {
      release();
    }
  }

  @Override
  public String toString() {
    CachedRegistration held = registration;
    return held == null
        ? "empty lease"
        : "lease of [0x%x, +%d) by %s".formatted(address, lengthBytes, held);
  }
}
