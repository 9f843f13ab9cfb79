package io.rdma4j.testkit.verbs;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Live registrations of one device by key, with whole-page accounting, and the generation of each
 * mapping a test has declared. Guarded by the wire.
 */
final class RegionTable {
  private final Map<Integer, ScriptedMemoryRegion> byKey = new HashMap<>();
  private final TreeMap<Long, Mapping> mappings = new TreeMap<>();
  private final Wire wire;
  private final Limits limits;
  private long pinnedPages;
  private int lastGeneration;

  private record Mapping(long lengthBytes, int generation) {}

  RegionTable(Wire wire, Limits limits) {
    this.wire = wire;
    this.limits = limits;
  }

  long pinnedBytes() {
    return pinnedPages * limits.pageBytes;
  }

  /** Throws ENOMEM when one more registration would pass a limit. */
  void checkRoom(long address, long lengthBytes) {
    long pages = pages(address, lengthBytes);
    if (byKey.size() >= limits.maxMemoryRegions
        || pages > limits.lockedMemoryBytes / limits.pageBytes - pinnedPages) {
      throw Faults.failure(
          "ibv_reg_mr",
          Errno.ENOMEM,
          lengthBytes
              + " bytes beside "
              + pinnedBytes()
              + " pinned in "
              + byKey.size()
              + " regions, limits "
              + limits.lockedMemoryBytes
              + " bytes and "
              + limits.maxMemoryRegions
              + " regions");
    }
  }

  void add(ScriptedMemoryRegion region) {
    byKey.put(region.lkey(), region);
    pinnedPages += pages(region.address(), region.lengthBytes());
  }

  void remove(ScriptedMemoryRegion region) {
    byKey.remove(region.lkey());
    pinnedPages -= pages(region.address(), region.lengthBytes());
  }

  private long pages(long address, long lengthBytes) {
    long page = limits.pageBytes;
    return (address + lengthBytes - 1) / page - address / page + 1;
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
    ScriptedMemoryRegion region = byKey.get(key);
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
