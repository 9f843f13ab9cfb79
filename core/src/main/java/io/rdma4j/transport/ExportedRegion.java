package io.rdma4j.transport;

import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Memory that peers may reach by one-sided operations. Owned by whoever exported it.
 *
 * <p>Safe for use by several threads. The peer's operations are carried out by this node's polling
 * threads, or by a device that knows the memory; once {@link #close()} has returned, none of them
 * touches the memory any more, and later ones are refused.
 */
public final class ExportedRegion implements AutoCloseable {
  private final ExportTable owner;
  private final MemorySegment memory;
  private final RegionDescriptor descriptor;

  /** By the place of the registrar in the pool's list; null for a device that does not know it. */
  private final @Nullable Registration[] registrations;

  /** Held for the whole of a close, so that a second one returns no sooner than the first. */
  private final ReentrantLock closing = new ReentrantLock();

  /** Held while the memory is accessed for a peer, and to end that. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Condition someoneLeft = lock.newCondition();

  /** Connections whose peer may have the device's key; guarded by the lock. */
  private final Set<Connection> holders = new HashSet<>();

  /** Guarded by the lock. */
  private boolean closed;

  ExportedRegion(
      ExportTable owner,
      MemorySegment memory,
      RegionDescriptor descriptor,
      @Nullable Registration[] registrations) {
    this.owner = owner;
    this.memory = memory;
    this.descriptor = descriptor;
    this.registrations = registrations;
  }

  /** Returns what a peer needs to know, to be sent to it. */
  public RegionDescriptor descriptor() {
    return descriptor;
  }

  /** Returns the memory. */
  public MemorySegment memory() {
    return memory;
  }

  /** Returns what a device knows of the memory, null when it knows nothing. */
  @Nullable Registration registration(int registrarIndex) {
    return registrarIndex < 0 ? null : registrations[registrarIndex];
  }

  /** Keeps the region open for one access; false when it is closed. */
  boolean enter() {
    lock.lock();
    if (closed || !memory.scope().isAlive()) {
      lock.unlock();
      return false;
    }
    return true;
  }

  void leave() {
    lock.unlock();
  }

  /**
   * Gives a peer a device's key. A close on another thread tells the peer before or behind it,
   * never in between: a key that came behind the word that it is void would be used.
   *
   * @param send sends the key; false when it could not
   * @return whether the peer has the key now
   */
  boolean lendTo(Connection connection, BooleanSupplier send) {
    if (!enter()) {
      return false;
    }
    try {
      boolean sent = send.getAsBoolean();
      if (sent) {
        holders.add(connection);
      }
      return sent;
    } finally {
      leave();
    }
  }

  /** Notes that a peer uses its key no more. */
  void left(Connection connection) {
    lock.lock();
    try {
      holders.remove(connection);
      someoneLeft.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Takes the memory back from peers, when the accesses under way have ended; idempotent. Peers
   * whose device has a key are told and waited for, at most for the node's close timeout; an
   * operation of a peer that has not answered by then is refused by the device, which ends that
   * connection's path. A handler, which would wait for its own poller, does not wait.
   */
  @Override
  public void close() {
    closing.lock();
    try {
      if (!shut()) {
        return;
      }
      owner.remove(this);
      try {
        if (owner.mayWait()) {
          awaitHolders();
        }
      } finally {
        revoke();
      }
    } finally {
      closing.unlock();
    }
  }

  /** Refuses further accesses and tells the peers; false when that was done before. */
  private boolean shut() {
    List<Connection> told;
    lock.lock();
    try {
      if (closed) {
        return false;
      }
      closed = true;
      told = List.copyOf(holders);
    } finally {
      lock.unlock();
    }
    for (Connection holder : told) {
      holder.remoteKeys().tellClosed(this);
    }
    return true;
  }

  private void awaitHolders() {
    long endNs = owner.closeDeadlineNs();
    boolean interrupted = false;
    lock.lock();
    try {
      for (long leftNs; !holders.isEmpty() && (leftNs = endNs - owner.clockNs()) > 0; ) {
        if (owner.pollsItself()) {
          pollUnlocked();
          continue;
        }
        try {
          long ignored = someoneLeft.awaitNanos(leftNs);
        } catch (InterruptedException e) {
          interrupted = true; // memory that may still be written is not given back for that
        }
      }
    } finally {
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** The poll takes the lock when a peer leaves, and in it handlers may take others. */
  private void pollUnlocked() {
    lock.unlock();
    try {
      owner.poll();
    } finally {
      lock.lock();
    }
  }

  private void revoke() {
    RuntimeException failure = null;
    for (Registration registration : registrations) {
      try {
        if (registration != null) {
          registration.revoke();
        }
      } catch (RuntimeException e) {
        failure = e;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  @Override
  public String toString() {
    return "exported region 0x%x of %d bytes".formatted(descriptor.id(), descriptor.lengthBytes());
  }
}
