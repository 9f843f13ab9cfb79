package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One large buffer: its segments, their keys, and what those see who wait for them. */
@Timeout(60)
class LargeBufferTest {
  private static final int SEGMENT = 64 << 10;
  private static final long LONG_NS = TimeUnit.SECONDS.toNanos(30);

  private final LimitedRegistrar one = LimitedRegistrar.unlimited("rxe0");
  private final LimitedRegistrar two = LimitedRegistrar.unlimited("rxe1");

  private static PoolConfig.Builder config() {
    return PoolTestSupport.oneClass(4096, 4)
        .largeSegmentBytes(SEGMENT)
        .registrationThreads(1)
        .maxBytes(64 << 20);
  }

  private RegisteredBufferPool pool(PoolConfig.Builder config) {
    return RegisteredBufferPool.create(config.build(), List.of(one, two));
  }

  private record Part(long address, long lengthBytes, int lkey, int rkey) {}

  private static List<Part> parts(LargeBuffer buffer, long offset, long length, int registrar) {
    List<Part> parts = new ArrayList<>();
    buffer.forEachPart(
        offset, length, registrar, (a, n, lkey, rkey) -> parts.add(new Part(a, n, lkey, rkey)));
    return parts;
  }

  @Test
  void isContiguousWithKeysForEachSegment() {
    try (RegisteredBufferPool pool = pool(config());
        LargeBuffer buffer = pool.allocateLarge(3 * SEGMENT + 5)) {
      assertTrue(buffer.awaitReady(0, buffer.lengthBytes(), LONG_NS));
      assertEquals(4, buffer.segmentCount());
      assertEquals(SEGMENT, buffer.segmentBytes());
      assertEquals(3 * SEGMENT + 5, buffer.segment().byteSize());
      assertSame(buffer.segment(), buffer.segment());
      assertEquals(0, buffer.address() % 4096);
      assertEquals(0, buffer.segment().get(ValueLayout.JAVA_BYTE, 3 * SEGMENT + 4));
      for (int i = 0; i < 4; i++) {
        long first = (long) i * SEGMENT;
        long last = Math.min(first + SEGMENT, buffer.lengthBytes()) - 1;
        assertEquals(100 + 2 * i, buffer.lkey(first, 0));
        assertEquals(buffer.lkey(first, 0), buffer.lkey(last, one));
        assertEquals(buffer.lkey(first, 1), buffer.lkey(last, two));
        assertEquals(buffer.lkey(first, 0) + 1, buffer.rkey(last, 0));
        assertEquals(buffer.rkey(first, 1), buffer.rkey(last, two));
      }
      assertThrows(IndexOutOfBoundsException.class, () -> buffer.lkey(3 * SEGMENT + 5, 0));
      assertThrows(IndexOutOfBoundsException.class, () -> buffer.isReady(1, 3 * SEGMENT + 5));
    }
    assertEquals(0, one.live() + two.live());
    assertEquals(0, one.pinnedPages());
  }

  @Test
  void partsHaveOneKeyEach() {
    try (RegisteredBufferPool pool = pool(config());
        LargeBuffer buffer = pool.allocateLarge(3 * SEGMENT)) {
      buffer.awaitReady(0, 3 * SEGMENT, LONG_NS);
      long base = buffer.address();
      assertEquals(
          List.of(
              new Part(base + SEGMENT - 10, 10, buffer.lkey(0, 1), buffer.rkey(0, 1)),
              new Part(base + SEGMENT, SEGMENT, buffer.lkey(SEGMENT, 1), buffer.rkey(SEGMENT, 1)),
              new Part(
                  base + 2 * SEGMENT, 1, buffer.lkey(2 * SEGMENT, 1), buffer.rkey(2 * SEGMENT, 1))),
          parts(buffer, SEGMENT - 10, SEGMENT + 11, 1));
      assertEquals(1, parts(buffer, SEGMENT, SEGMENT, 0).size());
      assertEquals(List.of(), parts(buffer, 3 * SEGMENT, 0, 0));
    }
  }

  @Test
  void refusesLengthsOutOfRange() {
    try (RegisteredBufferPool pool = pool(config())) {
      for (long length : new long[] {Long.MIN_VALUE, -1, 0, (64 << 20) + 1, Long.MAX_VALUE}) {
        IllegalArgumentException e =
            assertThrows(IllegalArgumentException.class, () -> pool.allocateLarge(length));
        assertTrue(String.valueOf(e.getMessage()).contains("67108864"), e.getMessage());
      }
      pool.allocateLarge(1).close();
      pool.allocateLarge(64 << 20).close();
    }
  }

  @Test
  void canBeUsedFromItsFirstSegmentOn() throws Exception {
    Semaphore permits = new Semaphore(1);
    one.beforeEach(permits::acquireUninterruptibly);
    try (RegisteredBufferPool pool = pool(config());
        LargeBuffer buffer = pool.allocateLarge(4 * SEGMENT)) {
      assertTrue(buffer.isReady(0, SEGMENT));
      assertFalse(buffer.isReady(SEGMENT - 1, 2));
      assertEquals(100, buffer.lkey(SEGMENT - 1, 0));
      IllegalStateException early =
          assertThrows(IllegalStateException.class, () -> buffer.lkey(SEGMENT, 0));
      assertTrue(String.valueOf(early.getMessage()).contains("segment 1 of 4"), early.getMessage());
      assertThrows(IllegalStateException.class, () -> parts(buffer, SEGMENT - 1, 2 * SEGMENT, 0));
      assertFalse(buffer.awaitReady(0, SEGMENT + 1, Duration.ofMillis(2)));
      assertFalse(buffer.whenReady().toCompletableFuture().isDone());
      buffer.segment().fill((byte) 7);
      permits.release();
      assertTrue(buffer.awaitReady(0, 2 * SEGMENT, LONG_NS));
      assertFalse(buffer.isReady(0, 4 * SEGMENT));
      permits.release(2);
      buffer.whenReady().toCompletableFuture().get(30, TimeUnit.SECONDS);
      assertTrue(buffer.isReady(0, 4 * SEGMENT));
      // Making pages present leaves what has been written.
      assertEquals(7, buffer.segment().get(ValueLayout.JAVA_BYTE, 4 * SEGMENT - 1));
    }
  }

  @Test
  void anInterruptEndsTheWaitForALaterSegment() throws Exception {
    Semaphore permits = new Semaphore(1);
    one.beforeEach(permits::acquireUninterruptibly);
    try (RegisteredBufferPool pool = pool(config());
        LargeBuffer buffer = pool.allocateLarge(2 * SEGMENT)) {
      Thread.currentThread().interrupt();
      assertFalse(buffer.awaitReady(0, 2 * SEGMENT, LONG_NS));
      assertTrue(Thread.interrupted());
      permits.release();
      assertTrue(buffer.awaitReady(0, 2 * SEGMENT, LONG_NS));
    }
  }

  @Test
  void segmentsAreRegisteredInParallel() {
    CyclicBarrier together = new CyclicBarrier(3);
    one.beforeEach(() -> await(together));
    // A worker on its own would wait for the others in vain.
    try (RegisteredBufferPool pool = pool(config().registrationThreads(3));
        LargeBuffer buffer = pool.allocateLarge(6 * SEGMENT)) {
      assertTrue(buffer.awaitReady(0, 6 * SEGMENT, LONG_NS));
    }
  }

  @Test
  void growthOfAClassWaitsForOneSegmentAtMost() throws Exception {
    Semaphore permits = new Semaphore(1);
    List<Long> order = new ArrayList<>();
    one.beforeEach(permits::acquireUninterruptibly);
    two.beforeEach(() -> order.add(one.lastLengthBytes()));
    try (RegisteredBufferPool pool = pool(config());
        LargeBuffer buffer = pool.allocateLarge(8 * SEGMENT);
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      while (!permits.hasQueuedThreads()) {
        Thread.onSpinWait();
      }
      Future<RegisteredBuffer> block = other.submit(() -> pool.allocate(1));
      while (pool.waiters(0) == 0) {
        Thread.onSpinWait();
      }
      // The waiter has asked for growth when it waits for it.
      Thread.sleep(5);
      permits.release(100);
      block.get(30, TimeUnit.SECONDS).release();
      assertTrue(buffer.awaitReady(0, 8 * SEGMENT, LONG_NS));
      assertEquals(9, order.size());
      assertEquals(2, order.indexOf(16384L), order.toString());
    }
  }

  @Test
  void aRefusedSegmentFailsTheWholeForEverybody() throws Exception {
    Semaphore permits = new Semaphore(1);
    AtomicInteger asked = new AtomicInteger();
    one.beforeEach(permits::acquireUninterruptibly);
    two.beforeEach(() -> two.failing(asked.incrementAndGet() == 3));
    try (RegisteredBufferPool pool = pool(config());
        ExecutorService others = Executors.newFixedThreadPool(3)) {
      LargeBuffer buffer = pool.allocateLarge(5 * SEGMENT);
      buffer.segment().fill((byte) 3);
      List<Future<Boolean>> waits = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        long length = (5L - i) * SEGMENT;
        waits.add(others.submit(() -> buffer.awaitReady(0, length, LONG_NS)));
      }
      permits.release(10);
      for (Future<Boolean> wait : waits) {
        ExecutionException e = assertThrows(ExecutionException.class, wait::get);
        PoolGrowthException growth = assertInstanceOf(PoolGrowthException.class, e.getCause());
        assertEquals("rxe1", growth.registrar());
        assertEquals(SEGMENT, growth.askedBytes());
        assertEquals(2 * SEGMENT, growth.pinnedBytes());
      }
      CompletionException stage =
          assertThrows(
              CompletionException.class,
              () ->
                  buffer.whenReady().toCompletableFuture().orTimeout(30, TimeUnit.SECONDS).join());
      assertInstanceOf(PoolGrowthException.class, stage.getCause());
      assertThrows(PoolGrowthException.class, () -> buffer.lkey(0, 0));
      assertThrows(PoolGrowthException.class, () -> parts(buffer, 0, 1, 0));
      assertFalse(buffer.isReady(0, 1));
      awaitZero(one);
      awaitZero(two);
      assertEquals(0, pool.largeStatistics().registeredBytes());
      assertEquals(3, buffer.segment().get(ValueLayout.JAVA_BYTE, 5 * SEGMENT - 1));
      assertEquals(1, pool.mappedLarge());
      MemorySegment segment = buffer.segment();
      buffer.release();
      assertEquals(0, pool.mappedLarge());
      assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
      // All of the budget is there again.
      one.beforeEach(() -> {});
      pool.allocateLarge(64 << 20).close();
    }
  }

  @Test
  void aRefusedFirstSegmentLeavesNothing() {
    try (RegisteredBufferPool pool = pool(config())) {
      two.failing(true);
      PoolGrowthException e =
          assertThrows(PoolGrowthException.class, () -> pool.allocateLarge(3 * SEGMENT));
      assertEquals("rxe1", e.registrar());
      assertEquals(0, e.pinnedBytes());
      awaitZero(one);
      awaitNothingMapped(pool);
      assertEquals(1, pool.largeStatistics().failures());
      two.failing(false);
      pool.allocateLarge(64 << 20).close();
    }
  }

  @Test
  void endsOnce() {
    try (RegisteredBufferPool pool = pool(config())) {
      LargeBuffer buffer = pool.allocateLarge(SEGMENT);
      buffer.release();
      assertThrows(IllegalStateException.class, buffer::release);
      assertEquals(1, pool.statistics().refusedReleases());
      buffer.close();
      assertThrows(IllegalStateException.class, buffer::segment);
      assertThrows(IllegalStateException.class, buffer::address);
      assertThrows(IllegalStateException.class, () -> buffer.lkey(0, 0));
      assertThrows(IllegalStateException.class, () -> buffer.rkey(0, one));
      assertThrows(IllegalStateException.class, () -> buffer.isReady(0, 1));
      assertThrows(IllegalStateException.class, () -> buffer.awaitReady(0, 1, LONG_NS));
      assertThrows(IllegalStateException.class, buffer::whenReady);
      assertThrows(IllegalStateException.class, () -> parts(buffer, 0, 1, 0));
      try (LargeBuffer next = pool.allocateLarge(SEGMENT)) {
        buffer.close();
        assertNotEquals(0, next.address());
        assertEquals(1, pool.largeStatistics().usedObjects());
      }
    }
  }

  @Test
  void closingThePoolReportsBuffersStillOut() {
    RegisteredBufferPool pool = pool(config());
    LargeBuffer buffer = pool.allocateLarge(2 * SEGMENT);
    buffer.awaitReady(0, 2 * SEGMENT, LONG_NS);
    pool.allocateLarge(5 * SEGMENT).close();
    buffer.segment().fill((byte) 9);
    IllegalStateException e = assertThrows(IllegalStateException.class, pool::close);
    assertTrue(
        String.valueOf(e.getMessage()).contains("1 large buffers of 131072 bytes"), e.getMessage());
    assertEquals(0, one.live() + two.live());
    assertEquals(1, pool.mappedLarge());
    assertEquals(9, buffer.segment().get(ValueLayout.JAVA_BYTE, 2 * SEGMENT - 1));
    MemorySegment segment = buffer.segment();
    buffer.release();
    assertEquals(0, pool.mappedLarge());
    assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
    assertThrows(IllegalStateException.class, () -> pool.allocateLarge(1));
    pool.close();
  }

  @Test
  void closingThePoolEndsARegistrationUnderWay() throws Exception {
    Semaphore permits = new Semaphore(1);
    CountDownLatch closing = new CountDownLatch(1);
    one.beforeEach(permits::acquireUninterruptibly);
    RegisteredBufferPool pool = pool(config());
    LargeBuffer buffer = pool.allocateLarge(4 * SEGMENT);
    try (ExecutorService others = Executors.newFixedThreadPool(2)) {
      Future<Boolean> wait = others.submit(() -> buffer.awaitReady(0, 4 * SEGMENT, LONG_NS));
      while (!permits.hasQueuedThreads()) {
        Thread.onSpinWait();
      }
      Future<?> close =
          others.submit(
              () -> {
                closing.countDown();
                pool.close();
              });
      closing.await();
      ExecutionException waited =
          assertThrows(ExecutionException.class, () -> wait.get(30, TimeUnit.SECONDS));
      assertInstanceOf(IllegalStateException.class, waited.getCause());
      // A device is not left while a worker is busy with it.
      assertThrows(TimeoutException.class, () -> close.get(20, TimeUnit.MILLISECONDS));
      permits.release();
      ExecutionException closed =
          assertThrows(ExecutionException.class, () -> close.get(30, TimeUnit.SECONDS));
      assertInstanceOf(IllegalStateException.class, closed.getCause());
      assertEquals(0, one.live() + two.live());
    }
    buffer.release();
    assertEquals(0, pool.mappedLarge());
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await(20, TimeUnit.SECONDS);
    } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
      throw new IllegalStateException("registrations did not run side by side", e);
    }
  }

  private static void awaitZero(LimitedRegistrar registrar) {
    while (registrar.live() > 0) {
      Thread.onSpinWait();
    }
  }

  private static void awaitNothingMapped(RegisteredBufferPool pool) {
    while (pool.mappedLarge() > 0) {
      Thread.onSpinWait();
    }
  }
}
