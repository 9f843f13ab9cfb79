package io.rdma4j.pool.internal;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.Mapping;
import io.rdma4j.pool.ExhaustionPolicy;
import io.rdma4j.pool.LargeStatistics;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.internal.LargeObject.State;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Memory above the largest class: objects of their own mapping, registered in segments by the
 * pool's workers, within the same budget as slabs. What is given back stays registered for the next
 * request, and is deregistered after the cleanup interval by the rules of slabs.
 *
 * <pre>
 *  allocate -- LargeCache has one that fits -----------------------------&gt; hit
 *     |
 *     +------- reserve budget, map, SegmentWork: registered by workers --&gt; miss
 *     |             | no room: pending slabs, then idle objects are evicted; then the policy
 *     +------- LargeDemand: the thread asks often and demand rises ------&gt; one more, in background
 * </pre>
 *
 * <p>Safe for use by several threads. Mapping, registering, deregistering and waiting hold no lock.
 */
public final class LargeObjects implements AutoCloseable {
  /** Steps of size between one power of two and the next: at most an eighth is wasted. */
  private static final int STEPS_PER_DOUBLING = 8;

  private final PoolConfig config;
  private final long maxBytes;
  private final long segmentBytes;
  private final long releaseTimeoutNs;
  private final SizeClassPool[] classes;
  private final Slabs slabs;
  private final SlabFactory factory;
  private final NumaPolicy numa;
  private final Workers workers;
  private final NanoClock clock;
  private final LargeCache cache;
  private final LargeDepartures departures;
  private final LargeDemand demand;
  private final Reaper.Patience patience = new Reaper.Patience();
  private volatile boolean closed;

  /** What went wrong in the background, to be reported by the next round of maintenance. */
  private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();

  private final AtomicInteger waiters = new AtomicInteger();
  private final LongAdder requests = new LongAdder();
  private final LongAdder hits = new LongAdder();
  private final LongAdder misses = new LongAdder();
  private final LongAdder exhausted = new LongAdder();
  private final LongAdder failures = new LongAdder();
  private final LongAdder expansions = new LongAdder();
  private final LongAdder failedExpansions = new LongAdder();
  private final LongAdder trims = new LongAdder();

  LargeObjects(
      PoolConfig config,
      SizeClassPool[] classes,
      Slabs slabs,
      NumaPolicy numa,
      Workers workers,
      NanoClock clock) {
    this.config = config;
    this.maxBytes = config.maxBytes();
    this.segmentBytes = config.largeSegmentBytes();
    this.releaseTimeoutNs =
        config.exhaustion() == ExhaustionPolicy.WAIT ? config.exhaustionTimeoutNs() : 0;
    this.classes = classes;
    this.slabs = slabs;
    this.factory = slabs.factory();
    this.numa = numa;
    this.workers = workers;
    this.clock = clock;
    this.cache = new LargeCache(numa);
    this.departures = new LargeDepartures(factory, cache::isHeld);
    this.demand = new LargeDemand(config.hitRateWindowNs());
    slabs.thenEvict(this::evictIdle);
  }

  /**
   * Lends an object whose first segment is registered.
   *
   * @param lengthBytes 1 to the pool's budget
   * @return null when the budget is spent
   * @throws io.rdma4j.Rdma4jException when a device or the kernel refuses; nothing is left behind
   * @throws IllegalStateException when closed
   */
  public @Nullable LargeObject allocate(long lengthBytes) {
    requests.increment();
    int node = numa.callerNode();
    long sizeBytes = sizeFor(lengthBytes);
    LargeObject object = null;
    try {
      object = lease(lengthBytes, sizeBytes, node);
      boolean hit = object != null && object.memory().isWhole();
      object = object != null ? object : makeOrAwait(lengthBytes, sizeBytes, node);
      if (object == null) {
        exhausted.increment();
        return null;
      }
      if (demand.note(sizeBytes, cache.has(lengthBytes), clock.nanoTime())) {
        expand(sizeBytes, node);
      }
      object.memory().awaitReady(0, Math.min(lengthBytes, segmentBytes));
      (hit ? hits : misses).increment();
      return object;
    } catch (RuntimeException | Error e) {
      failures.increment();
      if (object != null) {
        release(object);
      }
      throw e;
    }
  }

  private @Nullable LargeObject lease(long lengthBytes, long sizeBytes, int node) {
    if (closed) {
      throw new IllegalStateException("the pool is closed");
    }
    return cache.lease(lengthBytes, sizeBytes, node);
  }

  /**
   * Returns the size of the object for a request: whole pages, in few enough sizes that what one
   * request gave back fits the next one; exactly whole pages where the budget has no more.
   */
  private long sizeFor(long lengthBytes) {
    long step = Math.max(1, Long.highestOneBit(lengthBytes) / STEPS_PER_DOUBLING);
    long sizeBytes = factory.wholePages(Math.ceilDiv(lengthBytes, step) * step);
    return sizeBytes <= maxBytes ? sizeBytes : factory.wholePages(lengthBytes);
  }

  /** Makes an object, or waits as the policy says for room or for one that is given back. */
  private @Nullable LargeObject makeOrAwait(long lengthBytes, long sizeBytes, int node) {
    if (reserve(sizeBytes)) {
      return make(sizeBytes, node, State.LEASED);
    }
    Waiting waiting = new Waiting(releaseTimeoutNs);
    waiters.getAndIncrement();
    try {
      while (waiting.awaitRelease()) {
        LargeObject object = lease(lengthBytes, sizeBytes, node);
        if (object != null) {
          return object;
        }
        if (reserve(sizeBytes)) {
          return make(sizeBytes, node, State.LEASED);
        }
      }
      return null;
    } finally {
      waiters.getAndDecrement();
      waiting.end();
    }
  }

  /** Takes bytes from the budget; pending slabs, then idle objects make room for them. */
  private boolean reserve(long bytes) {
    while (!factory.reserve(bytes)) {
      // Nothing is evicted in vain.
      boolean enough = factory.budgetedBytes() - evictableBytes() + bytes <= maxBytes;
      if (!enough || !(slabs.evictPending(classes) || evictIdle())) {
        return slabs.reserveAfterRetirement(bytes);
      }
    }
    return true;
  }

  private long evictableBytes() {
    LargeCache.Totals now = cache.totals();
    return slabs.pendingBytes(classes) + now.pendingBytes() + now.idleBytes();
  }

  /** Gives back the object that has been idle for longest; false when there is none. */
  private boolean evictIdle() {
    LargeObject oldest = cache.evictIdle();
    if (oldest == null) {
      return false;
    }
    trims.increment();
    depart(oldest);
    return true;
  }

  private void depart(LargeObject object) {
    departures.add(object);
    departures.advance(object);
  }

  /**
   * Maps memory whose bytes have been reserved, and has it registered. Once the pool is closed the
   * workers refuse, which ends the object.
   */
  private LargeObject make(long sizeBytes, int node, State state) {
    int place = numa.placeFor(node);
    Mapping mapping = null;
    LargeObject object = null;
    try {
      mapping = factory.map(sizeBytes, place);
      SegmentedMemory memory =
          new SegmentedMemory(mapping, place, segmentBytes, factory, slabs.index());
      object = new LargeObject(memory, state, sizeBytes, clock.nanoTime(), workers, this::ended);
    } finally {
      if (object == null) {
        factory.unreserve(sizeBytes);
        if (mapping != null) {
          mapping.close();
        }
      }
    }
    cache.add(object);
    object.work().start(config.registrationThreads());
    return object;
  }

  /** Registers one object more in the background, where the budget has room for it. */
  private void expand(long sizeBytes, int node) {
    BooleanSupplier isExpanding = () -> false;
    try {
      if (factory.reserve(sizeBytes)) {
        SegmentedMemory memory = make(sizeBytes, node, State.IDLE).memory();
        isExpanding = memory::isUnderWay;
        expansions.increment();
        memory.onFailure(this::noteFailedExpansion);
      }
    } catch (RuntimeException e) {
      // The request that gave rise to it is served; this is for whoever looks after the pool.
      noteFailedExpansion(e);
    } finally {
      demand.expanding(sizeBytes, isExpanding);
    }
  }

  private void noteFailedExpansion(Throwable e) {
    if (!closed) {
      failedExpansions.increment();
      failure.set(e instanceof RuntimeException known ? known : new IllegalStateException(e));
    }
  }

  /** Called by the last worker that had to do with an object. */
  private void ended(LargeObject object) {
    if (!object.memory().hasFailed()) {
      return;
    }
    if (cache.evict(object)) {
      departures.add(object);
    }
    try {
      departures.advance(object);
    } catch (RuntimeException e) {
      // Whoever waits has the first failure; this one is tried again by the maintenance.
      failure.set(e);
    }
  }

  /** Takes an object back from its holder. */
  public void release(LargeObject object) {
    demand.released(cache.release(object, clock.nanoTime()));
    departures.advance(object);
  }

  /**
   * Makes long idle objects pending, gives long pending ones back, and tries again to give back
   * what devices had not forgotten.
   *
   * @throws RuntimeException the last failure, also of what happened in the background since the
   *     round before, when all has been tried
   */
  void maintain(long nowNs) {
    long intervalNs = config.cleanupIntervalNs();
    patience.note(misses.sum(), nowNs, intervalNs);
    long[] spareBytes = {settledBytes() - config.minBytes()};
    cache.suspend(
        object -> {
          boolean idle =
              nowNs - object.sinceNs >= intervalNs && object.lengthBytes() <= spareBytes[0];
          spareBytes[0] -= idle ? object.lengthBytes() : 0;
          return idle;
        },
        nowNs);
    List<LargeObject> removed = cache.evictPending(patience.intervals() * intervalNs, nowNs);
    if (!removed.isEmpty()) {
      patience.removed(nowNs);
      trims.add(removed.size());
      removed.forEach(departures::add);
      demand.settle();
    }
    departures.advanceAll();
    RuntimeException background = failure.getAndSet(null);
    if (background != null) {
      throw background;
    }
  }

  /** Returns the bytes in the budget but for those that are pending or leaving. */
  long settledBytes() {
    return factory.budgetedBytes()
        - slabs.leavingBytes()
        - slabs.pendingBytes(classes)
        - cache.totals().pendingBytes()
        - departures.bytes();
  }

  /** Returns true while callers have objects. */
  boolean isInUse() {
    return cache.totals().used() > 0;
  }

  /** Returns the threads that wait for room. */
  public int waiters() {
    return waiters.get();
  }

  /** Returns the bytes in the budget, those of slabs included. */
  public long budgetedBytes() {
    return factory.budgetedBytes();
  }

  /** Returns what is held and has been done. */
  public LargeStatistics statistics() {
    LargeCache.Totals now = cache.totals();
    return new LargeStatistics(
        now.objects(),
        now.registering(),
        now.usedBytes() + now.idleBytes() + now.pendingBytes(),
        now.used(),
        now.usedBytes(),
        now.idleBytes(),
        now.pendingBytes(),
        departures.bytes(),
        requests.sum(),
        hits.sum(),
        misses.sum(),
        exhausted.sum(),
        failures.sum(),
        expansions.sum(),
        failedExpansions.sum(),
        trims.sum());
  }

  /** Returns the objects whose memory has not been given back, for tests. */
  public int mapped() {
    return cache.totals().objects() + departures.count();
  }

  /**
   * Makes all devices forget all objects and unmaps those that nobody has. Another call tries again
   * what failed.
   *
   * @throws IllegalStateException naming the objects that callers still had, the first time; other
   *     failures likewise, after everything else has been given back
   */
  @Override
  public void close() {
    closed = true;
    int held = 0;
    long heldBytes = 0;
    for (LargeObject object : cache.evictAll()) {
      departures.add(object);
      if (cache.isHeld(object)) {
        held++;
        heldBytes += object.lengthBytes();
      }
      object.memory().fail(new IllegalStateException("the pool is closed"));
    }
    departures.awaitWorkers();
    RuntimeException refusal = null;
    try {
      departures.advanceAll();
    } catch (RuntimeException e) {
      refusal = e;
    }
    if (departures.bytes() > 0) {
      refusal = Slabs.merged(stuck(departures.bytes()), refusal);
    }
    if (held > 0) {
      refusal = Slabs.merged(stillOut(held, heldBytes), refusal);
    }
    if (refusal != null) {
      throw refusal;
    }
  }

  private static IllegalStateException stuck(long bytes) {
    return new IllegalStateException(
        ("large objects of %d bytes stay registered and mapped: posted requests use them, or a"
                + " registration has not ended")
            .formatted(bytes));
  }

  private static IllegalStateException stillOut(int count, long bytes) {
    return new IllegalStateException(
        ("%d large buffers of %d bytes were out when the pool was closed; their memory stays mapped"
                + " until they are released, but no device can reach it")
            .formatted(count, bytes));
  }
}
