package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.provider.MemoryRegistrar;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Large objects among each other: budget, reuse, growth ahead of demand, and their end. */
@Timeout(60)
class LargeLifeTest {
  private static final long MIB = 1 << 20;
  private static final Duration INTERVAL = Duration.ofSeconds(10);

  private final LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
  private final AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - 5);

  private static PoolConfig.Builder config() {
    return PoolTestSupport.oneClass(4096, 256)
        .largeSegmentBytes(MIB)
        .maxBytes(16 * MIB)
        .cleanupInterval(INTERVAL);
  }

  private RegisteredBufferPool pool(PoolConfig.Builder config) {
    return pool(config, device);
  }

  private RegisteredBufferPool pool(PoolConfig.Builder config, MemoryRegistrar registrar) {
    return RegisteredBufferPool.create(
        config.build(), List.of(registrar), SystemRoot.host(), nowNs::get);
  }

  private void pass(Duration time) {
    nowNs.addAndGet(time.toNanos());
  }

  /** Takes one that is registered as a whole. */
  private static LargeBuffer take(RegisteredBufferPool pool, long lengthBytes) {
    LargeBuffer buffer = pool.allocateLarge(lengthBytes);
    assertTrue(buffer.awaitReady(0, lengthBytes, Duration.ofSeconds(30)));
    return buffer;
  }

  private static void assertAddsUp(RegisteredBufferPool pool) {
    LargeStatistics now = pool.largeStatistics();
    assertEquals(
        now.registeredBytes(),
        now.usedBytes() + now.idleBytes() + now.pendingBytes(),
        () -> "" + now);
    assertEquals(
        now.requests(),
        now.hits() + now.misses() + now.exhausted() + now.failures(),
        () -> "" + now);
  }

  @Test
  void whatWasReleasedIsHandedOutAgainRegistered() {
    try (RegisteredBufferPool pool = pool(config())) {
      LargeBuffer first = take(pool, 2 * MIB);
      long address = first.address();
      first.release();
      assertEquals(2 * MIB, pool.largeStatistics().idleBytes());
      int registered = device.registered();
      // More than half of it is used.
      LargeBuffer again = pool.allocateLarge(MIB + 1);
      assertEquals(address, again.address());
      assertEquals(MIB + 1, again.segment().byteSize());
      assertEquals(2, again.segmentCount());
      assertEquals(registered, device.registered());
      again.release();
      // Half is not enough.
      try (LargeBuffer small = take(pool, MIB)) {
        assertFalse(small.address() == address);
      }
      assertEquals(1, pool.largeStatistics().hits());
      assertEquals(2, pool.largeStatistics().misses());
      assertAddsUp(pool);
    }
    assertEquals(0, device.live());
  }

  @Test
  void theSmallestThatFitsIsTaken() {
    try (RegisteredBufferPool pool = pool(config())) {
      LargeBuffer four = take(pool, 4 * MIB);
      LargeBuffer three = take(pool, 3 * MIB);
      LargeBuffer five = take(pool, 5 * MIB);
      long address = three.address();
      three.release();
      four.release();
      five.release();
      try (LargeBuffer buffer = pool.allocateLarge(3 * MIB - 1)) {
        assertEquals(address, buffer.address());
      }
    }
  }

  @Test
  void releasedEarlyItIsRegisteredToItsEndAndJoined() {
    Semaphore permits = new Semaphore(1);
    device.beforeEach(permits::acquireUninterruptibly);
    try (RegisteredBufferPool pool = pool(config().registrationThreads(1))) {
      LargeBuffer first = pool.allocateLarge(3 * MIB);
      long address = first.address();
      first.release();
      try (LargeBuffer again = pool.allocateLarge(3 * MIB)) {
        assertEquals(address, again.address());
        assertFalse(again.isReady(0, 3 * MIB));
        permits.release(2);
        assertTrue(again.awaitReady(0, 3 * MIB, Duration.ofSeconds(30)));
        assertEquals(3, device.registered());
        assertEquals(0, pool.largeStatistics().hits());
      }
    }
  }

  @Test
  void spentBudgetIsToldWithFigures() {
    try (RegisteredBufferPool pool = pool(config());
        LargeBuffer held = take(pool, 10 * MIB)) {
      PoolExhaustedException e =
          assertThrows(PoolExhaustedException.class, () -> pool.allocateLarge(7 * MIB));
      assertEquals(7 * MIB, e.askedBytes());
      assertEquals(16 * MIB, e.maxBytes());
      assertEquals(10 * MIB, e.registeredBytes());
      assertEquals(1, e.usedBlocks());
      for (String part : List.of("7340032", "16777216", "10485760", "1 large objects in use")) {
        assertTrue(String.valueOf(e.getMessage()).contains(part), e.getMessage());
      }
      assertEquals(10 * MIB, held.capacityBytes());
      take(pool, 6 * MIB).close();
      assertEquals(1, pool.largeStatistics().exhausted());
      assertAddsUp(pool);
    }
  }

  @Test
  void idleObjectsMakeRoomTheOldestFirst() {
    try (RegisteredBufferPool pool = pool(config())) {
      LargeBuffer old = take(pool, 8 * MIB);
      LargeBuffer recent = take(pool, 4 * MIB);
      long address = recent.address();
      old.release();
      recent.release();
      take(pool, 10 * MIB).close();
      assertEquals(1, pool.largeStatistics().trims());
      try (LargeBuffer buffer = take(pool, 4 * MIB)) {
        assertEquals(address, buffer.address());
      }
      assertTrue(device.pinnedPages() <= 16 * MIB / 4096);
    }
  }

  @Test
  void nothingIsEvictedInVain() {
    try (RegisteredBufferPool pool = pool(config());
        LargeBuffer held = take(pool, 8 * MIB)) {
      take(pool, 4 * MIB).close();
      assertThrows(PoolExhaustedException.class, () -> pool.allocateLarge(9 * MIB));
      assertEquals(4 * MIB, pool.largeStatistics().idleBytes());
      assertTrue(held.isReady(0, 1));
    }
  }

  @Test
  void pendingSlabsMakeRoom() {
    try (RegisteredBufferPool pool = pool(config().initialBytes(4 * MIB).minBytes(0))) {
      assertThrows(PoolExhaustedException.class, () -> pool.allocateLarge(16 * MIB));
      pool.maintain();
      pass(INTERVAL);
      pool.maintain();
      // Pending by now, and free for all who need the room.
      take(pool, 16 * MIB).close();
      assertEquals(0, pool.statistics().registeredBytes());
    }
  }

  @Test
  void idleObjectsMakeRoomForBlocks() {
    try (RegisteredBufferPool pool = pool(config())) {
      take(pool, 16 * MIB).close();
      pool.allocate(1).release();
      assertEquals(0, pool.largeStatistics().registeredBytes());
      assertEquals(MIB, pool.statistics().registeredBytes());
    }
  }

  @Test
  void waitsForARelease() throws Exception {
    PoolConfig.Builder config =
        config().exhaustion(ExhaustionPolicy.WAIT).exhaustionTimeout(Duration.ofSeconds(30));
    try (RegisteredBufferPool pool = pool(config);
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      LargeBuffer held = take(pool, 12 * MIB);
      Future<LargeBuffer> waiting = other.submit(() -> pool.allocateLarge(13 * MIB));
      Thread.sleep(10);
      assertFalse(waiting.isDone());
      held.release();
      waiting.get(30, TimeUnit.SECONDS).release();
      assertAddsUp(pool);
    }
  }

  @Test
  void waitsUntilTheDeadline() {
    PoolConfig.Builder config =
        config().exhaustion(ExhaustionPolicy.WAIT).exhaustionTimeout(Duration.ofMillis(5));
    try (RegisteredBufferPool pool = pool(config);
        LargeBuffer held = take(pool, 12 * MIB)) {
      assertThrows(PoolExhaustedException.class, () -> pool.allocateLarge(12 * MIB));
      Thread.currentThread().interrupt();
      assertThrows(PoolExhaustedException.class, () -> pool.allocateLarge(12 * MIB));
      assertTrue(Thread.interrupted());
      assertTrue(held.isReady(0, 1));
    }
  }

  @Test
  void idleObjectsBecomePendingAndAreGivenBack() {
    try (RegisteredBufferPool pool = pool(config())) {
      take(pool, 4 * MIB).release();
      pass(INTERVAL.minusNanos(1));
      pool.maintain();
      assertEquals(4 * MIB, pool.largeStatistics().idleBytes());
      pass(Duration.ofNanos(1));
      pool.maintain();
      assertEquals(4 * MIB, pool.largeStatistics().pendingBytes());
      // Wanted again at any time before it is gone.
      take(pool, 4 * MIB).release();
      assertEquals(4 * MIB, pool.largeStatistics().idleBytes());
      assertEquals(1, pool.largeStatistics().hits());
      for (int i = 0; i < 2; i++) {
        pass(INTERVAL);
        pool.maintain();
      }
      assertEquals(0, pool.largeStatistics().registeredBytes());
      assertEquals(0, pool.mappedLarge());
      assertEquals(0, device.live());
      assertEquals(1, pool.largeStatistics().trims());
      assertEquals(pool.statistics().registrations(), pool.statistics().deregistrations());
      assertAddsUp(pool);
    }
  }

  @Test
  void theMinimumStays() {
    try (RegisteredBufferPool pool = pool(config().minBytes(5 * MIB))) {
      LargeBuffer four = take(pool, 4 * MIB);
      LargeBuffer three = take(pool, 3 * MIB);
      four.release();
      three.release();
      for (int i = 0; i < 4; i++) {
        pass(INTERVAL);
        pool.maintain();
      }
      // Without the older one less than the minimum would be left, without the other not.
      assertEquals(7 * MIB, pool.largeStatistics().registeredBytes());
      take(pool, MIB).release();
      for (int i = 0; i < 4; i++) {
        pass(INTERVAL);
        pool.maintain();
      }
      assertEquals(5 * MIB, pool.largeStatistics().registeredBytes());
    }
  }

  @Test
  void memoryInFlightIsKeptUntilTheDeviceForgetsIt() {
    BusyDevice busy = new BusyDevice();
    RegisteredBufferPool pool = pool(config(), busy);
    LargeBuffer buffer = take(pool, 2 * MIB);
    buffer.release();
    for (int i = 0; i < 2; i++) {
      pass(INTERVAL);
      pool.maintain();
    }
    assertEquals(2 * MIB, pool.largeStatistics().leavingBytes());
    assertEquals(0, pool.largeStatistics().registeredBytes());
    assertEquals(1, pool.mappedLarge());
    // It counts towards the budget as long as it is pinned.
    assertThrows(PoolExhaustedException.class, () -> pool.allocateLarge(15 * MIB));
    IllegalStateException e = assertThrows(IllegalStateException.class, pool::close);
    assertTrue(String.valueOf(e.getMessage()).contains("2097152 bytes stay"), e.getMessage());
    assertEquals(1, pool.mappedLarge());
  }

  @Test
  void maintenanceTriesAgainWhatIsInFlight() {
    BusyDevice busy = new BusyDevice();
    try (RegisteredBufferPool pool = pool(config(), busy)) {
      take(pool, 2 * MIB).release();
      for (int i = 0; i < 2; i++) {
        pass(INTERVAL);
        pool.maintain();
      }
      busy.inFlight = false;
      pool.maintain();
      assertEquals(0, pool.mappedLarge());
      assertEquals(0, pool.largeStatistics().leavingBytes());
      take(pool, 16 * MIB).close();
    }
  }

  /** A device with requests in flight, which put off the end of registrations. */
  private static final class BusyDevice implements MemoryRegistrar {
    volatile boolean inFlight = true;

    @Override
    public String name() {
      return "busy0";
    }

    @Override
    public Registration register(long address, long lengthBytes) {
      return new Registration() {
        private volatile boolean closed;

        @Override
        public int lkey() {
          return 1;
        }

        @Override
        public int rkey() {
          return 2;
        }

        @Override
        public void close() {
          closed = true;
        }

        @Override
        public boolean isDeregistered() {
          return closed && !inFlight;
        }
      };
    }
  }

  @Test
  void closeWaitsForBuffersStillOut() throws Exception {
    RegisteredBufferPool pool = pool(config().closeTimeout(Duration.ofSeconds(30)));
    LargeBuffer held = take(pool, MIB);
    try (ExecutorService other = Executors.newSingleThreadExecutor()) {
      Future<?> closing = other.submit(pool::close);
      Thread.sleep(5);
      held.release();
      closing.get(30, TimeUnit.SECONDS);
    }
    assertEquals(0, device.live());
    assertEquals(0, pool.mappedLarge());
  }

  @Test
  void risingDemandOfAThreadIsMetAhead() {
    try (RegisteredBufferPool pool = pool(config().hitRateWindow(Duration.ofSeconds(1)))) {
      List<LargeBuffer> held = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        held.add(take(pool, MIB));
        assertEquals(0, pool.largeStatistics().expansions());
      }
      for (int i = 3; i < 8; i++) {
        held.add(take(pool, MIB));
        assertEquals(i - 2, pool.largeStatistics().expansions());
        awaitIdle(pool, MIB);
      }
      assertEquals(4, pool.largeStatistics().misses());
      assertEquals(4, pool.largeStatistics().hits());
      held.forEach(LargeBuffer::release);
      assertEquals(9, pool.largeStatistics().objects());
    }
  }

  private static void awaitIdle(RegisteredBufferPool pool, long bytes) {
    long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (pool.largeStatistics().idleBytes() < bytes || pool.largeStatistics().registering() > 0) {
      assertTrue(System.nanoTime() < endNs, () -> pool.largeStatistics().toString());
      Thread.onSpinWait();
    }
  }

  @Test
  void oneAtATimeNeedsNoSecondObject() {
    try (RegisteredBufferPool pool = pool(config())) {
      for (int i = 0; i < 100; i++) {
        take(pool, MIB).release();
      }
      assertEquals(0, pool.largeStatistics().expansions());
      assertEquals(1, pool.largeStatistics().objects());
      assertEquals(99, pool.largeStatistics().hits());
    }
  }

  @Test
  void seldomRequestsAreNotMetAhead() {
    try (RegisteredBufferPool pool = pool(config().hitRateWindow(Duration.ofSeconds(1)))) {
      List<LargeBuffer> held = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        held.add(take(pool, MIB));
        pass(Duration.ofSeconds(2));
      }
      assertEquals(0, pool.largeStatistics().expansions());
      held.forEach(LargeBuffer::release);
    }
  }

  @Test
  void expansionStaysWithinTheBudgetAndEvictsNothing() {
    try (RegisteredBufferPool pool = pool(config().maxBytes(4 * MIB))) {
      List<LargeBuffer> held = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        held.add(take(pool, MIB));
      }
      assertEquals(0, pool.largeStatistics().expansions());
      held.forEach(LargeBuffer::release);
    }
  }

  @Test
  void aRefusedExpansionIsReportedByTheMaintenance() {
    AtomicInteger registrations = new AtomicInteger();
    device.beforeEach(() -> device.failing(registrations.incrementAndGet() == 5));
    try (RegisteredBufferPool pool = pool(config().registrationThreads(1))) {
      List<LargeBuffer> held = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        held.add(take(pool, MIB));
      }
      long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
      while (pool.largeStatistics().failedExpansions() == 0) {
        assertTrue(System.nanoTime() < endNs);
        Thread.onSpinWait();
      }
      PoolGrowthException e = assertThrows(PoolGrowthException.class, pool::maintain);
      assertEquals("rxe0", e.registrar());
      pool.maintain();
      held.add(take(pool, MIB));
      held.forEach(LargeBuffer::release);
    }
  }

  @Test
  void manyThreadsExpandOnce() throws Exception {
    int threads = 6;
    Semaphore permits = new Semaphore(1000);
    device.beforeEach(permits::acquireUninterruptibly);
    try (RegisteredBufferPool pool = pool(config().maxBytes(64 * MIB).registrationThreads(2));
        ExecutorService others = Executors.newFixedThreadPool(threads)) {
      List<LargeBuffer> held = new ArrayList<>();
      List<Future<LargeBuffer>> last = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        held.add(take(pool, MIB));
      }
      permits.drainPermits();
      // The fourth of this thread has one registered ahead, which does not come; nor do the others.
      Future<LargeBuffer> fourth;
      try (ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
        for (int i = 0; i < threads; i++) {
          last.add(virtual.submit(() -> pool.allocateLarge(MIB)));
        }
        fourth = others.submit(() -> pool.allocateLarge(MIB));
        long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (pool.largeStatistics().usedObjects() < 3 + threads + 1) {
          assertTrue(System.nanoTime() < endNs, () -> pool.largeStatistics().toString());
          Thread.onSpinWait();
        }
        assertTrue(pool.largeStatistics().expansions() <= 1, () -> "" + pool.largeStatistics());
        permits.release(1000);
        for (Future<LargeBuffer> future : last) {
          held.add(future.get());
        }
        held.add(fourth.get());
      }
      held.forEach(LargeBuffer::release);
    }
  }

  @RepeatedTest(4)
  void randomUseEndsDrained(RepetitionInfo repetition) throws Exception {
    long seed = repetition.getCurrentRepetition();
    Random failures = new Random(seed);
    device.beforeEach(
        () -> {
          synchronized (failures) {
            device.failing(failures.nextInt(40) == 0);
          }
        });
    PoolConfig.Builder config =
        config().registrationThreads(3).largeSegmentBytes(256 << 10).maxBytes(24 * MIB);
    RegisteredBufferPool pool = pool(config);
    int threads = 4;
    List<Future<?>> all = new ArrayList<>();
    try (ExecutorService users = Executors.newFixedThreadPool(threads + 1)) {
      for (int i = 0; i < threads; i++) {
        Random random = new Random(seed * 100 + i);
        all.add(users.submit(() -> useAtRandom(pool, random)));
      }
      all.add(users.submit(() -> maintainBeside(pool)));
      for (Future<?> one : all) {
        one.get(50, TimeUnit.SECONDS);
      }
    } catch (Exception | AssertionError e) {
      throw new AssertionError("seed " + seed, e);
    }
    device.beforeEach(() -> device.failing(false));
    assertAddsUp(pool);
    assertEquals(0, pool.largeStatistics().usedObjects(), "seed " + seed);
    pool.close();
    assertEquals(0, device.live(), "seed " + seed);
    assertEquals(0, device.pinnedPages(), "seed " + seed);
    assertEquals(0, pool.mappedLarge(), "seed " + seed);
    assertEquals(
        pool.statistics().registrations(), pool.statistics().deregistrations(), "seed " + seed);
  }

  private void useAtRandom(RegisteredBufferPool pool, Random random) {
    List<LargeBuffer> held = new ArrayList<>();
    for (int i = 0; i < 150; i++) {
      if (held.size() > 2 || (!held.isEmpty() && random.nextBoolean())) {
        held.remove(random.nextInt(held.size())).release();
        continue;
      }
      try {
        LargeBuffer buffer = pool.allocateLarge(1 + random.nextLong(3 * MIB));
        held.add(buffer);
        long last = buffer.lengthBytes() - 1;
        buffer.segment().set(ValueLayout.JAVA_BYTE, last, (byte) i);
        if (random.nextBoolean()) {
          assertTrue(buffer.awaitReady(0, last, Duration.ofSeconds(30)));
          assertTrue(pool.find(buffer.segment().asSlice(last)) != null);
        }
      } catch (PoolExhaustedException e) {
        assertEquals(24 * MIB, e.maxBytes());
      } catch (Rdma4jException e) {
        assertTrue(String.valueOf(e.getMessage()).contains("refused"), e.getMessage());
      }
    }
    held.forEach(LargeBuffer::release);
  }

  private void maintainBeside(RegisteredBufferPool pool) {
    for (int i = 0; i < 40; i++) {
      pass(INTERVAL.dividedBy(2));
      try {
        pool.maintain();
      } catch (PoolGrowthException e) {
        assertTrue(pool.largeStatistics().failedExpansions() > 0);
      }
    }
  }
}
