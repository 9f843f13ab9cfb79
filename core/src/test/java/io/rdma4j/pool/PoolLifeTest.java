package io.rdma4j.pool;

import static io.rdma4j.pool.PoolTestSupport.assertAddsUp;
import static io.rdma4j.pool.PoolTestSupport.assertDrained;
import static io.rdma4j.pool.PoolTestSupport.oneClass;
import static io.rdma4j.pool.PoolTestSupport.onlyClass;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import io.rdma4j.os.SystemRoot;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** When registered memory comes and goes, on a clock that the test moves. */
@Timeout(120)
class PoolLifeTest {
  private static final int SLAB_BLOCKS = 64;
  private static final int BLOCK_BYTES = 4096;
  private static final long SLAB_BYTES = (long) SLAB_BLOCKS * BLOCK_BYTES;

  private final LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
  private long nowNs;

  private RegisteredBufferPool pool(PoolConfig.Builder config) {
    return RegisteredBufferPool.create(
        config.build(), List.of(device), SystemRoot.host(), () -> nowNs);
  }

  private static PoolConfig.Builder config() {
    return oneClass(BLOCK_BYTES, SLAB_BLOCKS).cleanupInterval(Duration.ofSeconds(5));
  }

  /** Lets time pass as the background thread sees it. */
  private void pass(RegisteredBufferPool pool, int seconds) {
    for (int i = 0; i < seconds; i++) {
      nowNs += TimeUnit.SECONDS.toNanos(1);
      pool.maintain();
    }
  }

  private static List<RegisteredBuffer> allocate(RegisteredBufferPool pool, int blocks) {
    List<RegisteredBuffer> held = new ArrayList<>();
    for (int i = 0; i < blocks; i++) {
      held.add(pool.allocate(1));
    }
    return held;
  }

  @Test
  void idleSlabsGoPendingThenAway() {
    try (RegisteredBufferPool pool = pool(config())) {
      allocate(pool, 200).forEach(RegisteredBuffer::release);
      assertEquals(4, device.live());
      pass(pool, 4);
      assertEquals(0, onlyClass(pool).pendingBlocks());
      pass(pool, 3);
      assertEquals(4 * SLAB_BLOCKS, onlyClass(pool).pendingBlocks(), "pending once idle for 5 s");
      assertEquals(4, device.live(), "and still registered");
      assertAddsUp(pool);
      pass(pool, 6);
      assertEquals(0, device.live());
      assertEquals(0, pool.statistics().registeredBytes());
      assertEquals(0, pool.mappedSlabs());
      assertEquals(4, pool.statistics().deregistrations());
      assertEquals(0.0, pool.statistics().fragmentation(), "0 for an empty pool, not NaN");
      assertDrained(pool);
      allocate(pool, 100).forEach(RegisteredBuffer::release);
      assertEquals(2, device.live(), "and starts again");
      assertDrained(pool);
    }
    assertEquals(0, device.live());
  }

  @Test
  void aPendingSlabIsBackAtOnce() {
    try (RegisteredBufferPool pool = pool(config())) {
      allocate(pool, 100).forEach(RegisteredBuffer::release);
      pass(pool, 7);
      assertEquals(2 * SLAB_BLOCKS, onlyClass(pool).pendingBlocks());
      List<RegisteredBuffer> held = allocate(pool, 100);
      assertEquals(0, onlyClass(pool).pendingBlocks());
      assertEquals(2, device.registered(), "without another registration");
      assertEquals(100, held.stream().map(RegisteredBuffer::address).distinct().count());
      assertAddsUp(pool);
      pass(pool, 60);
      assertEquals(2, device.live(), "a slab in use stays");
      held.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
  }

  /** A burst each 6 s, just above the interval, must not register again and again. */
  @Test
  void burstsDoNotUndoTheTrimming() {
    try (RegisteredBufferPool pool = pool(config().minBytes(SLAB_BYTES))) {
      int firstBurst = 0;
      for (int burst = 0; burst < 10; burst++) {
        List<RegisteredBuffer> held = allocate(pool, 100);
        pass(pool, 1);
        held.forEach(RegisteredBuffer::release);
        pass(pool, 5);
        firstBurst = burst == 0 ? device.registered() : firstBurst;
      }
      assertEquals(2, firstBurst);
      assertTrue(device.registered() <= 2 * firstBurst, device.registered() + " registrations");
      pass(pool, 120);
      assertEquals(1, device.live(), "the minimum stays");
      assertEquals(SLAB_BYTES, pool.statistics().registeredBytes());
      assertDrained(pool);
    }
  }

  /** A class that needs its slabs again soon after they went keeps them longer the next time. */
  @Test
  void aRemovalThatWasTooEarlyMakesTheNextOneLater() {
    try (RegisteredBufferPool pool = pool(config())) {
      int removals = 0;
      for (int round = 0; round < 20; round++) {
        allocate(pool, 10).forEach(RegisteredBuffer::release);
        pass(pool, 14);
        removals += device.live() == 0 ? 1 : 0;
      }
      assertTrue(removals >= 1, "it was removed the first time");
      assertTrue(device.registered() <= 4, device.registered() + " registrations in 20 rounds");
    }
  }

  /** One block in 640 stays on lease: every slab without one goes. */
  @Test
  void aFewLongLivedBlocksKeepOnlyTheirSlabs() {
    try (RegisteredBufferPool pool = pool(config())) {
      List<RegisteredBuffer> held = allocate(pool, 100 * SLAB_BLOCKS);
      List<RegisteredBuffer> kept = new ArrayList<>();
      for (int i = 0; i < held.size(); i++) {
        if (i % 640 == 0) {
          kept.add(held.get(i));
        } else {
          held.get(i).release();
        }
      }
      assertEquals(100, device.live());
      pass(pool, 20);
      assertEquals(10, device.live(), "90 of 100 slabs are gone");
      assertEquals(0.984375, pool.statistics().fragmentation());
      assertAddsUp(pool);
      // What is allocated now goes where blocks live already.
      List<RegisteredBuffer> more = allocate(pool, 10 * (SLAB_BLOCKS - 1));
      assertEquals(10, device.live());
      assertEquals(0.0, pool.statistics().fragmentation());
      more.forEach(RegisteredBuffer::release);
      kept.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
  }

  /** Steady use that would fit into two slabs of ten ends in a few. */
  @Test
  void newAllocationsPreferFullerSlabs() {
    try (RegisteredBufferPool pool = pool(config().maxCached(4))) {
      List<RegisteredBuffer> held = allocate(pool, 10 * SLAB_BLOCKS);
      Collections.shuffle(held, new Random(7));
      while (held.size() > 100) {
        held.removeLast().release();
      }
      for (int second = 0; second < 60; second++) {
        // Leases end, others begin.
        for (int i = 0; i < 30; i++) {
          held.removeFirst().release();
        }
        held.addAll(allocate(pool, 30));
        pass(pool, 1);
      }
      assertTrue(device.live() <= 4, device.live() + " of 10 slabs are left for 100 blocks");
      assertAddsUp(pool);
      held.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
  }

  @Test
  void theMinimumIsNotTrimmed() {
    try (RegisteredBufferPool pool =
        pool(config().initialBytes(2 * SLAB_BYTES).minBytes(3 * SLAB_BYTES))) {
      assertEquals(2, device.live());
      allocate(pool, 5 * SLAB_BLOCKS).forEach(RegisteredBuffer::release);
      assertEquals(5, device.live());
      pass(pool, 60);
      assertEquals(3, device.live());
      assertEquals(0, onlyClass(pool).pendingBlocks(), "the minimum is at work, not pending");
      assertDrained(pool);
    }
  }

  @Test
  void aDeviceThatRefusesToForgetKeepsTheMemory() {
    RegisteredBufferPool pool = pool(config());
    allocate(pool, 10).forEach(RegisteredBuffer::release);
    pass(pool, 11);
    device.refuseToForget(true);
    nowNs += TimeUnit.SECONDS.toNanos(5);
    Rdma4jException e = assertThrows(Rdma4jException.class, pool::maintain);
    assertTrue(String.valueOf(e.getMessage()).contains("EBUSY"), e.getMessage());
    assertEquals(1, pool.mappedSlabs(), "memory that a device may reach stays");
    assertEquals(SLAB_BYTES, pool.statistics().leavingBytes());
    assertTrue(pool.statistics().deregistrationFailures() >= 1);
    device.refuseToForget(false);
    pool.maintain();
    assertEquals(0, pool.mappedSlabs());
    assertEquals(0, pool.statistics().leavingBytes());
    pool.close();
    assertEquals(0, device.live());
  }

  @Test
  void memoryWithRequestsInFlightStaysUntilTheyAreDone() {
    RegisteredBufferPool pool = pool(config().maxBytes(SLAB_BYTES));
    allocate(pool, 10).forEach(RegisteredBuffer::release);
    device.busy(true);
    pass(pool, 20);
    assertEquals(1, device.live());
    assertEquals(1, pool.mappedSlabs());
    assertEquals(SLAB_BYTES, pool.statistics().leavingBytes());
    assertThrows(PoolExhaustedException.class, () -> pool.allocate(1), "it is still in the budget");
    device.busy(false);
    pool.maintain();
    assertEquals(0, device.live());
    assertEquals(0, pool.mappedSlabs());
    pool.allocate(1).release();
    pool.close();
    assertEquals(0, device.live());
  }

  @Test
  void closeKeepsMemoryThatADeviceMayReach() {
    RegisteredBufferPool pool = pool(config());
    RegisteredBuffer first = pool.allocate(8);
    var segment = first.segment();
    first.release();
    device.busy(true);
    IllegalStateException e = assertThrows(IllegalStateException.class, pool::close);
    assertTrue(String.valueOf(e.getMessage()).contains("posted requests"), e.getMessage());
    segment.set(ValueLayout.JAVA_INT, 0, 1);
    device.busy(false);
    pool.close();
    assertEquals(0, device.live(), "another close tries again");
    assertThrows(IllegalStateException.class, () -> segment.set(ValueLayout.JAVA_INT, 0, 1));
  }

  /** A stale handle is refused also when its block's number has gone to another slab. */
  @Test
  void numbersOfSlabsThatAreGoneDoNotMakeOldHandlesValid() {
    try (RegisteredBufferPool pool = pool(config())) {
      long old = pool.allocate(1).detach();
      pool.release(old);
      assertThrows(IllegalStateException.class, () -> pool.release(old));
      pass(pool, 20);
      assertEquals(0, device.live());
      assertThrows(IllegalStateException.class, () -> pool.release(old), "no such slab now");
      List<RegisteredBuffer> held = allocate(pool, SLAB_BLOCKS);
      assertThrows(IllegalStateException.class, () -> pool.release(old), "another slab's block");
      assertThrows(IllegalStateException.class, () -> pool.segment(old));
      assertEquals(3, pool.statistics().refusedReleases() - 1);
      held.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
  }

  /** Other classes' slabs that wait for deregistration make room when the budget is spent. */
  @Test
  void pendingSlabsOfOtherClassesMakeRoom() {
    PoolConfig.Builder config =
        PoolConfig.builder()
            .blockSizes(4096, 8192)
            .slabBytes(64 << 10)
            .maxBytes(128 << 10)
            .hugePages(HugePages.NONE)
            .lowWatermark(0)
            .backgroundThread(false)
            .cleanupInterval(Duration.ofSeconds(5));
    try (RegisteredBufferPool pool = pool(config)) {
      allocate(pool, 32).forEach(RegisteredBuffer::release);
      assertThrows(PoolExhaustedException.class, () -> pool.allocate(8192));
      pass(pool, 7);
      pool.allocate(8192).release();
      assertEquals(2, device.live());
      assertDrained(pool);
    }
  }
}
