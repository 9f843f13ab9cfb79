package io.rdma4j.pool;

import static io.rdma4j.provider.MemoryAccess.LOCAL_READ;
import static io.rdma4j.provider.MemoryAccess.LOCAL_WRITE;
import static io.rdma4j.provider.MemoryAccess.REMOTE_READ;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of registrations when their memory goes. */
@Timeout(60)
final class RegistrationOfEndedMemoryTest extends RegistrationCacheFixture {
  @Test
  @SuppressWarnings("restricted")
  void aRegistrationOfAClosedArenaIsNeverFoundAgain() {
    List<Integer> keys = new ArrayList<>();
    for (int round = 0; round < 1000; round++) {
      try (Arena mapping = Arena.ofShared()) {
        MemorySegment mapped = MemorySegment.ofAddress(SOMEWHERE).reinterpret(65536, mapping, null);
        int key = lkeyOf(mapped, LOCAL_READ);
        assertEquals(key, lkeyOf(mapped.asSlice(100, 5), LOCAL_READ));
        keys.add(key);
      }
      assertTrue(device.live() <= 1, "what was closed before is dropped with the next miss");
    }
    assertEquals(1000, keys.stream().distinct().count());
    assertEquals(999, cache.statistics().staleDropped());
    cache.maintain(0);
    assertEquals(1000, cache.statistics().staleDropped());
    assertEquals(0, device.live());
  }

  @Test
  @SuppressWarnings("restricted")
  void aRegistrationInUseOfAClosedArenaEndsWithItsUserAndGivesNoKey() {
    RegistrationLease held = cache.newLease();
    MemorySegment freed;
    try (Arena mapping = Arena.ofShared()) {
      freed = MemorySegment.ofAddress(SOMEWHERE).reinterpret(65536, mapping, null);
      cache.acquire(freed, LOCAL_READ, held);
    }
    assertThrows(IllegalStateException.class, held::lkey);
    assertThrows(IllegalStateException.class, () -> cache.acquire(freed, LOCAL_READ));
    lkeyOf(at(SOMEWHERE, 65536), LOCAL_READ);
    assertEquals(2, device.live());
    held.release();
    assertEquals(1, device.live());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void closingTheArenaGivenEndsItsRegistrationsWhetherUsedOrNot(boolean late) {
    RegistrationLease held = cache.newLease();
    boolean[] goneFirst = new boolean[1];
    try (Arena own = Arena.ofConfined()) {
      MemorySegment segment = own.allocate(4096);
      int key;
      if (late) {
        // Registered by somebody who did not know the arena.
        key = lkeyOf(segment, LOCAL_WRITE);
        actAtClose(own, segment, () -> goneFirst[0] = !device.knows(key));
        cache.acquire(segment.asSlice(16, 16), own, LOCAL_WRITE, held);
        assertEquals(key, held.lkey());
      } else {
        actAtClose(own, segment, () -> goneFirst[0] = device.live() == 0);
        cache.acquire(segment, own, LOCAL_WRITE | REMOTE_READ, held);
      }
      lkeyOf(own.allocate(64), LOCAL_READ);
    }
    assertTrue(goneFirst[0], "while the memory, older than the registration, is still there");
    assertEquals(0, device.live());
    assertThrows(IllegalStateException.class, held::rkey);
    held.release();
    assertEquals(1, cache.statistics().deregistrations() - (cache.statistics().entries() + 1));
  }

  @SuppressWarnings("restricted")
  private static void actAtClose(Arena arena, MemorySegment segment, Runnable action) {
    segment.reinterpret(arena, ignored -> action.run());
  }

  @Test
  void anArenaEndsTheLastOfManyRegistrationsOfItsMemory() {
    cache = cacheOf(1, MIB);
    try (Arena own = Arena.ofShared()) {
      MemorySegment memory = own.allocate(8192);
      RegistrationLease lease = cache.newLease();
      for (int i = 0; i < 100; i++) {
        cache.acquire(memory.asSlice((i & 1) * 4096L, 64), own, LOCAL_READ, lease);
        lease.release();
      }
      assertEquals(100, device.registered().size(), "one evicts the other");
      assertEquals(1, device.live());
    }
    assertEquals(0, device.live());
  }

  @Test
  void closingTheArenaWaitsForARegistrationUnderWay() throws Exception {
    CountDownLatch registering = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    device.beforeEach(
        () -> {
          registering.countDown();
          await(goOn);
        });
    RegistrationLease lease = cache.newLease();
    AtomicBoolean freed = new AtomicBoolean();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> acquiring;
      Future<?> looking;
      try (Arena own = Arena.ofShared()) {
        MemorySegment segment = own.allocate(64);
        actAtClose(own, segment, () -> freed.set(true));
        acquiring =
            threads.submit(
                () ->
                    assertThrows(
                        IllegalStateException.class,
                        () -> cache.acquire(segment, own, LOCAL_WRITE, lease)));
        await(registering);
        looking =
            threads.submit(
                () -> {
                  while (segment.scope().isAlive()) {
                    Thread.onSpinWait();
                  }
                  assertFalse(freed.get(), "freed while the device was registering it");
                  goOn.countDown();
                });
      }
      looking.get(10, TimeUnit.SECONDS);
      acquiring.get(10, TimeUnit.SECONDS);
    }
    assertTrue(freed.get());
    assertTrue(lease.isEmpty());
    assertEquals(1, device.registered().size());
    assertEquals(0, device.live());
  }

  @Test
  void viewsOfADirectBufferShareItsRegistrationAndBuffersAreNeverConfused() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(4096);
    int key;
    try (RegistrationLease lease = cache.acquire(buffer, LOCAL_WRITE)) {
      key = lease.lkey();
    }
    for (ByteBuffer view :
        List.of(
            buffer.duplicate(),
            buffer.slice(64, 64),
            buffer.slice(64, 64).slice(8, 8).duplicate(),
            buffer.duplicate().position(10).limit(20))) {
      try (RegistrationLease lease = cache.acquire(view, LOCAL_WRITE)) {
        assertEquals(key, lease.lkey());
        assertEquals(view.remaining(), lease.lengthBytes());
      }
    }
    try (RegistrationLease lease = cache.acquire(buffer.asReadOnlyBuffer(), LOCAL_READ)) {
      assertEquals(key, lease.lkey());
    }
    try (RegistrationLease lease = cache.acquire(ByteBuffer.allocateDirect(4096), LOCAL_READ)) {
      assertNotEquals(key, lease.lkey());
    }
  }

  @Test
  void invalidatedMemoryIsNotFoundAgainWhateverItsScope() {
    MemorySegment segment = at(SOMEWHERE, 65536);
    int key = lkeyOf(segment, LOCAL_READ);
    RegistrationLease held = lease(segment, LOCAL_READ);
    assertEquals(0, cache.invalidate(SOMEWHERE + 65536, 4096));
    assertEquals(1, cache.invalidate(SOMEWHERE + 65535, 1));
    assertNotEquals(key, lkeyOf(segment, LOCAL_READ));
    assertEquals(key, held.lkey());
    held.release();
    assertEquals(0, cache.invalidate(SOMEWHERE, 65536));
    assertEquals(0, device.live());
  }

  @Test
  void invalidatingReachesARegistrationUnderWay() {
    MemorySegment segment = at(SOMEWHERE, 64);
    device.beforeEach(() -> assertEquals(1, cache.invalidate(SOMEWHERE, 1)));
    int key = lkeyOf(segment, LOCAL_READ);
    device.beforeEach(() -> {});
    assertEquals(0, device.live());
    assertNotEquals(key, lkeyOf(segment, LOCAL_READ));
    assertEquals(1, cache.statistics().uncached());
  }
}
