package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.verbs.Verbs;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The pool on memory regions of the kernel's own software devices, counted by the kernel. */
@Tag("lab")
@Timeout(value = 240, unit = TimeUnit.SECONDS)
final class PoolLabTest {
  private static final int ROUNDS = 5;
  private static final int THREADS = 3;
  private static final Pattern REGIONS = Pattern.compile("\\b(rxe0|siw0): .*?\\bmr (\\d+)");

  /**
   * Bursts by several threads with pauses in which the pool trims: after each pause the kernel
   * knows as many regions as before the pool, and after the end likewise.
   */
  @Test
  void theKernelsCountOfRegionsIsBackAfterEachTrim() throws Exception {
    VerbsProvider provider = new VerbsProvider(Verbs.system());
    try (provider) {
      assertTrue(provider.availability().usable(), () -> provider.availability().reason());
      List<String> base = regions();
      PoolConfig config =
          PoolConfig.builder()
              .slabBytes(512 << 10)
              .maxBytes(64 << 20)
              .cleanupInterval(Duration.ofMillis(500))
              .build();
      try (RegisteredBufferPool pool = RegisteredBufferPool.create(config, provider.registrars())) {
        for (int round = 0; round < ROUNDS; round++) {
          burst(pool, round);
          assertTrue(pool.statistics().registeredBytes() > 0, "something was registered");
          awaitTrim(pool);
          assertEquals(base, regions(), "round " + round);
        }
        PoolStatistics end = pool.statistics();
        assertEquals(end.registrations(), end.deregistrations());
        assertEquals(0, end.deregistrationFailures());
        System.out.printf(
            "pool soak: %d registrations, %d allocations, base %s%n",
            end.registrations(),
            end.classes().stream().mapToLong(PoolStatistics.SizeClass::allocations).sum(),
            base);
      }
      assertEquals(base, regions(), "after the pool was closed");
    }
  }

  private static void burst(RegisteredBufferPool pool, long seed) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> runs = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        Random random = new Random(seed * THREADS + t);
        runs.add(threads.submit(() -> allocateAndRelease(pool, random)));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    }
  }

  private static void allocateAndRelease(RegisteredBufferPool pool, Random random) {
    Deque<RegisteredBuffer> held = new ArrayDeque<>();
    for (int i = 0; i < 5_000; i++) {
      RegisteredBuffer buffer = pool.allocate(1 + random.nextInt(pool.maxBufferBytes()));
      buffer.segment().set(ValueLayout.JAVA_LONG, 0, i);
      assertTrue(buffer.lkey(0) != 0 || buffer.lkey(1) != 0, "the devices gave no keys");
      held.addLast(buffer);
      while (held.size() > 100) {
        held.removeFirst().release();
      }
    }
    held.forEach(RegisteredBuffer::release);
  }

  private static void awaitTrim(RegisteredBufferPool pool) throws InterruptedException {
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);
    while (pool.statistics().registeredBytes() > 0 || pool.statistics().leavingBytes() > 0) {
      assertTrue(System.nanoTime() < deadlineNs, () -> "not trimmed: " + pool.statistics());
      Thread.sleep(50);
    }
  }

  /** Returns what the kernel counts, as device and number. */
  private static List<String> regions() throws Exception {
    Matcher matcher = REGIONS.matcher(Tool.run("rdma", "resource", "show"));
    List<String> regions = new ArrayList<>();
    while (matcher.find()) {
      regions.add(matcher.group(1) + " " + matcher.group(2));
    }
    assertEquals(2, regions.size(), "both devices are counted: " + regions);
    return regions;
  }
}
