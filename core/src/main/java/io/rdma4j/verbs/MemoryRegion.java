package io.rdma4j.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Registered memory, counted by reference: {@link #retain()} when a work request that names it is
 * posted, {@link #release()} when that request has completed. {@link #close()} never waits and is
 * idempotent; the device forgets the memory when the last user lets go, exactly once, and only then
 * may the memory be freed or reused ({@link #isDeregistered()}).
 *
 * <p>Safe for use by several threads. Owned by the {@link ProtectionDomain}.
 */
public abstract class MemoryRegion implements AutoCloseable {
  private static final VarHandle REFERENCES;

  static {
    try {
      REFERENCES =
          MethodHandles.lookup().findVarHandle(MemoryRegion.class, "references", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Users; the owner itself counts as one until close. */
  private volatile int references = 1;

  /** True from the start of a deregistration until it fails, or for ever. */
  private final AtomicBoolean deregistering = new AtomicBoolean();

  private final List<Runnable> afterwards = new CopyOnWriteArrayList<>();
  private volatile boolean closed;
  private volatile boolean deregistered;
  private final long address;
  private final long lengthBytes;
  private final int lkey;
  private final int rkey;

  /** Creates a region that is registered already. */
  protected MemoryRegion(long address, long lengthBytes, int lkey, int rkey) {
    this.address = address;
    this.lengthBytes = lengthBytes;
    this.lkey = lkey;
    this.rkey = rkey;
  }

  /**
   * Deregisters at the device. Called once, by whichever thread lets go last; again only after it
   * has thrown.
   */
  protected abstract void deregister();

  /** Returns the start address. */
  public final long address() {
    return address;
  }

  /** Returns the registered length, never negative. */
  public final long lengthBytes() {
    return lengthBytes;
  }

  /** Returns the key for local gather and scatter entries. */
  public final int lkey() {
    return lkey;
  }

  /** Returns the key that peers use. */
  public final int rkey() {
    return rkey;
  }

  /** Counts one more user. Returns false, and counts nothing, once the region has been closed. */
  public final boolean retain() {
    while (!closed) {
      int now = references;
      if (now == 0) {
        return false;
      }
      if (REFERENCES.compareAndSet(this, now, now + 1)) {
        if (closed) {
          release();
          return false;
        }
        return true;
      }
    }
    return false;
  }

  /** Gives one reference back; the last one deregisters. */
  public final void release() {
    int before = (int) REFERENCES.getAndAdd(this, -1);
    if (before <= 0) {
      REFERENCES.getAndAdd(this, 1);
      throw new IllegalStateException(this + " was released more often than retained");
    }
    if (before == 1) {
      deregisterOnce();
    }
  }

  private void deregisterOnce() {
    if (!deregistering.compareAndSet(false, true)) {
      return;
    }
    try {
      deregister();
      deregistered = true;
    } finally {
      if (!deregistered) {
        deregistering.set(false);
      }
    }
    afterwards.forEach(Runnable::run);
    afterwards.clear();
  }

  /**
   * Deregisters now, in spite of posted requests: they fail at the device. For memory that is about
   * to go; returns when the device has forgotten it.
   */
  public final void revoke() {
    close();
    while (!deregistered) {
      deregisterOnce();
      Thread.onSpinWait();
    }
  }

  /** Runs an action, which must be idempotent, once the device has forgotten this memory. */
  final void whenDeregistered(Runnable action) {
    afterwards.add(action);
    if (deregistered) {
      action.run();
      afterwards.remove(action);
    }
  }

  /** Returns the users beside the owner: posted work requests that have not completed. */
  public final int usersInFlight() {
    int now = references;
    return closed ? now : now - 1;
  }

  /** Returns true once the device has forgotten this memory. */
  public final boolean isDeregistered() {
    return deregistered;
  }

  /**
   * Refuses new users and deregisters as soon as the last present one is done. Where the device has
   * refused to deregister, another close tries again.
   */
  @Override
  public final void close() {
    boolean first;
    synchronized (this) {
      first = !closed;
      closed = true;
    }
    if (first) {
      release();
    } else if (references == 0 && !deregistered) {
      deregisterOnce();
    }
  }

  @Override
  public String toString() {
    return String.format(
        "memory region [0x%x, +%d) lkey 0x%x rkey 0x%x", address, lengthBytes, lkey, rkey);
  }
}
