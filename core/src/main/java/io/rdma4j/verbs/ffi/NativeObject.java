package io.rdma4j.verbs.ffi;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A node of the tree of verbs objects: an address in C memory, valid until it is destroyed.
 *
 * <p>{@link #close()} closes the children, then gives up the owner's reference. The object is
 * destroyed when no reference is left: at once, or, when a memory region of it is still used by
 * posted work requests, by whoever lets go of that region. A destroy that the device refuses is
 * thrown to whoever caused it; the object then stays, and another close tries again.
 *
 * <p>Safe for use by several threads, except that nobody may be in a call on the C object while it
 * is being closed.
 */
abstract class NativeObject implements Child {
  private final @Nullable NativeObject parent;
  private final Set<Child> children = new LinkedHashSet<>();

  /** The owner until it closes, each child, and each child being made. */
  private int references = 1;

  private boolean closing;

  /** 0 once destroyed. Plain, as the data path reads it; see the thread contract. */
  private long address;

  NativeObject(@Nullable NativeObject parent, MemorySegment pointer) {
    this.parent = parent;
    this.address = pointer.address();
  }

  /** Destroys the C object; returns 0 or an errno. */
  abstract int destroy();

  /** Returns the C function that {@link #destroy()} calls. */
  abstract String destroyCall();

  /** Returns the address of the C object. */
  final long address() {
    long now = address;
    if (now == 0) {
      throw closed();
    }
    return now;
  }

  /** Returns the C object as a function wants it. */
  final MemorySegment pointer() {
    return MemorySegment.ofAddress(address());
  }

  private IllegalStateException closed() {
    return new IllegalStateException(this + " is closed");
  }

  /** Makes a child. The object can not be destroyed while that goes on, and not until it is. */
  final <T extends Child> T adopt(Supplier<T> creation) {
    retain();
    T child;
    try {
      child = creation.get();
    } catch (Throwable e) {
      release();
      throw e;
    }
    if (!add(child)) {
      child.close();
      throw closed();
    }
    return child;
  }

  private synchronized void retain() {
    if (closing) {
      throw closed();
    }
    references++;
  }

  private synchronized boolean add(Child child) {
    return !closing && children.add(child);
  }

  /** Takes out a child that has been destroyed. */
  final void childDestroyed(Child child) {
    synchronized (this) {
      children.remove(child);
    }
    release();
  }

  private void release() {
    synchronized (this) {
      if (--references > 0) {
        return;
      }
    }
    destroyNow();
  }

  private void destroyNow() {
    synchronized (this) {
      if (address == 0) {
        return;
      }
      int errno = destroy();
      if (errno != 0) {
        throw Errno.failure(
            destroyCall(), errno, this + " could not be destroyed", "close it again to try again");
      }
      address = 0;
    }
    if (parent != null) {
      parent.childDestroyed(this);
    }
  }

  /** Throws when closing now would pull the object from under others. */
  void checkUnused() {}

  @Override
  public void close() {
    List<Child> first;
    boolean ownerLeaves;
    synchronized (this) {
      checkUnused();
      ownerLeaves = !closing;
      closing = true;
      first = new ArrayList<>(children);
    }
    first.sort(Comparator.comparingInt(Child::closeRank));
    Failures failures = new Failures();
    first.forEach(child -> failures.attempt(child::close));
    failures.attempt(ownerLeaves ? this::release : this::destroyIfUnreferenced);
    failures.throwIfAny();
  }

  private void destroyIfUnreferenced() {
    synchronized (this) {
      if (references > 0) {
        return;
      }
    }
    destroyNow();
  }

  @Override
  public abstract String toString();
}
