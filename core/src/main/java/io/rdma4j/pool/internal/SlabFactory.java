package io.rdma4j.pool.internal;

import io.rdma4j.os.HugePages;
import io.rdma4j.os.Limits;
import io.rdma4j.os.Mapping;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolGrowthException;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import io.rdma4j.status.Distribution;
import io.rdma4j.status.LatencyHistogram;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Maps memory and registers it with every registrar, all or nothing, within the pool's budget. Safe
 * for use by several threads; no lock is held over a registration.
 */
final class SlabFactory {
  private final long maxBytes;
  private final HugePages pages;
  private final List<MemoryRegistrar> registrars;
  private final SystemRoot root;
  private final AtomicLong budgetedBytes = new AtomicLong();
  private final AtomicLong pinnedBytes = new AtomicLong();
  private final LatencyHistogram registrationTimes = new LatencyHistogram();
  private final LatencyHistogram deregistrationTimes = new LatencyHistogram();
  private final LongAdder registrationFailures = new LongAdder();
  private final LongAdder deregistrationFailures = new LongAdder();

  SlabFactory(PoolConfig config, List<MemoryRegistrar> registrars, SystemRoot root) {
    this.maxBytes = config.maxBytes();
    this.pages = HugePages.valueOf(config.hugePages().name());
    this.registrars = registrars;
    this.root = root;
  }

  /** Takes bytes from the budget; false when they are not there. */
  boolean reserve(long bytes) {
    long now;
    do {
      now = budgetedBytes.get();
      if (bytes > maxBytes - now) {
        return false;
      }
    } while (!budgetedBytes.compareAndSet(now, now + bytes));
    return true;
  }

  /** Gives bytes back to the budget. */
  void unreserve(long bytes) {
    budgetedBytes.getAndAdd(-bytes);
  }

  /**
   * Maps and registers memory, whose bytes have been reserved.
   *
   * @throws PoolGrowthException when a registrar refuses; nothing stays mapped or registered
   */
  RegisteredMemory create(long lengthBytes, int node) {
    Mapping mapping = map(lengthBytes, node);
    List<Registration> done = new ArrayList<>(registrars.size());
    try {
      mapping.populate(0, mapping.lengthBytes());
      register(mapping.address(), mapping.lengthBytes(), done);
      return RegisteredMemory.of(mapping, mapping.lengthBytes(), done, node);
    } catch (RuntimeException | Error e) {
      giveBack(RegisteredMemory.of(mapping, mapping.lengthBytes(), done, node), e);
      throw e;
    }
  }

  /** Maps memory, whose bytes have been reserved, on or near a node; no page is present yet. */
  Mapping map(long lengthBytes, int node) {
    Mapping mapping = Mapping.anonymous(lengthBytes, pages, Mapping.Option.DONT_FORK);
    try {
      if (node != NumaPolicy.UNKNOWN) {
        mapping.preferNode(node);
      }
      return mapping;
    } catch (RuntimeException | Error e) {
      mapping.close();
      throw e;
    }
  }

  /**
   * Registers mapped memory with every registrar.
   *
   * @param done gets the registrations that were made, in the order of the registrars
   * @throws PoolGrowthException when one refuses; what is in {@code done} belongs to the caller
   */
  void register(long address, long lengthBytes, List<Registration> done) {
    for (MemoryRegistrar registrar : registrars) {
      try {
        long startNs = System.nanoTime();
        done.add(registrar.register(address, lengthBytes));
        registrationTimes.record(System.nanoTime() - startNs);
      } catch (RuntimeException e) {
        registrationFailures.increment();
        throw refused(registrar, lengthBytes, e);
      }
    }
    pinnedBytes.getAndAdd(lengthBytes);
  }

  /** Returns the length of a mapping of that many bytes. */
  long wholePages(long bytes) {
    long page = pages == HugePages.EXPLICIT ? Mapping.HUGE_PAGE_BYTES : Mapping.pageSizeBytes();
    return Math.ceilDiv(bytes, page) * page;
  }

  /** Gives memory back that will not become a slab; what goes wrong is added to the cause. */
  void giveBack(RegisteredMemory memory, Throwable cause) {
    try {
      if (deregister(memory)) {
        memory.mapping().close();
      }
    } catch (RuntimeException e) {
      cause.addSuppressed(e);
    }
  }

  /**
   * Makes all devices forget memory.
   *
   * @return true when they have; false while one still has requests in flight
   * @throws RuntimeException the first failure, when all have been tried
   */
  boolean deregister(RegisteredMemory memory) {
    RuntimeException failure = null;
    boolean forgotten = true;
    boolean changed = false;
    for (int i = memory.registrations().size() - 1; i >= 0; i--) {
      if (memory.forgotten()[i]) {
        continue;
      }
      Registration registration = memory.registrations().get(i);
      try {
        long startNs = System.nanoTime();
        registration.close();
        if (registration.isDeregistered()) {
          deregistrationTimes.record(System.nanoTime() - startNs);
          memory.forgotten()[i] = true;
          changed = true;
        } else {
          forgotten = false;
        }
      } catch (RuntimeException e) {
        deregistrationFailures.increment();
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
    if (forgotten && changed && memory.isWhole(registrars.size())) {
      pinnedBytes.getAndAdd(-memory.lengthBytes());
    }
    return forgotten;
  }

  private PoolGrowthException refused(
      MemoryRegistrar registrar, long askedBytes, RuntimeException refusal) {
    Limits limits = Limits.lockedMemory(root).orElse(null);
    return new PoolGrowthException(
        registrar.name(),
        askedBytes,
        pinnedBytes.get(),
        limits == null ? OptionalLong.empty() : OptionalLong.of(limits.softBytes()),
        limits == null ? "unknown" : limits.describe(),
        refusal);
  }

  long budgetedBytes() {
    return budgetedBytes.get();
  }

  /** Returns how long the registrations took that succeeded, each with one registrar. */
  Distribution registrationTimes() {
    return registrationTimes.snapshot();
  }

  /** Returns how long it took to make a device forget, where it did. */
  Distribution deregistrationTimes() {
    return deregistrationTimes.snapshot();
  }

  long registrationFailures() {
    return registrationFailures.sum();
  }

  long deregistrationFailures() {
    return deregistrationFailures.sum();
  }

  /**
   * A mapping, or a part of one, and its registrations, in the order of the registrars.
   *
   * @param lengthBytes the bytes that are registered
   * @param forgotten which devices have forgotten it; written by whoever gives it back
   * @param node the NUMA node it was placed on, -1 when unknown
   */
  record RegisteredMemory(
      Mapping mapping,
      long lengthBytes,
      List<Registration> registrations,
      boolean[] forgotten,
      int node) {
    /** Returns false for memory that was refused by one of the devices. */
    boolean isWhole(int devices) {
      return registrations.size() == devices;
    }

    static RegisteredMemory of(
        Mapping mapping, long lengthBytes, List<Registration> registrations, int node) {
      return new RegisteredMemory(
          mapping, lengthBytes, registrations, new boolean[registrations.size()], node);
    }
  }
}
