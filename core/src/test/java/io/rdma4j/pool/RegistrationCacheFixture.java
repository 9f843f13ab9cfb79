package io.rdma4j.pool;

import static io.rdma4j.provider.MemoryAccess.LOCAL_READ;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;

/** A registration cache over a device that knows what it has registered. */
abstract class RegistrationCacheFixture {
  static final long SOMEWHERE = 1L << 40;
  static final int MIB = 1 << 20;

  final RegistrationDevice device = new RegistrationDevice();
  final Arena arena = Arena.ofShared();
  RegistrationCache cache = cacheOf(RegistrationCacheConfig.defaults());

  RegistrationCache cacheOf(RegistrationCacheConfig config) {
    return RegistrationCache.create(config, device);
  }

  RegistrationCache cacheOf(int maxEntries, long maxBytes) {
    return cacheOf(
        RegistrationCacheConfig.builder().maxEntries(maxEntries).maxBytes(maxBytes).build());
  }

  /** Every test ends with a cache that adds up and a device that has forgotten all. */
  @AfterEach
  void nothingIsLeft() {
    arena.close();
    cache.close();
    assertAddsUp(cache.statistics());
    assertEquals(0, cache.statistics().entries());
    assertEquals(0, cache.statistics().retiring() + cache.statistics().pending());
    assertEquals(0, device.live());
  }

  static void assertAddsUp(RegistrationCacheStatistics now) {
    assertEquals(now.misses(), now.registrations() + now.failures(), now::toString);
    assertEquals(
        now.registrations(),
        now.uncached()
            + now.entries()
            + now.replaced()
            + now.evictions()
            + now.expired()
            + now.staleDropped()
            + now.invalidated(),
        now::toString);
    assertEquals(
        now.registrations(),
        now.deregistrations() + now.entries() + now.retiring() + now.pending(),
        now::toString);
  }

  int lkeyOf(MemorySegment segment, int access) {
    try (RegistrationLease lease = cache.acquire(segment, access)) {
      assertTrue(
          device.grants(lease.lkey(), segment.address(), segment.byteSize(), access),
          "the key does not grant what was asked for");
      return lease.lkey();
    }
  }

  RegistrationLease lease(MemorySegment segment, int access) {
    RegistrationLease lease = cache.newLease();
    cache.acquire(segment, arena, access, lease);
    return lease;
  }

  /** Address space that no one touches, with a scope that can be closed. */
  @SuppressWarnings("restricted")
  MemorySegment at(long address, long lengthBytes) {
    return MemorySegment.ofAddress(address).reinterpret(lengthBytes, arena, null);
  }

  void assertHits(MemorySegment segment, boolean hit) {
    long before = cache.statistics().hits();
    lkeyOf(segment, LOCAL_READ);
    assertEquals(hit ? 1 : 0, cache.statistics().hits() - before, segment::toString);
  }

  static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(10, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
