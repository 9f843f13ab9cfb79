package io.rdma4j.pool.internal;

import io.rdma4j.os.Limits;
import io.rdma4j.os.Mapping;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolGrowthException;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.MemoryRegistrar.Registration;
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
  private final PoolConfig config;
  private final List<MemoryRegistrar> registrars;
  private final SystemRoot root;
  private final AtomicLong budgetedBytes = new AtomicLong();
  private final LongAdder registrations = new LongAdder();
  private final LongAdder deregistrations = new LongAdder();

  SlabFactory(PoolConfig config, List<MemoryRegistrar> registrars, SystemRoot root) {
    this.config = config;
    this.registrars = registrars;
    this.root = root;
  }

  /** Takes one slab's bytes from the budget; false when they are not there. */
  boolean reserve() {
    long bytes = config.slabBytes();
    long now;
    do {
      now = budgetedBytes.get();
      if (now + bytes > config.maxBytes()) {
        return false;
      }
    } while (!budgetedBytes.compareAndSet(now, now + bytes));
    return true;
  }

  /** Gives one slab's bytes back to the budget. */
  void unreserve() {
    budgetedBytes.getAndAdd(-config.slabBytes());
  }

  /**
   * Maps and registers one slab, whose bytes have been reserved.
   *
   * @throws PoolGrowthException when a registrar refuses; nothing stays mapped or registered
   */
  RegisteredMemory create() {
    Mapping mapping = map();
    List<Registration> done = new ArrayList<>(registrars.size());
    for (MemoryRegistrar registrar : registrars) {
      try {
        done.add(registrar.register(mapping.address(), mapping.lengthBytes()));
        registrations.increment();
      } catch (RuntimeException e) {
        giveBack(new RegisteredMemory(mapping, done), e);
        throw refused(registrar, e);
      } catch (Error e) {
        giveBack(new RegisteredMemory(mapping, done), e);
        throw e;
      }
    }
    return new RegisteredMemory(mapping, done);
  }

  private Mapping map() {
    return switch (config.hugePages()) {
      case NONE ->
          Mapping.anonymous(config.slabBytes(), Mapping.Option.DONT_FORK, Mapping.Option.POPULATE);
      case TRANSPARENT ->
          Mapping.anonymous(
              config.slabBytes(),
              Mapping.Option.HUGE_PAGES,
              Mapping.Option.DONT_FORK,
              Mapping.Option.POPULATE);
      case EXPLICIT ->
          throw new UnsupportedOperationException(
              PoolConfig.HUGE_PAGES + " is EXPLICIT, which mappings do not offer; use TRANSPARENT");
    };
  }

  /** Gives memory back that will not become a slab; what goes wrong is added to the cause. */
  void giveBack(RegisteredMemory memory, Throwable cause) {
    try {
      deregister(memory.registrations());
      memory.mapping().close();
    } catch (RuntimeException e) {
      cause.addSuppressed(e);
    }
  }

  /** Makes all devices forget a slab; the first failure is thrown when all have been tried. */
  void deregister(List<Registration> registered) {
    RuntimeException failure = null;
    for (Registration registration : registered.reversed()) {
      try {
        registration.close();
        deregistrations.increment();
      } catch (RuntimeException e) {
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
  }

  private PoolGrowthException refused(MemoryRegistrar registrar, RuntimeException refusal) {
    // This slab is in the budget already but not pinned.
    long pinnedBytes = budgetedBytes.get() - config.slabBytes();
    Limits limits = Limits.lockedMemory(root).orElse(null);
    return new PoolGrowthException(
        registrar.name(),
        config.slabBytes(),
        pinnedBytes,
        limits == null ? OptionalLong.empty() : OptionalLong.of(limits.softBytes()),
        limits == null ? "unknown" : limits.describe(),
        refusal);
  }

  long budgetedBytes() {
    return budgetedBytes.get();
  }

  long registrations() {
    return registrations.sum();
  }

  long deregistrations() {
    return deregistrations.sum();
  }

  /** A mapping and its registrations, in the order of the registrars. */
  record RegisteredMemory(Mapping mapping, List<Registration> registrations) {}
}
