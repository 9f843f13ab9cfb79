package io.rdma4j.pool;

import static io.rdma4j.pool.PoolTestSupport.assertAddsUp;
import static io.rdma4j.pool.PoolTestSupport.assertDrained;
import static io.rdma4j.pool.PoolTestSupport.oneClass;
import static io.rdma4j.pool.PoolTestSupport.onlyClass;
import static io.rdma4j.pool.PoolTestSupport.plain;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.os.TestRoots;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class RegisteredBufferPoolTest {
  @TempDir Path directory;

  @Test
  void lendsRegisteredBlocks() {
    LimitedRegistrar one = LimitedRegistrar.unlimited("rxe0");
    LimitedRegistrar two = LimitedRegistrar.unlimited("rxe1");
    PoolConfig config = PoolConfig.builder().hugePages(HugePages.NONE).build();
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(one, two))) {
      assertEquals(65536, pool.maxBufferBytes());
      try (RegisteredBuffer small = pool.allocate(0);
          RegisteredBuffer large = pool.allocate(8193)) {
        assertEquals(8192, small.capacityBytes());
        assertEquals(16384, large.capacityBytes());
        assertEquals(8193, large.lengthBytes());
        assertEquals(100, large.lengthBytes(100).lengthBytes());
        assertEquals(large.segment().address(), large.address());
        assertEquals(16384, large.segment().byteSize());
        assertSame(large.segment(), large.segment());
        assertEquals(small.lkey(1), small.lkey(two));
        assertEquals(small.rkey(0), small.rkey(one));
        assertEquals(List.of(100, 101, 100, 101), LimitedRegistrar.keysOf(small, 2));
        assertEquals(List.of(102, 103, 102, 103), LimitedRegistrar.keysOf(large, 2));
        assertEquals(0, small.address() % 4096);
      }
      assertEquals(2, one.live());
      assertEquals(2 << 20, two.lastLengthBytes());
      assertEquals(4, pool.statistics().registrations());
      assertDrained(pool);
    }
    assertEquals(0, one.live() + two.live());
  }

  @Test
  void refusesBadArguments() {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 4));
        RegisteredBuffer held = pool.allocate(1)) {
      IllegalArgumentException tooLong =
          assertThrows(IllegalArgumentException.class, () -> pool.allocate(4097));
      assertTrue(String.valueOf(tooLong.getMessage()).contains("4096"), tooLong.getMessage());
      assertTrue(String.valueOf(tooLong.getMessage()).contains("4097"), tooLong.getMessage());
      assertThrows(IllegalArgumentException.class, () -> pool.allocate(-1));
      assertThrows(IllegalArgumentException.class, () -> held.lengthBytes(4097));
      assertThrows(IllegalArgumentException.class, () -> held.lengthBytes(-1));
      assertThrows(IllegalStateException.class, () -> pool.allocate(1, held));
      assertThrows(
          IllegalArgumentException.class, () -> held.lkey(LimitedRegistrar.unlimited("other")));
    }
  }

  /** O-01 (a). */
  @Test
  void refusalNamesThisProcessesLimitAndLeavesNothing() throws Exception {
    SystemRoot root = TestRoots.withLimits("8MiB", directory);
    LimitedRegistrar device = new LimitedRegistrar("mlx5_0", 2048);
    PoolConfig config =
        PoolConfig.builder()
            .initialBytes(16 << 20)
            .maxBytes(32 << 20)
            .registrationThreads(1)
            .hugePages(HugePages.NONE)
            .build();
    PoolGrowthException e =
        assertThrows(
            PoolGrowthException.class,
            () -> RegisteredBufferPool.create(config, List.of(device), root, NanoClock.SYSTEM));
    assertEquals(8388608, e.limitBytes().orElseThrow());
    assertEquals(2 << 20, e.askedBytes());
    assertEquals(8 << 20, e.pinnedBytes());
    for (String part :
        List.of("mlx5_0", "8388608 bytes", "2097152 bytes", "/proc/self/limits", "CAP_IPC_LOCK")) {
      assertTrue(String.valueOf(e.getMessage()).contains(part), e.getMessage());
    }
    assertEquals(0, device.live());
    assertEquals(0, device.pinnedPages());
    assertEquals(4, device.registered());
    assertEquals(5, device.attempts());
  }

  @Test
  void refusalByTheSecondDeviceGivesBackTheFirst() {
    LimitedRegistrar one = LimitedRegistrar.unlimited("rxe0");
    LimitedRegistrar two = new LimitedRegistrar("rxe1", 4);
    PoolConfig config = oneClass(4096, 4).maxBytes(1 << 20).build();
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(one, two))) {
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        held.add(pool.allocate(1));
      }
      PoolGrowthException e = assertThrows(PoolGrowthException.class, () -> pool.allocate(1));
      assertEquals("rxe1", e.registrar());
      assertEquals(1, one.live());
      assertEquals(1, two.live());
      assertEquals(2, one.registered());
      assertEquals(16384, pool.statistics().registeredBytes());
      held.forEach(RegisteredBuffer::release);
      pool.allocate(1).release();
      assertDrained(pool);
    }
    assertEquals(0, one.live() + two.live());
  }

  @Test
  void exhaustionIsTypedAndEndsWithARelease() {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 4).maxBytes(16384))) {
      List<RegisteredBuffer> held = new ArrayList<>();
      Set<Long> addresses = new HashSet<>();
      for (int i = 0; i < 4; i++) {
        held.add(pool.allocate(1));
        addresses.add(held.getLast().address());
      }
      assertEquals(4, addresses.size());
      PoolExhaustedException e = assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
      assertEquals(4096, e.blockBytes());
      assertEquals(16384, e.maxBytes());
      assertEquals(16384, e.registeredBytes());
      assertEquals(4, e.usedBlocks());
      assertEquals(0, e.waiters());
      RegisteredBuffer lease = pool.newLease();
      assertFalse(pool.tryAllocate(1, lease));
      assertTrue(lease.isEmpty());
      assertEquals(2, pool.statistics().exhausted());
      held.removeFirst().release();
      assertTrue(pool.tryAllocate(1, lease));
      lease.release();
      held.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
  }

  /** O-10. */
  @Test
  void releaseThroughAnOldReferenceFailsLoudly() {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 4))) {
      RegisteredBuffer a = pool.allocate(1);
      long address = a.address();
      a.release();
      RegisteredBuffer b = pool.allocate(1);
      assertEquals(address, b.address());
      assertThrows(IllegalStateException.class, a::release);
      RegisteredBuffer c = pool.allocate(1);
      assertNotEquals(b.address(), c.address());
      assertThrows(IllegalStateException.class, a::segment);
      assertThrows(IllegalStateException.class, a::address);
      assertThrows(IllegalStateException.class, a::detach);
      a.close();
      assertEquals(1, pool.statistics().refusedReleases());
      b.release();
      c.release();
      assertDrained(pool);
    }
  }

  /** O-10, by handle: stale, foreign, and made up. */
  @Test
  void handlesThatAreNotOnLeaseAreRefused() {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 4));
        RegisteredBufferPool other = plain(oneClass(4096, 4))) {
      RegisteredBuffer lease = pool.allocate(10);
      RegisteredBuffer foreign = other.allocate(10);
      long handle = lease.detach();
      long foreignHandle = foreign.detach();
      assertTrue(handle != 0);
      assertTrue(lease.isEmpty());
      assertThrows(IllegalStateException.class, () -> pool.release(foreignHandle));
      assertThrows(IllegalStateException.class, () -> other.release(handle));
      for (long madeUp :
          new long[] {0, -1, Long.MIN_VALUE, Long.MAX_VALUE, handle + 7, handle ^ 1L << 32}) {
        assertThrows(IllegalStateException.class, () -> pool.release(madeUp), "" + madeUp);
        assertThrows(IllegalStateException.class, () -> pool.attach(madeUp, 0, lease));
      }
      pool.attach(handle, 20, lease);
      assertEquals(20, lease.lengthBytes());
      assertEquals(handle, lease.detach());
      pool.release(handle);
      assertThrows(IllegalStateException.class, () -> pool.release(handle));
      other.release(foreignHandle);
      assertEquals(14, pool.statistics().refusedReleases());
      assertDrained(pool);
      assertDrained(other);
    }
  }

  @Test
  void leaseIsStaleWhenItsBlockWasReleasedBehindIt() {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 4))) {
      RegisteredBuffer lease = pool.allocate(1);
      long handle = lease.detach();
      pool.attach(handle, 1, lease);
      pool.release(handle);
      assertThrows(IllegalStateException.class, lease::segment);
      assertThrows(IllegalStateException.class, lease::release);
      assertTrue(lease.isEmpty());
      assertDrained(pool);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 64})
  void everyBlockIsUsableWithAnyCacheSize(int maxCached) throws Exception {
    try (RegisteredBufferPool pool =
        plain(oneClass(4096, 8).maxCached(maxCached).maxBytes(16 * 4096))) {
      for (int round = 0; round < 50; round++) {
        List<RegisteredBuffer> held = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
          held.add(pool.allocate(1));
        }
        assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
        assertAddsUp(pool);
        int split = round % 17;
        held.subList(0, split).forEach(RegisteredBuffer::release);
        Thread other =
            Thread.ofPlatform()
                .start(() -> held.subList(split, 16).forEach(RegisteredBuffer::release));
        other.join();
        assertDrained(pool);
      }
      assertEquals(2, onlyClass(pool).slabs());
    }
  }

  /** An idle thread's cache must not keep the last free block from the others. */
  @Test
  void takesBlocksBackFromAnIdleThreadsCache() throws Exception {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 8).maxBytes(8 * 4096))) {
      CountDownLatch cached = new CountDownLatch(1);
      CountDownLatch end = new CountDownLatch(1);
      Thread idle =
          Thread.ofPlatform()
              .start(
                  () -> {
                    pool.allocate(1).release();
                    cached.countDown();
                    awaitQuietly(end);
                    pool.allocate(1).release();
                  });
      cached.await();
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        held.add(pool.allocate(1));
      }
      assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
      held.forEach(RegisteredBuffer::release);
      end.countDown();
      idle.join();
      assertTrue(onlyClass(pool).steals() >= 1, pool.statistics().toString());
      assertEquals(1, onlyClass(pool).slabs());
      assertDrained(pool);
    }
  }

  @Test
  void virtualThreadsShareStripes() throws Exception {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 64).maxBytes(64 * 4096))) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      for (int n = 0; n < 100; n++) {
                        try (RegisteredBuffer buffer = pool.allocate(8)) {
                          buffer.segment().set(ValueLayout.JAVA_LONG, 0, n);
                        } catch (PoolExhaustedException e) {
                          Thread.onSpinWait();
                        }
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(0, pool.statistics().threadCaches());
      assertDrained(pool);
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        held.add(pool.allocate(1));
      }
      held.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
  }

  /** O-14, the arithmetic: one block in 64 is left. */
  @Test
  void fragmentationIsOneMinusUsedOverRegistered() {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 64))) {
      assertEquals(0.0, pool.statistics().fragmentation());
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < 640; i++) {
        held.add(pool.allocate(1));
      }
      assertEquals(0.0, pool.statistics().fragmentation());
      for (int i = 0; i < 640; i++) {
        if (i % 64 != 0) {
          held.get(i).release();
        }
      }
      assertEquals(0.984375, pool.statistics().fragmentation());
      assertAddsUp(pool);
      for (int i = 0; i < 640; i += 64) {
        held.get(i).release();
      }
      assertEquals(1.0, pool.statistics().fragmentation());
      assertDrained(pool);
    }
  }

  @Test
  void closeReportsLeasesAndKeepsTheirMemory() {
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    RegisteredBufferPool pool =
        RegisteredBufferPool.create(oneClass(4096, 4).build(), List.of(device));
    List<RegisteredBuffer> held = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      held.add(pool.allocate(1));
    }
    RegisteredBuffer last = held.removeLast();
    MemorySegment kept = held.getFirst().segment();
    MemorySegment gone = last.segment();
    last.release();
    IllegalStateException e = assertThrows(IllegalStateException.class, pool::close);
    assertTrue(String.valueOf(e.getMessage()).contains("4 blocks"), e.getMessage());
    pool.close();
    assertEquals(0, device.live());
    assertThrows(IllegalStateException.class, () -> gone.set(ValueLayout.JAVA_INT, 0, 1));
    assertThrows(IllegalStateException.class, () -> pool.allocate(1));
    kept.set(ValueLayout.JAVA_INT, 0, 1);
    held.removeLast().release();
    kept.set(ValueLayout.JAVA_INT, 0, 1);
    held.forEach(RegisteredBuffer::release);
    assertThrows(IllegalStateException.class, () -> kept.set(ValueLayout.JAVA_INT, 0, 1));
    assertEquals(0, onlyClass(pool).usedBlocks());
    assertEquals(0, pool.statistics().registeredBytes());
    assertEquals(2, pool.statistics().deregistrations());
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      if (!latch.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the test did not go on within 60 s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
