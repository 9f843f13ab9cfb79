package io.rdma4j.pool;

import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * What one device knows of a cache's memory, from the registration until the device has forgotten
 * it. The memory stays reachable for that time, even when the cache is dropped without a close.
 *
 * <p>Safe for use by several threads; the lock is not held over calls to the device.
 */
final class KnownRegistrations {
  private static final Logger LOG = System.getLogger(KnownRegistrations.class.getName());

  /** Roots for the garbage collector. */
  private static final Set<KnownRegistrations> IN_USE = ConcurrentHashMap.newKeySet();

  private final String deviceName;

  // Guarded by this.
  private final Set<CachedRegistration> known = new HashSet<>();

  /** Ended, not forgotten: the device has refused, or is busy with posted work. */
  private final Set<CachedRegistration> pending = new HashSet<>();

  private long registrations;
  private long deregistrations;
  private long failures;

  KnownRegistrations(String deviceName) {
    this.deviceName = deviceName;
  }

  synchronized void add(CachedRegistration registration) {
    IN_USE.add(this);
    known.add(registration);
    registrations++;
  }

  /** Makes the device forget a registration that has no users; what fails is tried again. */
  void end(CachedRegistration registration) {
    RuntimeException failure = null;
    try {
      registration.registration().close();
    } catch (RuntimeException e) {
      failure = e;
    }
    settle(registration, failure);
  }

  /** Makes the device forget all memory of a scope now, in spite of users and posted work. */
  void revokeAll(MemorySegment.Scope scope) {
    RuntimeException first = null;
    for (CachedRegistration registration : matching(r -> r.scope().equals(scope))) {
      registration.revoke();
      RuntimeException failure = null;
      try {
        registration.registration().revoke();
      } catch (RuntimeException e) {
        failure = e;
        first = first == null ? e : first;
      }
      settle(registration, failure);
    }
    if (first != null) {
      throw first;
    }
  }

  /** Tries again what the device has not forgotten yet; returns how much it has forgotten now. */
  int retryPending() {
    List<CachedRegistration> waiting;
    synchronized (this) {
      waiting = List.copyOf(pending);
    }
    waiting.forEach(this::end);
    synchronized (this) {
      return (int) waiting.stream().filter(registration -> !pending.contains(registration)).count();
    }
  }

  private void settle(CachedRegistration registration, @Nullable RuntimeException failure) {
    Registration atDevice = registration.registration();
    synchronized (this) {
      failures += failure == null ? 0 : 1;
      if (!known.contains(registration)) {
        return;
      }
      if (atDevice.isDeregistered()) {
        known.remove(registration);
        pending.remove(registration);
        deregistrations++;
        if (known.isEmpty()) {
          IN_USE.remove(this);
        }
        return;
      }
      if (!pending.add(registration) || failure == null || pending.size() > 1) {
        return;
      }
    }
    // The first of a series: those that follow are counted, and say the same.
    LOG.log(
        Level.WARNING,
        "%s refused to deregister the %s; maintenance tries again: %s"
            .formatted(deviceName, registration, failure.getMessage()));
  }

  private synchronized List<CachedRegistration> matching(Predicate<CachedRegistration> condition) {
    return known.stream().filter(condition).toList();
  }

  int count(Predicate<CachedRegistration> condition) {
    return matching(condition).size();
  }

  synchronized int size() {
    return known.size();
  }

  synchronized int pending() {
    return pending.size();
  }

  synchronized long registrations() {
    return registrations;
  }

  synchronized long deregistrations() {
    return deregistrations;
  }

  /** Returns the refused calls to deregister. */
  synchronized long failures() {
    return failures;
  }
}
