package io.rdma4j.pool;

import io.rdma4j.os.ArenaHook;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The registrations of a {@link RegistrationCache} that can be found, and those under way.
 *
 * <p>A look-up reads immutable lanes and takes no lock. Everything else is under one lock, which is
 * never held while the device registers or deregisters: what has to be ended is collected under the
 * lock and ended behind it.
 */
final class RegistrationTable {
  private final RegistrationCacheConfig config;
  private final MemoryRegistrar registrar;
  private final KnownRegistrations known;
  private final Map<MemorySegment.Scope, RegistrationIndex> indexes = new ConcurrentHashMap<>();
  private final LongAdder hits = new LongAdder();

  /** Ticks with registrations and maintenance; a hit stamps its registration with it. */
  private final AtomicLong epoch = new AtomicLong();

  private final ReentrantLock lock = new ReentrantLock();

  // All below is guarded by the lock.
  private final List<RegistrationFlight> flights = new ArrayList<>();
  private int entries;
  private long entryBytes;
  private int reservedEntries;
  private long reservedBytes;
  private boolean closed;
  private long misses;
  private long joined;
  private long failures;
  private long uncached;
  private long merges;
  private long replaced;
  private long evictions;
  private long expired;
  private long staleDropped;
  private long invalidated;

  RegistrationTable(RegistrationCacheConfig config, MemoryRegistrar registrar) {
    this.config = config;
    this.registrar = registrar;
    this.known = new KnownRegistrations(registrar.name());
  }

  /** Returns a registration with one user more, or null when none is in place. */
  @Nullable CachedRegistration tryAcquire(
      MemorySegment.Scope scope, long address, long lengthBytes, int access) {
    RegistrationIndex index = indexes.get(scope);
    CachedRegistration found = index == null ? null : index.find(address, lengthBytes, access);
    if (found == null || !found.retain()) {
      return null;
    }
    found.used(epoch.getOpaque());
    hits.increment();
    return found;
  }

  /** Returns a registration with one user more, made if need be. */
  CachedRegistration acquire(MemorySegment.Scope scope, MemoryRange range, int access) {
    List<CachedRegistration> ended = new ArrayList<>();
    RegistrationFlight flight;
    boolean leading = false;
    lock.lock();
    try {
      if (closed) {
        throw new IllegalStateException("the registration cache of " + this + " is closed");
      }
      checkAlive(scope);
      purge(ended);
      CachedRegistration found = tryAcquire(scope, range.start(), range.lengthBytes(), access);
      if (found != null) {
        return found;
      }
      flight = join(scope, range, access);
      if (flight == null) {
        flight = takeOff(scope, range, access, ended);
        leading = true;
      }
    } finally {
      lock.unlock();
      ended.forEach(known::end);
    }
    return leading ? fly(flight) : flight.await();
  }

  static void checkAlive(MemorySegment.Scope scope) {
    if (!scope.isAlive()) {
      throw new IllegalStateException("the memory was freed: the arena of this segment is closed");
    }
  }

  private @Nullable RegistrationFlight join(
      MemorySegment.Scope scope, MemoryRange range, int access) {
    for (RegistrationFlight flight : flights) {
      if (flight.serves(scope, range, access)) {
        flight.join();
        joined++;
        return flight;
      }
    }
    return null;
  }

  /** Plans a registration and reserves its room. */
  private RegistrationFlight takeOff(
      MemorySegment.Scope scope, MemoryRange range, int access, List<CachedRegistration> ended) {
    misses++;
    RegistrationIndex index = indexes.get(scope);
    int rights = index == null ? access : access | index.accessOf(range);
    // A key for peers never reaches further than somebody asked for in one piece.
    MemoryRange merged =
        index == null || MemoryAccess.isRemote(rights) ? range : index.merged(range, rights);
    RegistrationFlight flight;
    if (reserve(merged, ended)) {
      flight = new RegistrationFlight(scope, merged, rights, true, !merged.equals(range));
    } else if (!merged.equals(range) && reserve(range, ended)) {
      flight = new RegistrationFlight(scope, range, rights, true, false);
    } else {
      flight = new RegistrationFlight(scope, range, access, false, false);
    }
    flights.add(flight);
    return flight;
  }

  private CachedRegistration fly(RegistrationFlight flight) {
    MemoryRange range = flight.range();
    Registration made;
    try {
      made = registrar.register(range.start(), range.lengthBytes(), flight.access());
    } catch (RuntimeException | Error e) {
      lock.lock();
      try {
        leave(flight);
        failures++;
      } finally {
        lock.unlock();
      }
      flight.failed(e);
      throw e;
    }
    List<CachedRegistration> ended = new ArrayList<>();
    CachedRegistration landed = land(flight, made, ended);
    flight.landed(landed);
    ended.forEach(known::end);
    return landed;
  }

  private void leave(RegistrationFlight flight) {
    flights.remove(flight);
    if (flight.isCached()) {
      reservedEntries--;
      reservedBytes -= flight.range().lengthBytes();
    }
  }

  private CachedRegistration land(
      RegistrationFlight flight, Registration made, List<CachedRegistration> ended) {
    MemoryRange range = flight.range();
    lock.lock();
    try {
      leave(flight);
      var landed =
          new CachedRegistration(
              known, flight.scope(), range, flight.access(), made, flight.users());
      // Younger than every hit before, older than every one to come.
      landed.used(epoch.incrementAndGet());
      epoch.getAndIncrement();
      known.add(landed);
      RegistrationIndex index = indexes.get(flight.scope());
      boolean superfluous =
          index != null && index.find(range.start(), range.lengthBytes(), flight.access()) != null;
      if (!flight.isCached() || flight.isCancelled() || superfluous) {
        uncached++;
        landed.retire();
        return landed;
      }
      index = indexFor(flight.scope());
      if (!index.isClosable() || index.isGuarded(range)) {
        landed.markGuarded();
      }
      entries++;
      entryBytes += range.lengthBytes();
      merges += flight.isMerge() ? 1 : 0;
      for (CachedRegistration old : index.add(landed)) {
        replaced++;
        retire(old, ended);
      }
      return landed;
    } finally {
      lock.unlock();
    }
  }

  private RegistrationIndex indexFor(MemorySegment.Scope scope) {
    return indexes.computeIfAbsent(scope, RegistrationIndex::new);
  }

  private void removeIfEmpty(RegistrationIndex index) {
    if (index.isEmpty()) {
      indexes.remove(index.scope());
    }
  }

  /** Retires a registration that has been taken out of its index. */
  private void retire(CachedRegistration old, List<CachedRegistration> ended) {
    leaveIndex(old);
    if (old.retire()) {
      ended.add(old);
    }
  }

  private void leaveIndex(CachedRegistration old) {
    entries--;
    entryBytes -= old.range().lengthBytes();
  }

  /** Reserves room, if need be at the expense of unused registrations; false if that fails. */
  private boolean reserve(MemoryRange range, List<CachedRegistration> ended) {
    long bytes = range.lengthBytes();
    if (bytes > config.maxBytes() || (!fits(bytes) && !evictFor(bytes, ended))) {
      return false;
    }
    reservedEntries++;
    reservedBytes += bytes;
    return true;
  }

  private boolean fits(long bytes) {
    return entries + reservedEntries < config.maxEntries()
        && bytes <= config.maxBytes() - entryBytes - reservedBytes;
  }

  private boolean evictFor(long bytes, List<CachedRegistration> ended) {
    PriorityQueue<CachedRegistration> unused =
        new PriorityQueue<>(Comparator.comparingLong(CachedRegistration::lastUse));
    forEach(
        registration -> {
          if (registration.users() == 0) {
            unused.add(registration);
          }
        });
    long unusedBytes = unused.stream().mapToLong(one -> one.range().lengthBytes()).sum();
    if (entries + reservedEntries - unused.size() >= config.maxEntries()
        || bytes > config.maxBytes() - entryBytes - reservedBytes + unusedBytes) {
      return false;
    }
    for (CachedRegistration oldest; !fits(bytes) && (oldest = unused.poll()) != null; ) {
      evictions += evict(oldest, ended) ? 1 : 0;
    }
    return fits(bytes);
  }

  private boolean evict(CachedRegistration unused, List<CachedRegistration> ended) {
    if (!unused.evict()) {
      return false;
    }
    RegistrationIndex index = indexFor(unused.scope());
    index.removeIf(registration -> registration == unused);
    removeIfEmpty(index);
    leaveIndex(unused);
    ended.add(unused);
    return true;
  }

  private void forEach(Consumer<CachedRegistration> action) {
    indexes.values().forEach(index -> index.forEach(action));
  }

  /** Takes out the registrations of scopes that have been closed. */
  private void purge(List<CachedRegistration> ended) {
    List<RegistrationIndex> dead =
        indexes.values().stream()
            .filter(index -> index.isClosable() && !index.scope().isAlive())
            .toList();
    for (RegistrationIndex index : dead) {
      indexes.remove(index.scope());
      index.forEach(
          registration -> {
            staleDropped++;
            retire(registration, ended);
          });
    }
  }

  /**
   * Sees to it that the close of an arena ends all registrations of its scope before it frees
   * memory of the range.
   */
  void guard(Arena arena, MemorySegment segment, MemoryRange range) {
    MemorySegment.Scope scope = segment.scope();
    lock.lock();
    try {
      RegistrationIndex index = indexes.get(scope);
      if (!ArenaHook.isClosable(scope) || (index != null && index.isGuarded(range))) {
        return;
      }
    } finally {
      lock.unlock();
    }
    // Without the lock: on a closed arena the action runs here and now, and may have to wait.
    ArenaHook.atClose(arena, segment, () -> memoryGoes(scope));
    lock.lock();
    try {
      if (scope.isAlive()) {
        indexFor(scope).guard(range);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns only when the device has forgotten all memory of a scope, used or not. */
  private void memoryGoes(MemorySegment.Scope scope) {
    List<RegistrationFlight> underWay;
    lock.lock();
    try {
      underWay = flights.stream().filter(flight -> flight.scope().equals(scope)).toList();
      underWay.forEach(RegistrationFlight::cancel);
      RegistrationIndex index = indexes.remove(scope);
      if (index != null) {
        index.forEach(
            registration -> {
              staleDropped++;
              leaveIndex(registration);
            });
      }
    } finally {
      lock.unlock();
    }
    underWay.forEach(RegistrationFlight::awaitEnd);
    known.revokeAll(scope);
  }

  /** Takes out what overlaps a range; returns how many registrations of it are still known. */
  int invalidate(MemoryRange range) {
    return drop(registration -> registration.range().overlaps(range), range);
  }

  private int drop(Predicate<CachedRegistration> condition, @Nullable MemoryRange range) {
    List<CachedRegistration> ended = new ArrayList<>();
    int underWay = 0;
    lock.lock();
    try {
      for (RegistrationFlight flight : flights) {
        if (range == null || flight.range().overlaps(range)) {
          flight.cancel();
          underWay++;
        }
      }
      for (RegistrationIndex index : List.copyOf(indexes.values())) {
        for (CachedRegistration registration : index.removeIf(condition)) {
          invalidated++;
          retire(registration, ended);
        }
        removeIfEmpty(index);
      }
    } finally {
      lock.unlock();
    }
    ended.forEach(known::end);
    return underWay + known.count(condition);
  }

  /** Does what is due; returns how many registrations were ended. */
  int maintain(long nowNs) {
    List<CachedRegistration> ended = new ArrayList<>();
    lock.lock();
    try {
      purge(ended);
      List<CachedRegistration> due = new ArrayList<>();
      forEach(
          registration -> {
            if (registration.unusedNs(nowNs) >= config.maxIdle().toNanos()) {
              due.add(registration);
            }
          });
      due.forEach(registration -> expired += evict(registration, ended) ? 1 : 0);
      epoch.getAndIncrement();
    } finally {
      lock.unlock();
    }
    int retried = known.retryPending();
    ended.forEach(known::end);
    return ended.size() + retried;
  }

  /** Ends what is not in use and refuses new users; see {@link RegistrationCache#close}. */
  void close() {
    lock.lock();
    try {
      closed = true;
    } finally {
      lock.unlock();
    }
    known.retryPending();
    int left = drop(registration -> true, null);
    if (left > 0) {
      throw new IllegalStateException(
          ("%s still knows %d registrations of the closed cache: %d in use or being made, which end"
                  + " with their last release, and %d that it did not let go, which maintain()"
                  + " tries again")
              .formatted(this, left, left - known.pending(), known.pending()));
    }
  }

  RegistrationCacheStatistics statistics() {
    lock.lock();
    try {
      return new RegistrationCacheStatistics(
          entries,
          entryBytes,
          known.count(registration -> registration.users() > 0),
          known.size() - entries - known.pending(),
          known.pending(),
          hits.sum(),
          misses,
          joined,
          failures,
          known.registrations(),
          known.deregistrations(),
          known.failures(),
          uncached,
          merges,
          replaced,
          evictions,
          expired,
          staleDropped,
          invalidated);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public String toString() {
    return registrar.name();
  }
}
