package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.MemorySegment;
import java.security.SecureRandom;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The regions a node exports, by id. An id is a slot and a random number, so that one of a region
 * that is gone, or one that was made up, meets no other region.
 *
 * <p>Safe for use by several threads; looking up takes no lock.
 */
final class ExportTable {
  private static final int SLOT_BITS = 16;
  private static final int MAX_REGIONS = 1 << SLOT_BITS;
  private static final int FIRST_CAPACITY = 16;

  /** Never started; stands for any thread but the one that exports. */
  private static final Thread SOMEBODY_ELSE = Thread.ofPlatform().unstarted(() -> {});

  private final SecureRandom random = new SecureRandom();

  /** Replaced by a copy with each change. */
  private volatile @Nullable ExportedRegion[] bySlot = new ExportedRegion[FIRST_CAPACITY];

  synchronized ExportedRegion add(MemorySegment memory, int access) {
    check(memory, access);
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
        new ExportedRegion(this, memory, new RegionDescriptor(id, memory.byteSize(), access));
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

  private static int slot(long id) {
    return (int) id & (MAX_REGIONS - 1);
  }
}
