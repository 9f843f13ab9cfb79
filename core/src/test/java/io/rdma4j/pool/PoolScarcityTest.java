package io.rdma4j.pool;

import static io.rdma4j.pool.PoolTestSupport.assertAddsUp;
import static io.rdma4j.pool.PoolTestSupport.assertDrained;
import static io.rdma4j.pool.PoolTestSupport.oneClass;
import static io.rdma4j.pool.PoolTestSupport.onlyClass;
import static io.rdma4j.pool.PoolTestSupport.plain;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What happens when there is too little memory for everybody. */
@Timeout(120)
class PoolScarcityTest {
  private static final int BLOCK = 4096;
  private static final int SLAB_BLOCKS = 16;
  private static final int BLOCKS = 64;

  private static PoolConfig.Builder capped() {
    return oneClass(BLOCK, SLAB_BLOCKS).maxBytes((long) BLOCKS * BLOCK);
  }

  private static List<RegisteredBuffer> allocateUntilRefused(RegisteredBufferPool pool) {
    List<RegisteredBuffer> held = new ArrayList<>();
    RegisteredBuffer lease = pool.newLease();
    while (pool.tryAllocate(1, lease)) {
      held.add(lease);
      lease = pool.newLease();
    }
    return held;
  }

  /** Senders eat the pool; each of four connections still re-posts its receive, again and again. */
  @Test
  void sendersDoNotStarveReceivers() {
    try (RegisteredBufferPool pool = plain(capped().receiveReserveBlocks(SLAB_BLOCKS))) {
      Deque<RegisteredBuffer> sends = new ArrayDeque<>(allocateUntilRefused(pool));
      assertEquals(BLOCKS - SLAB_BLOCKS, sends.size(), "the reserve is not for senders");
      PoolExhaustedException e = assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
      assertEquals(BLOCKS - SLAB_BLOCKS, e.usedBlocks());
      List<RegisteredBuffer> receives = new ArrayList<>();
      for (int connection = 0; connection < 4; connection++) {
        receives.add(pool.allocateReceive(BLOCK));
      }
      for (int round = 0; round < 1000; round++) {
        receives.removeFirst().release();
        receives.add(pool.allocateReceive(BLOCK));
        assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
      }
      // One acknowledgement has arrived: a sender goes on.
      sends.removeFirst().release();
      sends.add(pool.allocate(1));
      assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
      assertAddsUp(pool);
      sends.forEach(RegisteredBuffer::release);
      receives.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
  }

  @Test
  void receivesBeyondTheReserveTakeAnyBlock() {
    try (RegisteredBufferPool pool = plain(capped().receiveReserveBlocks(SLAB_BLOCKS))) {
      List<RegisteredBuffer> receives = new ArrayList<>();
      RegisteredBuffer lease = pool.newLease();
      while (pool.tryAllocateReceive(1, lease)) {
        receives.add(lease);
        lease = pool.newLease();
      }
      assertEquals(BLOCKS, receives.size());
      receives.forEach(RegisteredBuffer::release);
      assertDrained(pool);
      assertEquals(BLOCKS - SLAB_BLOCKS, dropAll(allocateUntilRefused(pool)));
    }
  }

  private static int dropAll(List<RegisteredBuffer> held) {
    held.forEach(RegisteredBuffer::release);
    return held.size();
  }

  @Test
  void theReserveIsNeverTrimmed() {
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    AtomicLongClock clock = new AtomicLongClock();
    try (RegisteredBufferPool pool =
        RegisteredBufferPool.create(
            capped().receiveReserveBlocks(1).build(),
            List.of(device),
            io.rdma4j.os.SystemRoot.host(),
            clock::now)) {
      pool.allocate(1).release();
      assertEquals(2, device.live());
      for (int i = 0; i < 60; i++) {
        clock.pass(TimeUnit.SECONDS.toNanos(1));
        pool.maintain();
      }
      assertEquals(1, device.live());
      assertDrained(pool);
    }
  }

  private static final class AtomicLongClock {
    private long nowNs;

    long now() {
      return nowNs;
    }

    void pass(long ns) {
      nowNs += ns;
    }
  }

  @Test
  void failingAtOnceNamesTheFiguresAndTheNextStep() {
    try (RegisteredBufferPool pool = plain(capped())) {
      List<RegisteredBuffer> held = allocateUntilRefused(pool);
      PoolExhaustedException e = assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
      String message = String.valueOf(e.getMessage());
      for (String part : List.of("4096", "64", "262144", PoolConfig.MAX_BYTES)) {
        assertTrue(message.contains(part), message);
      }
      assertEquals(2, pool.statistics().exhausted());
      dropAll(held);
    }
  }

  @Test
  void waitingEndsWithTheFirstRelease() throws Exception {
    PoolConfig.Builder config =
        capped().exhaustion(ExhaustionPolicy.WAIT).exhaustionTimeout(Duration.ofSeconds(60));
    try (RegisteredBufferPool pool = plain(config)) {
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < BLOCKS; i++) {
        held.add(pool.allocate(1));
      }
      CompletableFuture<RegisteredBuffer> waiting =
          CompletableFuture.supplyAsync(() -> pool.allocate(1), Thread.ofPlatform()::start);
      while (pool.waiters(0) == 0) {
        Thread.onSpinWait();
      }
      // Into this thread's own cache, where the waiting one has to find it.
      held.removeLast().release();
      held.add(waiting.get(60, TimeUnit.SECONDS));
      assertEquals(0, pool.waiters(0));
      dropAll(held);
      assertDrained(pool);
    }
  }

  @Test
  void waitingEndsWithTheDeadlineOrAnInterrupt() throws Exception {
    PoolConfig.Builder config =
        capped().exhaustion(ExhaustionPolicy.WAIT).exhaustionTimeout(Duration.ofMillis(30));
    try (RegisteredBufferPool pool = plain(config)) {
      List<RegisteredBuffer> held = allocateUntilRefused(pool);
      assertEquals(BLOCKS, held.size());
      assertThrows(PoolExhaustedException.class, () -> pool.allocate(1));
      AtomicBoolean stillInterrupted = new AtomicBoolean();
      Thread waiter =
          Thread.ofPlatform()
              .start(
                  () -> {
                    Thread.currentThread().interrupt();
                    assertFalse(pool.tryAllocate(1, pool.newLease()));
                    stillInterrupted.set(Thread.interrupted());
                  });
      waiter.join();
      assertTrue(stillInterrupted.get());
      dropAll(held);
      assertDrained(pool);
    }
  }

  /** While a slab's registration takes long, a request gets a block registered for it alone. */
  @Test
  void fallingBackDoesNotWaitForTheSlab() throws Exception {
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    PoolConfig config = oneClass(BLOCK, SLAB_BLOCKS).exhaustion(ExhaustionPolicy.FALL_BACK).build();
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(device))) {
      Thread caller = Thread.currentThread();
      CountDownLatch goOn = new CountDownLatch(1);
      device.beforeEach(
          () -> {
            if (Thread.currentThread() != caller) {
              awaitQuietly(goOn);
            }
          });
      RegisteredBuffer first = pool.allocate(1);
      RegisteredBuffer second = pool.allocate(1);
      assertEquals(2, pool.statistics().fallbacks());
      assertNotEquals(first.address(), second.address());
      assertEquals(2L * BLOCK, pool.statistics().registeredBytes());
      goOn.countDown();
      while (onlyClass(pool).growths() == 0) {
        Thread.onSpinWait();
      }
      assertEquals(0, pool.statistics().adoptions());
      first.release();
      second.release();
      pool.maintain();
      assertEquals(2, pool.statistics().adoptions(), "the blocks serve everybody now");
      assertDrained(pool);
      Set<Long> addresses = new HashSet<>();
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < SLAB_BLOCKS + 2; i++) {
        held.add(pool.allocate(1));
        addresses.add(held.getLast().address());
      }
      assertEquals(SLAB_BLOCKS + 2, addresses.size());
      assertEquals(2, pool.statistics().fallbacks(), "no more were needed");
      dropAll(held);
      assertDrained(pool);
    }
    assertEquals(0, device.live());
  }

  @Test
  void aRefusedFallbackSaysWhy() {
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    PoolConfig config = oneClass(BLOCK, SLAB_BLOCKS).exhaustion(ExhaustionPolicy.FALL_BACK).build();
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(device))) {
      device.failing(true);
      PoolGrowthException e = assertThrows(PoolGrowthException.class, () -> pool.allocate(1));
      assertEquals(BLOCK, e.askedBytes());
      device.failing(false);
      pool.allocate(1).release();
      assertDrained(pool);
    }
    assertEquals(0, device.live());
  }

  /** Whoever waits for a slab takes a block that comes free meanwhile. */
  @Test
  void aReleaseServesThoseWhoWaitForASlab() throws Exception {
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    try (RegisteredBufferPool pool =
        RegisteredBufferPool.create(oneClass(BLOCK, 1).build(), List.of(device))) {
      RegisteredBuffer only = pool.allocate(1);
      CountDownLatch goOn = new CountDownLatch(1);
      device.beforeEach(() -> awaitQuietly(goOn));
      CompletableFuture<RegisteredBuffer> waiting =
          CompletableFuture.supplyAsync(() -> pool.allocate(1), Thread.ofPlatform()::start);
      while (pool.waiters(0) == 0) {
        Thread.onSpinWait();
      }
      only.release();
      waiting.get(60, TimeUnit.SECONDS).release();
      assertEquals(1, device.registered(), "the slab was not needed");
      goOn.countDown();
    }
    assertEquals(0, device.live());
  }

  /** The low watermark has a slab registered before anybody waits for it. */
  @Test
  void growsInTheBackgroundBeforeItIsEmpty() {
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    PoolConfig config = oneClass(BLOCK, BLOCKS).lowWatermark(0.25).maxCached(0).build();
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(device))) {
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        held.add(pool.allocate(1));
      }
      assertEquals(1, device.registered());
      for (int i = 0; i < 10; i++) {
        held.add(pool.allocate(1));
      }
      while (onlyClass(pool).growths() < 2) {
        Thread.onSpinWait();
      }
      assertEquals(2, device.registered());
      dropAll(held);
      assertDrained(pool);
    }
  }

  /** A request timed out; its buffer is none of the next 50. */
  @Test
  void quarantinedBuffersAreNobodys() {
    try (RegisteredBufferPool pool = plain(capped())) {
      RegisteredBuffer lent = pool.allocate(1);
      long address = lent.address();
      try (Quarantine quarantine = pool.openQuarantine("connection to db-2:7400")) {
        quarantine.add(lent);
        assertTrue(lent.isEmpty());
        assertThrows(IllegalStateException.class, lent::release, "its owner gave it up");
        assertEquals(1, pool.statistics().quarantinedBlocks());
        assertEquals(1, onlyClass(pool).usedBlocks());
        List<RegisteredBuffer> held = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
          held.add(pool.allocate(1));
          assertNotEquals(address, held.getLast().address());
        }
        dropAll(held);
        long handle = pool.allocate(1).detach();
        quarantine.add(handle);
        assertThrows(IllegalStateException.class, () -> quarantine.add(handle + (2L << 32)));
        assertEquals(2, quarantine.size());
        quarantine.release();
        assertEquals(0, quarantine.size());
        assertEquals(0, pool.statistics().quarantinedBlocks());
      }
      assertDrained(pool);
    }
  }

  @Test
  void aClosedQuarantineTakesNothing() {
    try (RegisteredBufferPool pool = plain(capped());
        RegisteredBuffer late = pool.allocate(1)) {
      Quarantine closed = pool.openQuarantine("connection to db-2:7400");
      try (closed) {
        assertEquals(0, closed.size());
      }
      IllegalStateException e = assertThrows(IllegalStateException.class, () -> closed.add(late));
      assertTrue(String.valueOf(e.getMessage()).contains("db-2:7400"), e.getMessage());
      assertFalse(late.isEmpty(), "it is the caller's still");
    }
  }

  @Test
  void closeWaitsForWhatIsOut() {
    RegisteredBufferPool pool = plain(capped().closeTimeout(Duration.ofSeconds(60)));
    RegisteredBuffer out = pool.allocate(1);
    Thread late =
        Thread.ofPlatform()
            .start(
                () -> {
                  while (!isClosed(pool)) {
                    Thread.onSpinWait();
                  }
                  out.release();
                });
    pool.close();
    assertFalse(late.isInterrupted());
    assertEquals(0, pool.mappedSlabs());
  }

  private static boolean isClosed(RegisteredBufferPool pool) {
    RegisteredBuffer lease = pool.newLease();
    try {
      boolean got = pool.tryAllocate(1, lease);
      lease.close();
      return !got;
    } catch (IllegalStateException e) {
      return true;
    }
  }

  @Test
  void creationTellsItsProgressAndLeavesNothingBehindWhenItFails() {
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    PoolConfig config =
        capped().initialBytes(2L * SLAB_BLOCKS * BLOCK).receiveReserveBlocks(17).build();
    List<Long> steps = new ArrayList<>();
    try (RegisteredBufferPool pool =
        RegisteredBufferPool.create(
            config,
            List.of(device),
            (bytes, total) -> {
              assertEquals(4L * SLAB_BLOCKS * BLOCK, total);
              steps.add(bytes);
            })) {
      long slab = (long) SLAB_BLOCKS * BLOCK;
      assertEquals(List.of(slab, 2 * slab, 3 * slab, 4 * slab), steps);
      assertEquals(4, device.live());
      assertDrained(pool);
    }
    LimitedRegistrar small = new LimitedRegistrar("rxe1", 3L * SLAB_BLOCKS);
    assertThrows(
        Rdma4jException.class, () -> RegisteredBufferPool.create(config, List.of(device, small)));
    assertEquals(0, device.live() + small.live());
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      if (!latch.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the test did not go on within 60 s");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
