package io.rdma4j.pool;

import static io.rdma4j.pool.PoolTestSupport.assertDrained;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;

/**
 * A million random operations by several threads, ending with everything given back, while the pool
 * grows and trims as fast as it can. Each block is stamped by its holder, so two holders of one
 * block show. A failing run is repeated with {@code -Dseed=...}.
 */
@Timeout(120)
class PoolFuzzTest {
  private static final int REPETITIONS = 8;
  private static final int THREADS = 8;
  private static final int OPERATIONS = 1_000_000 / REPETITIONS / THREADS;

  @RepeatedTest(REPETITIONS)
  void randomOperationsEndDrained() throws Exception {
    long seed = Long.getLong("seed", System.nanoTime());
    System.out.println("PoolFuzzTest seed " + seed);
    Random random = new Random(seed);
    PoolConfig config =
        PoolConfig.builder()
            .blockSizes(4096, 8192, 20480)
            .slabBytes(20480 * (1 + random.nextInt(4)) / 4096 * 4096)
            .maxBytes(20480L * (8 + random.nextInt(40)))
            .maxCached(random.nextInt(9))
            .cleanupInterval(Duration.ofMillis(1 + random.nextInt(20)))
            .receiveReserveBlocks(random.nextInt(4))
            .lowWatermark(random.nextInt(3) * 0.1)
            .exhaustion(random.nextBoolean() ? ExhaustionPolicy.FAIL : ExhaustionPolicy.FALL_BACK)
            .hugePages(HugePages.NONE)
            .build();
    LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
    RegisteredBufferPool pool = RegisteredBufferPool.create(config, List.of(device));
    ConcurrentLinkedQueue<RegisteredBuffer> inTransit = new ConcurrentLinkedQueue<>();
    try (ExecutorService platform = Executors.newFixedThreadPool(THREADS);
        ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> runs = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        User user = new User(pool, inTransit, random.nextLong());
        runs.add((t % 4 == 3 ? virtual : platform).submit(user));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    }
    inTransit.forEach(RegisteredBuffer::release);
    pool.maintain();
    pool.close();
    assertDrained(pool);
    assertEquals(0, device.live(), () -> "seed " + seed);
    assertEquals(0, pool.mappedSlabs(), () -> "seed " + seed);
  }

  private static final class User implements Runnable {
    private final RegisteredBufferPool pool;
    private final ConcurrentLinkedQueue<RegisteredBuffer> inTransit;
    private final Random random;
    private final List<RegisteredBuffer> held = new ArrayList<>();
    private final List<RegisteredBuffer> empty = new ArrayList<>();
    private final Quarantine quarantine;

    User(RegisteredBufferPool pool, ConcurrentLinkedQueue<RegisteredBuffer> inTransit, long seed) {
      this.pool = pool;
      this.inTransit = inTransit;
      this.random = new Random(seed);
      this.quarantine = pool.openQuarantine("user " + seed);
    }

    @Override
    public void run() {
      for (int i = 0; i < OPERATIONS; i++) {
        switch (random.nextInt(12)) {
          case 0, 1, 2, 3 -> allocate(false);
          case 10 -> allocate(true);
          case 11 -> withHeld(this::quarantine);
          case 4, 5, 6 -> withHeld(this::release);
          case 7 -> withHeld(inTransit::add);
          case 8 -> receive();
          default -> misuse();
        }
      }
      held.forEach(this::release);
      quarantine.close();
    }

    private void allocate(boolean forReceive) {
      RegisteredBuffer lease = empty.isEmpty() ? pool.newLease() : empty.removeLast();
      int lengthBytes = random.nextInt(pool.maxBufferBytes() + 1);
      if (forReceive
          ? pool.tryAllocateReceive(lengthBytes, lease)
          : pool.tryAllocate(lengthBytes, lease)) {
        stamp(lease);
        held.add(lease);
      } else {
        empty.add(lease);
        withHeld(this::release);
      }
    }

    private void withHeld(Consumer<RegisteredBuffer> action) {
      if (!held.isEmpty()) {
        action.accept(held.remove(random.nextInt(held.size())));
      }
    }

    private void quarantine(RegisteredBuffer lease) {
      checkStamp(lease);
      quarantine.add(lease);
      empty.add(lease);
      if (quarantine.size() > 2) {
        quarantine.release();
      }
    }

    private void release(RegisteredBuffer lease) {
      checkStamp(lease);
      if (random.nextBoolean()) {
        lease.release();
      } else {
        pool.release(lease.detach());
      }
      empty.add(lease);
    }

    private void receive() {
      RegisteredBuffer lease = inTransit.poll();
      if (lease != null) {
        checkStamp(lease);
        held.add(lease);
      }
    }

    private void misuse() {
      if (!empty.isEmpty()) {
        assertThrows(IllegalStateException.class, empty.getFirst()::release);
      }
    }

    /** First and last word hold the lease's identity, which moves with it. */
    private static void stamp(RegisteredBuffer lease) {
      long mark = System.identityHashCode(lease);
      lease.segment().set(ValueLayout.JAVA_LONG, 0, mark);
      lease.segment().set(ValueLayout.JAVA_LONG, lease.capacityBytes() - 8L, mark);
    }

    private static void checkStamp(RegisteredBuffer lease) {
      long mark = System.identityHashCode(lease);
      assertEquals(mark, lease.segment().get(ValueLayout.JAVA_LONG, 0));
      assertEquals(mark, lease.segment().get(ValueLayout.JAVA_LONG, lease.capacityBytes() - 8L));
    }
  }
}
