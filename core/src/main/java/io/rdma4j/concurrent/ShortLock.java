package io.rdma4j.concurrent;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock for critical sections of well under a microsecond, on paths where each atomic operation
 * shows: one to take it, none to give it back.
 *
 * <p>Giving it back is a plain store with release order, which wakes nobody. Who waits therefore
 * spins first and then naps, also on a virtual thread, whose carrier is free meanwhile. The lock is
 * not fair and can not be taken twice; {@link #lock()} throws instead of waiting for itself.
 *
 * <pre>
 *  word     written by                    mode
 *  owner    taker, 0 to its thread id     compare-and-set, acquire
 *           owner, back to 0              release
 *           read by anybody               opaque
 * </pre>
 */
public final class ShortLock {
  private static final VarHandle OWNER;
  private static final long NOBODY = 0;
  private static final int SPINS = 1_000;
  private static final long NAP_NS = 20_000;

  static {
    try {
      OWNER = MethodHandles.lookup().findVarHandle(ShortLock.class, "owner", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("UnusedVariable") // through OWNER; thread ids begin at 1
  private long owner;

  /** Creates a lock that nobody holds. */
  public ShortLock() {}

  /**
   * Takes the lock, waiting for it as long as it takes.
   *
   * @throws IllegalStateException when this thread holds it
   */
  public void lock() {
    if (!OWNER.weakCompareAndSetAcquire(this, NOBODY, Thread.currentThread().threadId())) {
      await();
    }
  }

  private void await() {
    if (isHeldByCurrentThread()) {
      throw new IllegalStateException("this thread holds the lock already");
    }
    for (int tries = 0; !tryLock(); tries++) {
      if (tries < SPINS) {
        Thread.onSpinWait();
      } else {
        LockSupport.parkNanos(this, NAP_NS);
      }
    }
  }

  /** Takes the lock when nobody holds it, this thread included. */
  public boolean tryLock() {
    return (long) OWNER.getOpaque(this) == NOBODY
        && OWNER.compareAndSet(this, NOBODY, Thread.currentThread().threadId());
  }

  /** Gives the lock back. Only its holder may call this. */
  public void unlock() {
    OWNER.setRelease(this, NOBODY);
  }

  /** Returns whether this thread holds the lock. */
  public boolean isHeldByCurrentThread() {
    return (long) OWNER.getOpaque(this) == Thread.currentThread().threadId();
  }
}
