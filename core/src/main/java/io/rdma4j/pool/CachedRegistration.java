package io.rdma4j.pool;

import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One registration of a range of somebody's memory, with the count of those who use it.
 *
 * <p>All of its life is one word, changed by atomic operations alone:
 *
 * <pre>
 *   bit 31  RETIRED   takes no new users
 *   bit 30  ENDED     somebody has undertaken to make the device forget it
 *   0..29   users     leases, and for a moment those who come too late
 *
 *                retain, release                  last release, or retired while idle
 *   live  ──────────────────────────▶ RETIRED ─────────────────────────────▶ ENDED
 *     └── evict, only with 0 users ────────────────────────────────────────────▲
 * </pre>
 *
 * <p>It keeps the scope of its memory. An automatic scope is alive as long as it is reachable (see
 * {@link MemorySegment.Scope}), so the garbage collector frees no memory of a registration that the
 * {@link KnownRegistrations} still have.
 */
final class CachedRegistration {
  private static final int RETIRED = 1 << 31;
  private static final int ENDED = 1 << 30;
  private static final int USERS = ENDED - 1;

  private static final VarHandle STATE;
  private static final VarHandle LAST_USE;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      STATE = lookup.findVarHandle(CachedRegistration.class, "state", int.class);
      LAST_USE = lookup.findVarHandle(CachedRegistration.class, "lastUse", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final KnownRegistrations known;
  private final MemorySegment.Scope scope;
  private final MemoryRange range;
  private final int access;
  private final Registration registration;
  private final int lkey;
  private final int rkey;

  @SuppressWarnings("UnusedVariable") // by its handle
  private volatile int state;

  @SuppressWarnings("UnusedVariable") // by its handle; opaque, an old value only ages the entry
  private long lastUse;

  /** True when the close of the arena ends this registration before the memory is freed. */
  private volatile boolean guarded;

  /** Guarded by the table's lock: last use that maintenance saw, and since when. */
  private long seenUse = -1;

  private long unusedSinceNs;

  /** Takes over a registration, on behalf of its first users. */
  CachedRegistration(
      KnownRegistrations known,
      MemorySegment.Scope scope,
      MemoryRange range,
      int access,
      Registration registration,
      int users) {
    this.known = known;
    this.scope = scope;
    this.range = range;
    this.access = access;
    this.registration = registration;
    this.lkey = registration.lkey();
    this.rkey = registration.rkey();
    this.state = users;
  }

  MemorySegment.Scope scope() {
    return scope;
  }

  MemoryRange range() {
    return range;
  }

  int access() {
    return access;
  }

  int lkey() {
    return lkey;
  }

  int rkey() {
    return rkey;
  }

  Registration registration() {
    return registration;
  }

  boolean isGuarded() {
    return guarded;
  }

  void markGuarded() {
    guarded = true;
  }

  /** Counts one more user; false, and counts nothing, once retired. */
  boolean retain() {
    int before = (int) STATE.getAndAdd(this, 1);
    if (before >= 0) {
      return true;
    }
    release();
    return false;
  }

  /** Takes one user off; the last one of a retired registration ends it. */
  void release() {
    int now = (int) STATE.getAndAdd(this, -1) - 1;
    if (now == RETIRED && endOnce()) {
      known.end(this);
    }
  }

  private boolean endOnce() {
    return STATE.compareAndSet(this, RETIRED, RETIRED | ENDED);
  }

  /** Refuses new users; true when there are none, so that the caller has to end it. */
  boolean retire() {
    STATE.getAndBitwiseOr(this, RETIRED);
    return endOnce();
  }

  /** Retires it if it has no users; the caller has to end it then. */
  boolean evict() {
    return STATE.compareAndSet(this, 0, RETIRED | ENDED);
  }

  /** Retires it whatever its users do; the caller has to end it, unless others are at it. */
  void revoke() {
    STATE.getAndBitwiseOr(this, RETIRED | ENDED);
  }

  int users() {
    return (int) STATE.getAcquire(this) & USERS;
  }

  /** Notes a use, in the table's count of epochs. */
  void used(long epoch) {
    LAST_USE.setOpaque(this, epoch);
  }

  long lastUse() {
    return (long) LAST_USE.getOpaque(this);
  }

  /** Returns how long it was unused, as far as one who looks from time to time can tell. */
  long unusedNs(long nowNs) {
    long last = lastUse();
    if (users() > 0 || last != seenUse) {
      seenUse = last;
      unusedSinceNs = nowNs;
    }
    return nowNs - unusedSinceNs;
  }

  @Override
  public String toString() {
    return "registration of %s for %s, lkey 0x%x, %d users"
        .formatted(range, MemoryAccess.toString(access), lkey, users());
  }
}
