package io.rdma4j.bench;

import io.rdma4j.Availability;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.Verbs;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Registers memory with the first device of this machine, or with nobody where there is none.
 * Benchmarks of paths that never register run with either, and {@link #registrations} proves that
 * they did not.
 *
 * <p>Safe for use by several threads. Owns the device it opened.
 */
public final class DeviceRegistrar implements MemoryRegistrar, AutoCloseable {
  private final @Nullable Device device;
  private final @Nullable ProtectionDomain domain;
  private final AtomicLong registrations = new AtomicLong();

  /** Opens the device, if any. */
  public DeviceRegistrar() {
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

  /** Returns whether there is a device. */
  public Availability availability() {
    return device == null
        ? Availability.unusable("no RDMA device: " + Verbs.system().availability().reason())
        : Availability.usable("ibv_reg_mr on " + name());
  }

  /** Returns the domain of the device, or null where there is none. */
  public @Nullable ProtectionDomain domain() {
    return domain;
  }

  /** Returns the number of registrations so far. */
  public long registrations() {
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

    /** What no device knows is forgotten already. */
    @Override
    public boolean isDeregistered() {
      return region == null || region.isDeregistered();
    }
  }

  @Override
  public void close() {
    if (device != null) {
      device.close();
    }
  }
}
