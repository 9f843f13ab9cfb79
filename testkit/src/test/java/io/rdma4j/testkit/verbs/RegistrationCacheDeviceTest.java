package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.VerbsException;
import io.rdma4j.pool.RegistrationCache;
import io.rdma4j.pool.RegistrationCacheConfig;
import io.rdma4j.pool.RegistrationLease;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Cached registrations as a device sees them: what is posted with a key is what was meant. */
@Timeout(120)
final class RegistrationCacheDeviceTest {
  private static final int LOCAL_PROTECTION_ERROR = 4;
  private static final int BYTES = 65536;

  private final RawPair pair = new RawPair();
  private final SendList sends = new SendList(1, 1);
  private final ReceiveList receives = new ReceiveList(1, 1);
  private final RegistrationCache cache = newCache();

  /** Memory that mappings of a test take turns to lie in. */
  private final MemorySegment place = Arena.ofAuto().allocate(BYTES, 4096);

  private final MemorySegment target = Arena.ofAuto().allocate(BYTES, 4096);
  private byte[] garbage = new byte[0];

  private RegistrationCache newCache() {
    var config = RegistrationCacheConfig.builder().maxIdle(Duration.ofSeconds(1)).build();
    return RegistrationCache.create(config, new DomainRegistrar(pair.domain));
  }

  @AfterEach
  void close() {
    cache.close();
    sends.close();
    receives.close();
    pair.close();
  }

  /** Another mapping at the same address, which makes whatever is registered there stale. */
  @SuppressWarnings("restricted")
  private MemorySegment mapAgain(Arena arena) {
    pair.scripted.declareMapping(place.address(), BYTES);
    return MemorySegment.ofAddress(place.address()).reinterpret(BYTES, arena, null);
  }

  private int send(long address, int lengthBytes, int lkey) {
    try (RegistrationLease into = cache.acquire(target, MemoryAccess.LOCAL_WRITE)) {
      receives.clear();
      sends.clear();
      receives.add(1).scatter(target.address(), BYTES, into.lkey());
      assertEquals(1, pair.b.postReceive(receives));
      sends.add(2, SendList.OP_SEND, SendList.SIGNALED).gather(address, lengthBytes, lkey);
      assertEquals(1, pair.a.postSend(sends));
      assertEquals(1, pair.completionsA.poll(pair.batch));
      int status = pair.batch.status(0);
      pair.completionsB.poll(pair.batch);
      return status;
    }
  }

  private void sendFrom(MemorySegment segment, RegistrationLease lease) {
    int status = send(segment.address(), (int) segment.byteSize(), lease.lkey());
    assertEquals(Completions.SUCCESS, status);
    assertEquals(-1, segment.mismatch(target.asSlice(0, segment.byteSize())));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theSameAddressMappedAgainNeverMeetsAnOlderRegistration(boolean firstUserStillHasIt) {
    Set<Integer> keys = new HashSet<>();
    RegistrationLease previous = cache.newLease();
    RegistrationLease present = cache.newLease();
    for (int round = 0; round < 1000; round++) {
      try (Arena mapping = Arena.ofConfined()) {
        MemorySegment mapped = mapAgain(mapping).fill((byte) round);
        cache.acquire(mapped, MemoryAccess.LOCAL_READ, present);
        assertTrue(keys.add(present.lkey()), "round " + round + " got the key of an older one");
        previous.close();
        sendFrom(mapped, present);
        if (!firstUserStillHasIt) {
          present.release();
          cache.acquire(mapped.asSlice(17, 4000), MemoryAccess.LOCAL_READ, present);
          sendFrom(mapped.asSlice(17, 4000), present);
          present.release();
        }
        RegistrationLease swap = previous;
        previous = present;
        present = swap;
      }
    }
    assertEquals(0, pair.verbs.ledger().stalePosts());
    previous.close();
    cache.maintain(0);
    assertEquals(1, pair.verbs.ledger().live(Ledger.Kind.MEMORY_REGION), "only that of the target");
  }

  @Test
  void aPostWithAnOlderKeyIsSeen() {
    try (Arena mapping = Arena.ofConfined();
        RegistrationLease lease = cache.acquire(mapAgain(mapping), MemoryAccess.LOCAL_READ)) {
      sendFrom(place, lease);
      assertEquals(0, pair.verbs.ledger().stalePosts());
      pair.scripted.declareMapping(place.address(), BYTES);
      send(place.address(), BYTES, lease.lkey());
      assertTrue(pair.verbs.ledger().stalePosts() > 0);
    }
  }

  @Test
  void anIdenticalSecondRegistrationIsUsableUntilItsOwnRelease() {
    MemorySegment range = place.asSlice(0, 8192);
    RegistrationLease first = cache.acquire(range, MemoryAccess.LOCAL_READ);
    RegistrationLease second = cache.acquire(range, MemoryAccess.LOCAL_READ);
    assertEquals(List.of(8192L), pair.verbs.ledger().registeredLengths());
    first.release();
    cache.invalidate(range.address(), 8192);
    sendFrom(range, second);
    RegistrationLease half = cache.acquire(place.asSlice(4096, 8192), MemoryAccess.LOCAL_READ);
    sendFrom(place.asSlice(4096, 8192), half);
    sendFrom(range, second);
    second.release();
    sendFrom(place.asSlice(4096, 8192), half);
    half.release();
    assertEquals(List.of(range.address()), pair.verbs.ledger().deregisteredAddresses());
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2147483647L, 2147483648L, 4294967295L, 4294967296L, 4294971392L})
  @SuppressWarnings("restricted")
  void lengthsReachTheDeviceUnchanged(long lengthBytes) {
    MemorySegment large =
        MemorySegment.ofAddress(1L << 40).reinterpret(lengthBytes, Arena.global(), null);
    try (RegistrationLease lease = cache.acquire(large, MemoryAccess.LOCAL_READ)) {
      assertEquals(List.of(lengthBytes), pair.verbs.ledger().registeredLengths());
      assertEquals(lengthBytes, lease.lengthBytes());
    }
  }

  @Test
  void aRefusedRegistrationNamesTheLimitAndLeavesNothing() {
    pair.scripted.limits().lockedMemoryBytes = 8192;
    var refused =
        assertThrows(
            VerbsException.class, () -> cache.acquire(place, MemoryAccess.LOCAL_READ).release());
    assertEquals(Errno.ENOMEM, refused.errno());
    assertTrue(String.valueOf(refused.getMessage()).contains("8192"), refused::getMessage);
    assertEquals(1, cache.statistics().failures());
    assertEquals(0, pair.scripted.pinnedBytes());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aBufferIsKeptUntilItsRegistrationHasExpired(boolean slice) {
    cache.maintain(0);
    WeakReference<ByteBuffer> buffer = useOnce(cache, slice);
    for (int round = 0; round < 5; round++) {
      collect();
    }
    assertNotNull(buffer.get(), "collected while the device knew its address");
    cache.maintain(0);
    assertEquals(1, cache.maintain(Duration.ofSeconds(1).toNanos()));
    assertCollected(buffer);
  }

  @Test
  void aBufferIsKeptForTheDeviceWhenItsCacheIsDropped() {
    WeakReference<ByteBuffer> buffer = useOnce(newCache(), false);
    for (int round = 0; round < 5; round++) {
      collect();
    }
    assertNotNull(buffer.get(), "collected while the device knew its address");
  }

  private static WeakReference<ByteBuffer> useOnce(RegistrationCache cache, boolean slice) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(8192);
    ByteBuffer used = slice ? buffer.slice(4096, 64) : buffer;
    cache.acquire(used, MemoryAccess.LOCAL_WRITE).release();
    return new WeakReference<>(buffer);
  }

  private void collect() {
    garbage = new byte[50_000_000];
    garbage[1] = 1;
    System.gc();
  }

  private void assertCollected(WeakReference<ByteBuffer> buffer) {
    for (int round = 0; round < 50 && buffer.get() != null; round++) {
      collect();
    }
    assertEquals(null, buffer.get(), "kept after its registration had ended");
  }

  @Test
  void closingTheArenaGivenEndsTheRegistrationBeforeTheMemoryIsFreed() {
    RegistrationLease lease = cache.newLease();
    try (Arena arena = Arena.ofShared()) {
      MemorySegment segment = arena.allocate(4096, 4096);
      cache.acquire(segment, arena, MemoryAccess.LOCAL_WRITE, lease);
      receives.add(1).scatter(segment.address(), 4096, lease.lkey());
      assertEquals(1, pair.b.postReceive(receives));
    }
    assertEquals(0, pair.verbs.ledger().live(Ledger.Kind.MEMORY_REGION));
    sends.add(2, SendList.OP_SEND, SendList.SIGNALED);
    assertEquals(1, pair.a.postSend(sends));
    assertEquals(1, pair.completionsB.poll(pair.batch));
    assertEquals(LOCAL_PROTECTION_ERROR, pair.batch.status(0), "the device refuses the memory");
    assertThrows(IllegalStateException.class, lease::lkey);
    lease.release();
    assertEquals(1, cache.statistics().staleDropped());
  }

  @Test
  void aHitMakesNoGarbage() {
    RegistrationLease lease = cache.newLease();
    MemorySegment[] parts = new MemorySegment[16];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = place.asSlice(i * 4096L, 4096);
    }
    MemorySegment buffer = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(4096));
    cache.acquire(place, MemoryAccess.LOCAL_WRITE).release();
    cache.acquire(buffer, MemoryAccess.LOCAL_WRITE).release();
    int[] next = new int[1];
    try (Arena arena = Arena.ofShared()) {
      MemorySegment segment = arena.allocate(4096);
      cache.acquire(segment, arena, MemoryAccess.LOCAL_WRITE, lease);
      lease.release();
      double bytes =
          AllocationMeter.bytesPerOperation(
              50_000,
              50_000,
              () -> {
                cache.acquire(parts[next[0]++ & 15], MemoryAccess.LOCAL_READ, lease);
                next[0] += lease.lkey() & 1;
                lease.release();
                cache.acquire(buffer, MemoryAccess.LOCAL_WRITE, lease);
                lease.release();
                cache.acquire(segment, arena, MemoryAccess.LOCAL_WRITE, lease);
                lease.release();
              });
      assertTrue(bytes < AllocationMeter.NONE, () -> bytes + " bytes for each three hits");
    }
    assertEquals(3, cache.statistics().misses());
  }

  @Test
  void aVerbsDeviceIsAskedForTheRightsByItsOwnBits() {
    try (var link = new ScriptedLink(1000, 16)) {
      MemoryRegistrar registrar = link.initiator().registrars().getFirst();
      RegistrationCache of =
          RegistrationCache.create(RegistrationCacheConfig.defaults(), registrar);
      int all =
          MemoryAccess.LOCAL_WRITE
              | MemoryAccess.REMOTE_WRITE
              | MemoryAccess.REMOTE_READ
              | MemoryAccess.REMOTE_ATOMIC;
      of.acquire(place.asSlice(0, 64), MemoryAccess.LOCAL_READ).release();
      of.acquire(place.asSlice(8192, 64), MemoryAccess.LOCAL_WRITE).release();
      of.acquire(place.asSlice(16384, 64), MemoryAccess.REMOTE_READ).release();
      of.acquire(place.asSlice(24576, 64), MemoryAccess.LOCAL_WRITE | MemoryAccess.REMOTE_WRITE)
          .release();
      try (RegistrationLease lease = of.acquire(place.asSlice(32768, 64), all)) {
        assertNotEquals(0, lease.rkey());
      }
      assertEquals(
          List.of(
              Access.LOCAL_READ,
              Access.LOCAL_WRITE,
              Access.REMOTE_READ,
              Access.LOCAL_WRITE | Access.REMOTE_WRITE,
              Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC),
          link.verbs.ledger().registeredAccess());
      of.close();
    }
  }
}
