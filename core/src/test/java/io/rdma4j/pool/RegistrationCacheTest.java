package io.rdma4j.pool;

import static io.rdma4j.provider.MemoryAccess.LOCAL_READ;
import static io.rdma4j.provider.MemoryAccess.LOCAL_WRITE;
import static io.rdma4j.provider.MemoryAccess.REMOTE_ATOMIC;
import static io.rdma4j.provider.MemoryAccess.REMOTE_READ;
import static io.rdma4j.provider.MemoryAccess.REMOTE_WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
final class RegistrationCacheTest extends RegistrationCacheFixture {
  // --- identity and bounds -----------------------------------------------------------------------

  @Test
  void anIdenticalRangeIsOneRegistrationEndedAfterItsLastUser() {
    RegistrationLease first = lease(at(0x10000, 8192), LOCAL_WRITE);
    RegistrationLease second = lease(at(0x10000, 8192), LOCAL_WRITE);
    assertEquals(first.lkey(), second.lkey());
    first.release();
    assertTrue(device.knows(second.lkey()), "usable after the first release");
    assertEquals(1, cache.invalidate(0x10000, 8192));
    assertEquals(1, device.live(), "the second user still has it");
    second.release();
    assertEquals(1, device.registered().size());
    assertEquals(1, device.deregistered());
  }

  @Test
  void anOverlappingRangeDoesNotTakeTheFirstAway() {
    RegistrationLease first = lease(at(0x10000, 8192), LOCAL_WRITE);
    RegistrationLease second = lease(at(0x11000, 8192), LOCAL_WRITE);
    assertTrue(device.grants(first.lkey(), 0x10000, 8192, LOCAL_WRITE));
    assertTrue(device.grants(second.lkey(), 0x11000, 8192, LOCAL_WRITE));
    first.release();
    second.release();
    long before = device.registered().size();
    for (long offset = 0; offset + 4096 <= 12288; offset += 512) {
      lkeyOf(at(0x10000 + offset, 4096), LOCAL_WRITE);
    }
    assertEquals(before, device.registered().size(), "everything inside of either hits");
    lkeyOf(at(0x10000, 12288), LOCAL_WRITE);
    assertEquals(before + 1, device.registered().size(), "neither holds the whole");
    assertEquals(1, cache.statistics().entries(), "both are inside the new one");
    assertEquals(2, cache.statistics().replaced());
  }

  @Test
  void innerAddressesHitAndOuterOnesMiss() {
    lkeyOf(at(SOMEWHERE, MIB), LOCAL_READ);
    assertHits(at(SOMEWHERE, 1), true);
    assertHits(at(SOMEWHERE + 8191, 1), true);
    assertHits(at(SOMEWHERE + 1048575, 1), true);
    assertHits(at(SOMEWHERE, 1048576), true);
    // Each outer one is registered by its miss, so it is tried once; none takes in the large one.
    assertHits(at(SOMEWHERE + 1048575, 2), false);
    assertHits(at(SOMEWHERE + 1048576 + 8, 1), false);
    assertHits(at(SOMEWHERE - 1, 1), false);
    assertHits(at(SOMEWHERE, 1048576), true);
  }

  @Test
  void theByteBehindTheEndMisses() {
    lkeyOf(at(SOMEWHERE, MIB), LOCAL_READ);
    assertHits(at(SOMEWHERE + 1048576, 1), false);
    assertHits(at(SOMEWHERE + 1048576, 1), true);
  }

  @ParameterizedTest
  @ValueSource(
      longs = {1, 2147483647L, 2147483648L, 4294967295L, 4294967296L, 4294971392L, 1L << 45})
  void lengthsReachTheDeviceUnchanged(long lengthBytes) {
    cache = cacheOf(8, 1L << 50);
    try (RegistrationLease lease = cache.acquire(at(SOMEWHERE, lengthBytes), LOCAL_READ)) {
      assertEquals(lengthBytes, lease.lengthBytes());
      assertEquals(
          List.of(new RegistrationDevice.Known(SOMEWHERE, lengthBytes, LOCAL_READ)),
          device.registered());
    }
    assertEquals(lengthBytes, cache.statistics().entryBytes());
    assertHits(at(SOMEWHERE + lengthBytes - 1, 1), true);
    assertHits(at(SOMEWHERE + lengthBytes, 1), false);
  }

  @Test
  void refusesWhatADeviceCanNotUse() {
    MemorySegment segment = arena.allocate(64);
    ByteBuffer readOnly = ByteBuffer.allocateDirect(64).asReadOnlyBuffer();
    assertRefused("at least 1 byte", () -> cache.acquire(segment.asSlice(3, 0), LOCAL_READ));
    assertRefused("native", () -> cache.acquire(MemorySegment.ofArray(new byte[8]), LOCAL_READ));
    assertRefused("heap", () -> cache.acquire(ByteBuffer.allocate(8), LOCAL_READ));
    for (int access : new int[] {LOCAL_WRITE, LOCAL_WRITE | REMOTE_WRITE}) {
      assertRefused("read-only", () -> cache.acquire(readOnly, access));
      assertRefused("read-only", () -> cache.acquire(segment.asReadOnly(), access));
    }
    assertRefused("need LOCAL_WRITE", () -> cache.acquire(segment, REMOTE_WRITE));
    assertRefused("need LOCAL_WRITE", () -> cache.acquire(segment, REMOTE_ATOMIC));
    assertRefused("unknown bits", () -> cache.acquire(segment, 1 << 7));
    assertRefused("pass its arena", () -> cache.acquire(segment, REMOTE_READ));
    assertRefused("beyond all", () -> cache.acquire(at(SOMEWHERE, Long.MAX_VALUE), LOCAL_READ));
    assertRefused(
        "not allocated from",
        () -> cache.acquire(segment, Arena.global(), LOCAL_READ, cache.newLease()));
    assertEquals(List.of(), device.registered());
    cache.acquire(readOnly, REMOTE_READ).release();
    cache.acquire(segment.asReadOnly(), LOCAL_READ).release();
  }

  private static void assertRefused(String word, Runnable acquisition) {
    var refused = assertThrows(IllegalArgumentException.class, acquisition::run);
    assertTrue(String.valueOf(refused.getMessage()).contains(word), refused::getMessage);
  }

  @Test
  void aRegistrarForLocalUseRefusesRightsOfPeers() {
    LimitedRegistrar local = LimitedRegistrar.unlimited("plain");
    try (RegistrationCache of =
        RegistrationCache.create(RegistrationCacheConfig.defaults(), local)) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(64);
      of.acquire(buffer, LOCAL_WRITE).release();
      var refused =
          assertThrows(UnsupportedOperationException.class, () -> of.acquire(buffer, REMOTE_READ));
      assertTrue(String.valueOf(refused.getMessage()).contains("REMOTE_READ"), refused::getMessage);
      assertEquals(1, of.statistics().failures());
    }
    assertEquals(0, local.live());
  }

  // --- leases ------------------------------------------------------------------------------------

  @Test
  void aLeaseHoldsOneRegistrationOfItsCache() {
    MemorySegment segment = arena.allocate(64);
    RegistrationLease lease = cache.newLease();
    assertThrows(IllegalStateException.class, lease::lkey);
    assertThrows(IllegalStateException.class, lease::release);
    cache.acquire(segment.asSlice(8, 16), LOCAL_WRITE, lease);
    assertEquals(segment.address() + 8, lease.address());
    assertEquals(16, lease.lengthBytes());
    assertEquals(LOCAL_WRITE, lease.access());
    assertThrows(IllegalStateException.class, lease::rkey, "peers have no rights");
    assertThrows(IllegalStateException.class, () -> cache.acquire(segment, LOCAL_READ, lease));
    assertFalse(lease.isEmpty());
    lease.release();
    assertThrows(IllegalStateException.class, lease::release);
    assertThrows(IllegalStateException.class, lease::address);
    lease.close();
    try (RegistrationCache other = cacheOf(RegistrationCacheConfig.defaults())) {
      assertThrows(IllegalStateException.class, () -> other.acquire(segment, LOCAL_READ, lease));
    }
    assertTrue(lease.isEmpty());
  }

  // --- rights ------------------------------------------------------------------------------------

  @Test
  void moreRightsToTheSameRangeAreRegisteredTogetherAndTheNarrowerRetires() {
    MemorySegment segment = at(SOMEWHERE, 8192);
    RegistrationLease reading = lease(segment, REMOTE_READ);
    RegistrationLease writing = lease(segment, LOCAL_WRITE | REMOTE_WRITE);
    assertEquals(REMOTE_READ | LOCAL_WRITE | REMOTE_WRITE, writing.access());
    assertNotEquals(reading.lkey(), writing.lkey());
    assertEquals(writing.rkey() - 1, writing.lkey());
    assertTrue(device.knows(reading.lkey()), "its user still has it");
    reading.release();
    assertEquals(1, device.live());
    assertEquals(writing.lkey(), lkeyOf(segment, REMOTE_READ));
    assertEquals(writing.lkey(), lkeyOf(segment, LOCAL_READ));
    writing.release();
    assertEquals(2, device.registered().size());
  }

  @Test
  void peersGetNoRightToMemoryThatNobodyAskedItFor() {
    lease(at(SOMEWHERE, 4096), REMOTE_READ).release();
    lease(at(SOMEWHERE + 4096, 4096), REMOTE_READ).release();
    lease(at(SOMEWHERE, MIB), LOCAL_WRITE).release();
    lease(at(SOMEWHERE + 8192, 4096), LOCAL_WRITE | REMOTE_WRITE).release();
    assertEquals(
        List.of(
            new RegistrationDevice.Known(SOMEWHERE, 4096, REMOTE_READ),
            new RegistrationDevice.Known(SOMEWHERE + 4096, 4096, REMOTE_READ),
            new RegistrationDevice.Known(SOMEWHERE, MIB, LOCAL_WRITE),
            new RegistrationDevice.Known(SOMEWHERE + 8192, 4096, LOCAL_WRITE | REMOTE_WRITE)),
        device.registered());
    assertEquals(4, cache.statistics().entries());
  }

  // --- merging -----------------------------------------------------------------------------------

  @Test
  void piecesUsedOneAfterTheOtherEndUpInFewRegistrations() {
    int pieces = 256;
    for (int i = 0; i < pieces; i++) {
      lkeyOf(at(SOMEWHERE + i * 8192L, 8192), LOCAL_READ);
    }
    assertEquals(1, cache.statistics().entries());
    assertEquals(pieces * 8192L, cache.statistics().entryBytes());
    long bytes =
        device.registered().stream().mapToLong(RegistrationDevice.Known::lengthBytes).sum();
    assertTrue(
        bytes <= 9L * pieces * 8192, () -> "each byte at most log2(256) + 1 times: " + bytes);
    for (int i = 0; i < pieces; i++) {
      assertHits(at(SOMEWHERE + i * 8192L, 8192), true);
    }
  }

  @Test
  void aMergedNeighbourEndsWithItsLastUser() {
    RegistrationLease left = lease(at(SOMEWHERE, 4096), LOCAL_READ);
    RegistrationLease right = lease(at(SOMEWHERE + 4096, 4096), LOCAL_READ);
    assertEquals(1, cache.statistics().merges());
    assertEquals(1, cache.statistics().retiring());
    assertTrue(device.knows(left.lkey()));
    left.release();
    assertEquals(1, device.live());
    assertEquals(right.lkey(), lkeyOf(at(SOMEWHERE, 4096), LOCAL_READ));
    right.release();
  }

  @Test
  @SuppressWarnings("restricted")
  void neighboursOfAnotherScopeAreLeftAlone() {
    try (Arena other = Arena.ofShared()) {
      MemorySegment left = MemorySegment.ofAddress(SOMEWHERE).reinterpret(4096, other, null);
      lkeyOf(left, LOCAL_READ);
      assertNotEquals(lkeyOf(left, LOCAL_READ), lkeyOf(at(SOMEWHERE, 4096), LOCAL_READ));
      lkeyOf(at(SOMEWHERE + 4096, 4096), LOCAL_READ);
      assertEquals(2, cache.statistics().entries());
      assertEquals(4096, device.registered().getFirst().lengthBytes());
    }
  }

  // --- bounds ------------------------------------------------------------------------------------

  @Test
  void theLeastRecentlyUsedIsEndedFirstAndNeverOneInUse() {
    cache = cacheOf(3, MIB);
    RegistrationLease held = lease(at(SOMEWHERE, 64), LOCAL_READ);
    lkeyOf(at(SOMEWHERE + 4096, 64), LOCAL_READ);
    lkeyOf(at(SOMEWHERE + 8192, 64), LOCAL_READ);
    assertHits(at(SOMEWHERE + 4096, 64), true);
    lkeyOf(at(SOMEWHERE + 12288, 64), LOCAL_READ);
    assertEquals(3, cache.statistics().entries());
    assertEquals(1, cache.statistics().evictions());
    assertHits(at(SOMEWHERE, 64), true);
    assertHits(at(SOMEWHERE + 4096, 64), true);
    assertHits(at(SOMEWHERE + 12288, 64), true);
    assertHits(at(SOMEWHERE + 8192, 64), false);
    assertTrue(device.live() <= 3);
    held.release();
  }

  @Test
  void bytesAreBoundedToo() {
    cache = cacheOf(100, 10_000);
    for (int i = 0; i < 10; i++) {
      lkeyOf(at(SOMEWHERE + i * 65536L, 4000), LOCAL_READ);
      assertTrue(cache.statistics().entryBytes() <= 10_000);
    }
    assertEquals(2, cache.statistics().entries());
    assertEquals(8, cache.statistics().evictions());
    lkeyOf(at(SOMEWHERE, 10_001), LOCAL_READ);
    assertEquals(1, cache.statistics().uncached(), "larger than the cache");
    assertEquals(2, cache.statistics().entries(), "and nothing is thrown out for it");
    RegistrationLease held = lease(at(SOMEWHERE + 9 * 65536L, 4000), LOCAL_READ);
    lkeyOf(at(SOMEWHERE, 7000), LOCAL_READ);
    assertEquals(2, cache.statistics().uncached(), "no room beside the one in use");
    assertEquals(2, cache.statistics().entries(), "so the unused one stays");
    held.release();
    assertEquals(2, device.live());
  }

  @Test
  void whenAllAreInUseARegistrationIsMadeForItsUsersAlone() {
    cache = cacheOf(2, MIB);
    List<RegistrationLease> held = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      held.add(lease(at(SOMEWHERE + i * 4096L, 64), LOCAL_READ));
    }
    assertEquals(3, cache.statistics().uncached());
    assertEquals(3, cache.statistics().retiring());
    assertEquals(5, cache.statistics().used());
    assertAddsUp(cache.statistics());
    assertEquals(5, held.stream().map(RegistrationLease::lkey).distinct().count());
    held.forEach(RegistrationLease::release);
    assertEquals(2, device.live());
  }

  @Test
  void whatNobodyUsesExpires() {
    long idleNs = Duration.ofMinutes(1).toNanos();
    MemorySegment often = at(SOMEWHERE, 64);
    RegistrationLease held = lease(at(SOMEWHERE + 4096, 64), LOCAL_READ);
    lkeyOf(often, LOCAL_READ);
    lkeyOf(at(SOMEWHERE + 8192, 64), LOCAL_READ);
    long startNs = Long.MAX_VALUE - idleNs / 2;
    assertEquals(0, cache.maintain(startNs));
    lkeyOf(often, LOCAL_READ);
    assertEquals(0, cache.maintain(startNs + idleNs - 1));
    assertEquals(1, cache.maintain(startNs + idleNs));
    assertEquals(1, cache.statistics().expired());
    assertHits(often, true);
    assertEquals(2, device.live());
    held.release();
  }

  @Test
  void settingsAreCheckedByName() {
    Properties properties = new Properties();
    properties.setProperty(RegistrationCacheConfig.MAX_ENTRIES, "2k");
    properties.setProperty(RegistrationCacheConfig.MAX_BYTES, "3g");
    properties.setProperty(RegistrationCacheConfig.MAX_IDLE, "5s");
    RegistrationCacheConfig config = RegistrationCacheConfig.fromProperties(properties);
    assertEquals(2048, config.maxEntries());
    assertEquals(3L << 30, config.maxBytes());
    assertEquals(Duration.ofSeconds(5), config.maxIdle());
    for (String property :
        List.of(
            RegistrationCacheConfig.MAX_ENTRIES,
            RegistrationCacheConfig.MAX_BYTES,
            RegistrationCacheConfig.MAX_IDLE)) {
      assertTrue(config.toString().contains(property + "="));
      for (String bad : List.of("", "-1", "1x", "s", "99999999999999999999", "9999999999g")) {
        Properties one = new Properties();
        one.setProperty(property, bad);
        assertRefused(property, () -> RegistrationCacheConfig.fromProperties(one));
      }
    }
    var builder = RegistrationCacheConfig.builder();
    assertRefused("65536", () -> builder.maxEntries(0).build());
    assertRefused("65536", () -> builder.maxEntries(65537).build());
    assertRefused("at least 1", () -> builder.maxEntries(1).maxBytes(0).build());
    assertRefused("87600h", () -> builder.maxBytes(1).maxIdle(Duration.ofDays(3651)).build());
    assertRefused("maxIdle", () -> builder.maxIdle(Duration.ofNanos(-1)).build());
  }

  // --- several threads, and devices that refuse
  // ----------------------------------------------------

  @Test
  void sixtyFourThreadsThatMissTheSameMemoryRegisterOnce() throws Exception {
    MemorySegment segment = at(SOMEWHERE, 8192);
    device.beforeEach(() -> awaitJoined(63));
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Integer>> keys = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        MemorySegment part = segment.asSlice(0, 8192);
        keys.add(threads.submit(() -> lkeyOf(part, LOCAL_READ)));
      }
      int first = keys.getFirst().get();
      for (Future<Integer> key : keys) {
        assertEquals(first, key.get());
      }
    }
    assertEquals(1, device.registered().size());
    assertEquals(63, cache.statistics().joined());
    assertEquals(0, cache.statistics().used());
  }

  private void awaitJoined(int threads) {
    while (cache.statistics().joined() < threads) {
      Thread.onSpinWait();
    }
  }

  @Test
  void aRefusalReachesAllWhoWaitedAndTheNextTryStartsAfresh() throws Exception {
    MemorySegment segment = at(SOMEWHERE, 8192);
    device.refusing(true);
    device.beforeEach(() -> awaitJoined(7));
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Rdma4jException>> refusals = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        refusals.add(
            threads.submit(
                () ->
                    assertThrows(Rdma4jException.class, () -> cache.acquire(segment, LOCAL_READ))));
      }
      for (Future<Rdma4jException> refusal : refusals) {
        assertTrue(String.valueOf(refusal.get().getMessage()).contains("ENOMEM"));
      }
    }
    assertEquals(1, cache.statistics().failures());
    assertEquals(0, cache.statistics().entries());
    device.refusing(false);
    lkeyOf(segment, LOCAL_READ);
    assertEquals(1, device.registered().size());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatTheDeviceDoesNotLetGoIsTriedAgain(boolean refuses) {
    cache = cacheOf(1, MIB);
    device.holding(refuses);
    device.busy(!refuses);
    lkeyOf(at(SOMEWHERE, 64), LOCAL_READ);
    lkeyOf(at(SOMEWHERE + 4096, 64), LOCAL_READ);
    assertEquals(2, device.live());
    assertEquals(1, cache.statistics().pending());
    assertEquals(refuses ? 1 : 0, cache.statistics().deregistrationFailures());
    assertAddsUp(cache.statistics());
    assertEquals(1, cache.invalidate(SOMEWHERE, 64), "the device still knows it");
    assertEquals(0, cache.maintain(0));
    var closing = assertThrows(IllegalStateException.class, cache::close);
    assertTrue(String.valueOf(closing.getMessage()).contains("2 registrations"));
    device.holding(false);
    device.busy(false);
    assertEquals(2, cache.maintain(0));
    assertEquals(0, cache.statistics().pending());
    assertEquals(0, device.live());
  }

  @Test
  void closingNamesWhatIsInUseAndRefusesNewUsers() {
    RegistrationLease held = lease(at(SOMEWHERE, 64), LOCAL_READ);
    lkeyOf(at(SOMEWHERE + 4096, 64), LOCAL_READ);
    var closing = assertThrows(IllegalStateException.class, cache::close);
    assertTrue(String.valueOf(closing.getMessage()).contains("1 in use"), closing::getMessage);
    assertEquals(1, device.live());
    var refused =
        assertThrows(
            IllegalStateException.class, () -> cache.acquire(at(SOMEWHERE, 64), LOCAL_READ));
    assertTrue(String.valueOf(refused.getMessage()).contains("closed"), refused::getMessage);
    assertEquals(device.live(), held.lkey() - 99, "the key is the first one, and still valid");
    held.release();
    assertEquals(0, device.live());
    cache.close();
  }
}
