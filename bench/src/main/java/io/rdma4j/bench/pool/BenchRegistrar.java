package io.rdma4j.bench.pool;

import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.Verbs;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Registers the pool's slabs with the first device of this machine, or with nobody where there is
 * none: the hit path never registers, and {@link #registrations} proves it.
 *
 * <p>Safe for use by several threads. Owns the device it opened.
 */
final class BenchRegistrar implements MemoryRegistrar, AutoCloseable {
  private final @Nullable Device device;
  private final @Nullable ProtectionDomain domain;
  private final AtomicLong registrations = new AtomicLong();

  BenchRegistrar() {
    Verbs verbs = Verbs.system();
    device = verbs.availability().usable() ? verbs.open(firstUsable(verbs)) : null;
    try {
      domain = device == null ? null : device.allocateProtectionDomain();
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private static String firstUsable(Verbs verbs) {
    return verbs.devices().stream()
        .filter(info -> info.availability().usable())
        .findFirst()
        .orElseThrow()
        .name();
  }

  @Override
  public String name() {
    return device == null ? "nobody" : device.name();
  }

  /** Returns what there is, or why there is no device. */
  String reason() {
    return Verbs.system().availability().reason();
  }

  /** Returns the domain of the device, or null where there is none. */
  @Nullable ProtectionDomain domain() {
    return domain;
  }

  /** Returns the number of registrations so far. */
  long registrations() {
    return registrations.get();
  }

  @Override
  public Registration register(long address, long lengthBytes) {
    registrations.incrementAndGet();
    return domain == null
        ? new Region(null)
        : new Region(domain.registerMemory(address, lengthBytes, Access.LOCAL_WRITE));
  }

  private record Region(@Nullable MemoryRegion region) implements Registration {
    @Override
    public int lkey() {
      return region == null ? 0 : region.lkey();
    }

    @Override
    public int rkey() {
      return region == null ? 0 : region.rkey();
    }

    @Override
    public void close() {
      if (region != null) {
        region.close();
      }
    }
  }

  @Override
  public void close() {
    if (device != null) {
      device.close();
    }
  }
}
