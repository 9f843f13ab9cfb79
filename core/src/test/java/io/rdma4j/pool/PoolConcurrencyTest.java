package io.rdma4j.pool;

import static io.rdma4j.pool.PoolTestSupport.assertAddsUp;
import static io.rdma4j.pool.PoolTestSupport.assertDrained;
import static io.rdma4j.pool.PoolTestSupport.oneClass;
import static io.rdma4j.pool.PoolTestSupport.onlyClass;
import static io.rdma4j.pool.PoolTestSupport.plain;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class PoolConcurrencyTest {
  /** O-08. */
  @Test
  void blocksOfEndedThreadsAreNotLost() throws Exception {
    try (RegisteredBufferPool pool = plain(oneClass(16384, 16))) {
      long registeredBytes = 0;
      for (int round = 0; round < 200; round++) {
        List<RegisteredBuffer> handedOver = new ArrayList<>();
        runInThread(
            () -> {
              List<RegisteredBuffer> held = new ArrayList<>();
              for (int i = 0; i < 10; i++) {
                held.add(pool.allocate(16384));
              }
              held.subList(0, 9).forEach(RegisteredBuffer::release);
              handedOver.add(held.get(9));
            });
        handedOver.getFirst().release();
        assertAddsUp(pool);
        if (round == 3) {
          registeredBytes = pool.statistics().registeredBytes();
        }
      }
      pool.maintain();
      assertEquals(registeredBytes, pool.statistics().registeredBytes());
      assertDrained(pool);
      assertEquals(1, pool.statistics().threadCaches());
      assertTrue(onlyClass(pool).freeBlocks() >= 15, pool.statistics().toString());
    }
  }

  /** O-08, with a reader of statistics beside 1100 threads that come and go. */
  @Test
  void statisticsAreReadBesideAnyNumberOfThreads() throws Exception {
    try (RegisteredBufferPool pool = plain(oneClass(4096, 16));
        ExecutorService readers = Executors.newFixedThreadPool(1)) {
      AtomicBoolean stop = new AtomicBoolean();
      Future<Long> reads =
          readers.submit(
              () -> {
                long count = 0;
                while (!stop.get()) {
                  PoolStatistics now = pool.statistics();
                  assertTrue(now.fragmentation() >= 0 && now.fragmentation() <= 1, now.toString());
                  count++;
                }
                return count;
              });
      for (int i = 0; i < 1100; i++) {
        runInThread(() -> pool.allocate(1).release());
      }
      stop.set(true);
      assertTrue(reads.get() > 0);
      pool.maintain();
      assertEquals(1100, onlyClass(pool).allocations());
      assertEquals(0, pool.statistics().threadCaches());
      assertEquals(1, onlyClass(pool).slabs());
      assertDrained(pool);
    }
  }

  private static final int PASSED_ON = 1_000_000;
  private static final int OUTSTANDING = 256;

  /** Whole slabs for what is outstanding and cached, and one more. */
  private static final int MOST_BLOCKS = (OUTSTANDING + 2 * 64 + 63) / 64 * 64 + 64;

  /** O-09: one thread allocates, another frees. */
  @Test
  void producerAndConsumerDoNotGrowThePool() throws Exception {
    try (RegisteredBufferPool pool = plain(oneClass(8192, 64).maxCached(64))) {
      passOn(pool);
      PoolStatistics.SizeClass only = onlyClass(pool);
      assertTrue(only.registeredBlocks() <= MOST_BLOCKS, only.toString());
      assertEquals(PASSED_ON, only.allocations());
      assertDrained(pool);
    }
  }

  /** O-09, with blocks to spare: then none is taken from a cache, and surplus moves in batches. */
  @Test
  void aConsumersSurplusComesBackInBatches() throws Exception {
    PoolConfig.Builder config =
        oneClass(8192, 64).maxCached(64).initialBytes((long) MOST_BLOCKS * 8192);
    try (RegisteredBufferPool pool = plain(config)) {
      passOn(pool);
      PoolStatistics.SizeClass only = onlyClass(pool);
      assertEquals(MOST_BLOCKS, only.registeredBlocks());
      assertTrue(only.sharedHits() <= PASSED_ON / 16, only.toString());
      assertDrained(pool);
    }
  }

  /** Hands each block from a thread that allocates to one that releases. */
  private static void passOn(RegisteredBufferPool pool) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      ArrayBlockingQueue<Long> handles = new ArrayBlockingQueue<>(OUTSTANDING - 2);
      Future<?> producer =
          threads.submit(
              () -> {
                RegisteredBuffer lease = pool.newLease();
                for (int i = 0; i < PASSED_ON; i++) {
                  pool.allocate(8192, lease);
                  assertTrue(handles.offer(lease.detach(), 60, TimeUnit.SECONDS));
                }
                return null;
              });
      Future<?> consumer =
          threads.submit(
              () -> {
                for (int i = 0; i < PASSED_ON; i++) {
                  Long handle = handles.poll(60, TimeUnit.SECONDS);
                  pool.release(Objects.requireNonNull(handle, "the producer stopped"));
                }
                return null;
              });
      consumer.get();
      producer.get();
    }
  }

  /** O-10, the race: exactly one of two releases succeeds, each time. */
  @Test
  void oneOfTwoReleasesSucceeds() throws Exception {
    int rounds = 100_000;
    try (RegisteredBufferPool pool = plain(oneClass(4096, 16));
        ExecutorService threads = Executors.newFixedThreadPool(2)) {
      AtomicLong handle = new AtomicLong();
      AtomicLong succeeded = new AtomicLong();
      CyclicBarrier barrier =
          new CyclicBarrier(
              2,
              () -> {
                RegisteredBuffer lease = pool.allocate(1);
                handle.set(lease.detach());
              });
      Callable<Long> releaser =
          () -> {
            long failures = 0;
            for (int i = 0; i < rounds; i++) {
              barrier.await(60, TimeUnit.SECONDS);
              try {
                pool.release(handle.get());
                succeeded.getAndIncrement();
              } catch (IllegalStateException e) {
                failures++;
              }
            }
            return failures;
          };
      Future<Long> one = threads.submit(releaser);
      Future<Long> two = threads.submit(releaser);
      assertEquals(rounds, one.get() + two.get());
      assertEquals(rounds, succeeded.get());
      assertEquals(rounds, pool.statistics().refusedReleases());
      assertDrained(pool);
    }
  }

  /** As many blocks as all threads may hold together: no allocation may ever be refused. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 8})
  void neverExhaustedWhileABlockIsFree(int maxCached) throws Exception {
    int users = 4;
    int each = 4;
    PoolConfig.Builder config =
        oneClass(4096, users * each).maxBytes(4096L * users * each).maxCached(maxCached);
    try (RegisteredBufferPool pool = plain(config);
        ExecutorService platform = Executors.newFixedThreadPool(users);
        ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> runs = new ArrayList<>();
      for (int t = 0; t < users; t++) {
        runs.add(
            (t == 0 ? virtual : platform)
                .submit(
                    () -> {
                      RegisteredBuffer[] leases = new RegisteredBuffer[each];
                      Arrays.setAll(leases, i -> pool.newLease());
                      for (int round = 0; round < 5_000; round++) {
                        for (RegisteredBuffer lease : leases) {
                          pool.allocate(1, lease);
                        }
                        for (RegisteredBuffer lease : leases) {
                          lease.release();
                        }
                      }
                    }));
      }
      for (Future<?> run : runs) {
        run.get();
      }
      assertEquals(0, pool.statistics().exhausted());
      assertEquals(1, onlyClass(pool).slabs());
      assertDrained(pool);
    }
  }

  /** O-12: one registration per device for 64 threads, and nobody else is held up. */
  @Test
  void growthIsSingleFlightAndHoldsUpNobodyElse() throws Exception {
    LimitedRegistrar one = LimitedRegistrar.unlimited("rxe0");
    LimitedRegistrar two = LimitedRegistrar.unlimited("rxe1");
    PoolConfig config =
        PoolConfig.builder()
            .blockSizes(8192, 65536)
            .slabBytes(64 * 8192)
            .hugePages(HugePages.NONE)
            .lowWatermark(0)
            .build();
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(one, two));
        ExecutorService threads = Executors.newFixedThreadPool(64)) {
      pool.allocate(65536).release();
      CountDownLatch registering = new CountDownLatch(1);
      CountDownLatch goOn = new CountDownLatch(1);
      one.beforeEach(
          () -> {
            registering.countDown();
            await(goOn);
          });
      List<Future<RegisteredBuffer>> wanted = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        wanted.add(threads.submit(() -> pool.allocate(8192)));
      }
      await(registering);
      // The registration of the other class is under way, and stays so through all of this.
      for (int i = 0; i < 1000; i++) {
        RegisteredBuffer first = pool.allocate(65536);
        RegisteredBuffer second = pool.allocate(65536);
        first.release();
        second.release();
      }
      pool.statistics();
      assertEquals(1, one.registered());
      goOn.countDown();
      List<RegisteredBuffer> got = new ArrayList<>();
      for (Future<RegisteredBuffer> future : wanted) {
        got.add(future.get());
      }
      assertEquals(64, got.stream().map(RegisteredBuffer::address).distinct().count());
      assertEquals(2, one.registered());
      assertEquals(2, two.registered());
      got.forEach(RegisteredBuffer::release);
      assertDrained(pool);
    }
    assertEquals(0, one.live() + two.live());
  }

  /** O-12: a failure reaches everybody who waited, and the next attempt starts afresh. */
  @Test
  void failedGrowthReachesAllWaiters() throws Exception {
    int count = 16;
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    device.failing(true);
    try (RegisteredBufferPool pool =
            RegisteredBufferPool.create(oneClass(8192, 64).build(), List.of(device));
        ExecutorService threads = Executors.newFixedThreadPool(count)) {
      // The registration ends when all others wait for it, however slowly they arrive.
      device.beforeEach(
          () -> {
            while (pool.waiters(0) < count - 1) {
              Thread.onSpinWait();
            }
          });
      List<Future<String>> outcomes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        outcomes.add(
            threads.submit(
                () -> {
                  try {
                    pool.allocate(1).release();
                    return "allocated";
                  } catch (PoolGrowthException e) {
                    return e.registrar();
                  }
                }));
      }
      for (Future<String> outcome : outcomes) {
        assertEquals("rxe0", outcome.get());
      }
      assertEquals(1, device.attempts());
      assertEquals(0, pool.statistics().registeredBytes());
      device.failing(false);
      device.beforeEach(() -> {});
      pool.allocate(1).release();
      assertEquals(1, device.registered());
      assertDrained(pool);
    }
  }

  /** Threads may still be inside the pool when another closes it. */
  @Test
  void closingBesideUsersGivesEverythingBack() throws Exception {
    for (int round = 0; round < 50; round++) {
      LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
      RegisteredBufferPool pool =
          RegisteredBufferPool.create(oneClass(4096, 8).maxCached(4).build(), List.of(device));
      try (ExecutorService threads = Executors.newFixedThreadPool(3)) {
        List<Future<Boolean>> users = new ArrayList<>();
        CountDownLatch started = new CountDownLatch(3);
        for (int i = 0; i < 3; i++) {
          users.add(
              threads.submit(
                  () -> {
                    RegisteredBuffer lease = pool.newLease();
                    boolean open = true;
                    while (open) {
                      try {
                        pool.allocate(1, lease);
                      } catch (IllegalStateException closed) {
                        open = false;
                      }
                      lease.close();
                      started.countDown();
                    }
                    return lease.isEmpty();
                  }));
        }
        await(started);
        try {
          pool.close();
        } catch (IllegalStateException leasesOut) {
          assertTrue(String.valueOf(leasesOut.getMessage()).contains("on lease"));
        }
        for (Future<Boolean> user : users) {
          assertTrue(user.get());
        }
      }
      assertEquals(0, device.live());
      assertEquals(0, onlyClass(pool).usedBlocks());
      assertEquals(0, pool.mappedSlabs());
    }
  }

  private static void runInThread(Runnable body) throws InterruptedException {
    Thread thread = Thread.ofPlatform().start(body);
    thread.join();
  }

  private static void await(CountDownLatch latch) {
    try {
      if (!latch.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("waited for 60 s in vain");
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
