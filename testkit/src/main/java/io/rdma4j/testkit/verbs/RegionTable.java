package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.PinnedMemory;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Live registrations of one device by key, with whole-page accounting, and the generation of each
 * mapping a test has declared. Guarded by the wire.
 */
final class RegionTable {
  /** By key; a map would make garbage for each post. */
  private @Nullable ScriptedMemoryRegion[] byKey = new ScriptedMemoryRegion[64];

  private int count;
  private final TreeMap<Long, Mapping> mappings = new TreeMap<>();
  private final Wire wire;
  private final Limits limits;
  private final PinnedMemory pinned;
  private int lastGeneration;

  private record Mapping(long lengthBytes, int generation) {}

  RegionTable(Wire wire, Limits limits) {
    this.wire = wire;
    this.limits = limits;
    pinned = new PinnedMemory(limits.pageBytes, () -> limits.lockedMemoryBytes);
  }

  PinnedMemory pinned() {
    return pinned;
  }

  /** Throws ENOMEM when one more registration would pass a limit. */
  void checkRoom(long address, long lengthBytes) {
    long asked = pinned.footprintBytes(address, lengthBytes);
    if (asked > limits.lockedMemoryBytes - pinned.pinnedBytes()) {
      throw Faults.failure(
          "ibv_reg_mr", Errno.ENOMEM, "+" + lengthBytes + ": " + pinned.explain(asked));
    }
    if (count >= limits.maxMemoryRegions) {
      throw Faults.failure(
          "ibv_reg_mr", Errno.ENOMEM, "the device has " + limits.maxMemoryRegions + " regions");
    }
  }

  void add(ScriptedMemoryRegion region) {
    int key = region.lkey();
    if (key >= byKey.length) {
      byKey = Arrays.copyOf(byKey, 2 * key);
    }
    byKey[key] = region;
    count++;
    pinned.pinned(region.address(), region.lengthBytes());
  }

  void remove(ScriptedMemoryRegion region) {
    byKey[region.lkey()] = null;
    count--;
    pinned.unpinned(region.address(), region.lengthBytes());
  }

  void declareMapping(long address, long lengthBytes) {
    mappings.put(address, new Mapping(lengthBytes, ++lastGeneration));
  }

  int generationAt(long address) {
    if (mappings.isEmpty()) {
      return 0;
    }
    Map.Entry<Long, Mapping> floor = mappings.floorEntry(address);
    return floor == null || address >= floor.getKey() + floor.getValue().lengthBytes
        ? 0
        : floor.getValue().generation;
  }

  /**
   * Returns the process address of memory a request names, or -1 when the key does not grant it.
   *
   * @param accessBit right needed, 0 for local read
   */
  long translate(
      @Nullable ScriptedProtectionDomain domain,
      int key,
      long address,
      long lengthBytes,
      int accessBit) {
    ScriptedMemoryRegion region = key < 0 || key >= byKey.length ? null : byKey[key];
    if (region == null
        || region.domain != domain
        || (region.access & accessBit) != accessBit
        || address < region.iova
        || lengthBytes > region.lengthBytes() - (address - region.iova)) {
      return -1;
    }
    long processAddress = region.address() + (address - region.iova);
    if (region.generation != generationAt(region.address())) {
      wire.ledger.stalePost();
    }
    return processAddress;
  }
}
