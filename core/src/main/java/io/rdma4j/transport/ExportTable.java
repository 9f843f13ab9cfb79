package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The regions a node exports, by id, and what its devices know of them: a registration of its own
 * for each region, since only exported memory gives peers rights. An id is a slot and a random
 * number, so that one of a region that is gone, or one that was made up, meets no other region.
 *
 * <p>Safe for use by several threads; looking up takes no lock.
 */
final class ExportTable {
  private static final int SLOT_BITS = 16;
  private static final int MAX_REGIONS = 1 << SLOT_BITS;
  private static final int FIRST_CAPACITY = 16;

  /** Never started; stands for any thread but the one that exports. */
  private static final Thread SOMEBODY_ELSE = Thread.ofPlatform().unstarted(() -> {});

  private static final Logger LOG = System.getLogger(ExportTable.class.getName());

  private final SecureRandom random = new SecureRandom();
  private final Node node;
  private final List<MemoryRegistrar> registrars;

  /** Replaced by a copy with each change. */
  private volatile @Nullable ExportedRegion[] bySlot = new ExportedRegion[FIRST_CAPACITY];

  /**
   * Starts without regions.
   *
   * @param registrars those of the pool, in its order
   */
  ExportTable(Node node, List<MemoryRegistrar> registrars) {
    this.node = node;
    this.registrars = registrars;
  }

  ExportedRegion add(MemorySegment memory, int access) {
    check(memory, access);
    @Nullable Registration[] registrations = register(memory, access);
    try {
      return add(memory, access, registrations);
    } catch (RuntimeException e) {
      for (Registration registration : registrations) {
        if (registration != null) {
          registration.revoke();
        }
      }
      throw e;
    }
  }

  /** Makes the memory known to devices; one that refuses leaves it to messages. */
  private @Nullable Registration[] register(MemorySegment memory, int access) {
    @Nullable Registration[] registrations = new Registration[registrars.size()];
    for (int i = 0; i < registrations.length; i++) {
      MemoryRegistrar registrar = registrars.get(i);
      if (registrar.servesPeers()) {
        try {
          registrations[i] = registrar.register(memory.address(), memory.byteSize(), access);
        } catch (Rdma4jException e) {
          LOG.log(
              Level.WARNING,
              () ->
                  "device %s refused %d bytes to be exported; peers reach them by messages: %s"
                      .formatted(registrar.name(), memory.byteSize(), e.getMessage()));
        }
      }
    }
    return registrations;
  }

  private synchronized ExportedRegion add(
      MemorySegment memory, int access, @Nullable Registration[] registrations) {
    @Nullable ExportedRegion[] now = bySlot;
    int slot = 0;
    while (slot < now.length && now[slot] != null) {
      slot++;
    }
    if (slot == MAX_REGIONS) {
      throw new Rdma4jException(
          "this node exports " + MAX_REGIONS + " regions already; close some");
    }
    long id = random.nextLong() << SLOT_BITS | slot;
    ExportedRegion region =
        new ExportedRegion(
            this, memory, new RegionDescriptor(id, memory.byteSize(), access), registrations);
    @Nullable ExportedRegion[] next =
        Arrays.copyOf(now, slot < now.length ? now.length : 2 * now.length);
    next[slot] = region;
    bySlot = next;
    return region;
  }

  private static void check(MemorySegment memory, int access) {
    MemoryAccess.check(access);
    if (!memory.isNative() || memory.byteSize() == 0) {
      throw new IllegalArgumentException("only native memory can be exported, not " + memory);
    }
    if (!memory.isAccessibleBy(SOMEBODY_ELSE)) {
      throw new IllegalArgumentException(
          "memory of a confined arena can not be exported, polling threads access it: " + memory);
    }
    if (!MemoryAccess.isRemote(access)) {
      throw new IllegalArgumentException(
          MemoryAccess.toString(access) + " gives peers no right; nothing would be exported");
    }
    if (memory.isReadOnly() && MemoryAccess.isWriting(access)) {
      throw new IllegalArgumentException(
          "read-only memory can not be exported for " + MemoryAccess.toString(access));
    }
  }

  synchronized void remove(ExportedRegion region) {
    int slot = slot(region.descriptor().id());
    @Nullable ExportedRegion[] now = bySlot;
    if (now[slot] == region) {
      @Nullable ExportedRegion[] next = now.clone();
      next[slot] = null;
      bySlot = next;
    }
  }

  /** Returns the region of an id that a peer has sent. */
  @Nullable ExportedRegion find(long id) {
    @Nullable ExportedRegion[] now = bySlot;
    int slot = slot(id);
    ExportedRegion region = slot < now.length ? now[slot] : null;
    return region != null && region.descriptor().id() == id ? region : null;
  }

  // ---- closing of a region ---------------------------------------------------------------------

  boolean mayWait() {
    return !node.isPollingThread();
  }

  long clockNs() {
    return node.clockNs();
  }

  long closeDeadlineNs() {
    return node.clockNs() + node.config().closeTimeoutNs();
  }

  /** Returns whether nobody polls but who waits. */
  boolean pollsItself() {
    return node.isPolledByCallers();
  }

  void poll() {
    if (node.poll() == 0) {
      Thread.onSpinWait();
    }
  }

  /** Closes what its owners have not; when no connection is left. */
  void closeAll() {
    for (ExportedRegion region : bySlot) {
      if (region != null) {
        region.close();
      }
    }
  }

  static int slot(long id) {
    return (int) id & (MAX_REGIONS - 1);
  }
}
