package io.rdma4j.pool;

import static io.rdma4j.pool.PoolTestSupport.assertAddsUp;
import static io.rdma4j.pool.PoolTestSupport.oneClass;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.status.Distribution;
import io.rdma4j.status.Metric;
import io.rdma4j.status.MetricDescriptor;
import io.rdma4j.status.StatusRegistry;
import io.rdma4j.status.VarsText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(120)
class PoolMetricsTest {
  private static final int BLOCK = 4096;
  private static final int SLAB_BLOCKS = 16;
  private static final long SLAB_BYTES = (long) BLOCK * SLAB_BLOCKS;

  private final LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
  private final List<RegisteredBuffer> held = new ArrayList<>();
  private final List<LargeBuffer> large = new ArrayList<>();
  private final StatusRegistry registry = new StatusRegistry();
  private final PoolConfig.Builder config = config();
  private RegisteredBufferPool pool = RegisteredBufferPool.create(config().build(), List.of());
  private long nowNs;
  private @Nullable Quarantine quarantine;

  @TempDir private Path tree;

  private static PoolConfig.Builder config() {
    return oneClass(BLOCK, SLAB_BLOCKS)
        .maxBytes(4 * SLAB_BYTES)
        .cleanupInterval(Duration.ofSeconds(5));
  }

  private void open() {
    open(SystemRoot.host());
  }

  private void open(SystemRoot root) {
    pool.close();
    pool = RegisteredBufferPool.create(config.build(), List.of(device), root, () -> nowNs);
    registry.register("pool", pool.metrics());
  }

  @AfterEach
  void close() {
    device.busy(false);
    device.refuseToForget(false);
    releaseAll();
    if (quarantine != null) {
      quarantine.close();
    }
    pool.close();
  }

  private void allocate(int blocks) {
    for (int i = 0; i < blocks; i++) {
      held.add(pool.allocate(1));
    }
  }

  private void allocateOne() {
    allocate(1);
  }

  private void allocateLarge() {
    large.add(pool.allocateLarge(SLAB_BYTES));
  }

  private void releaseOne() {
    held.removeLast().release();
  }

  private void useOne() {
    allocateAndRelease(1);
  }

  private void releaseAll() {
    held.forEach(RegisteredBuffer::close);
    held.clear();
    large.forEach(LargeBuffer::close);
    large.clear();
  }

  private void allocateAndRelease(int times) {
    for (int i = 0; i < times; i++) {
      pool.allocate(1).release();
    }
  }

  private void pass(int seconds) {
    for (int i = 0; i < seconds; i++) {
      nowNs += TimeUnit.SECONDS.toNanos(1);
      try {
        pool.maintain();
      } catch (Rdma4jException e) {
        assertTrue(String.valueOf(e.getMessage()).contains("ibv_dereg_mr"), e.toString());
      }
    }
  }

  private static void inThread(Runnable action) {
    CompletableFuture.runAsync(action, Thread.ofPlatform()::start).join();
  }

  /** Returns the sum over all label values; of a distribution its count. */
  private double total(MetricDescriptor metric) {
    return registry.snapshot().metrics().stream()
        .filter(m -> m.descriptor().equals(metric))
        .mapToDouble(PoolMetricsTest::amount)
        .sum();
  }

  private static double amount(Metric metric) {
    return switch (metric.value()) {
      case Metric.Whole whole -> whole.amount();
      case Metric.Real real -> real.amount();
      case Distribution distribution -> distribution.count();
    };
  }

  private double value(MetricDescriptor metric, String... labelValues) {
    return amount(registry.snapshot().find(metric, labelValues).orElseThrow());
  }

  /** What is there before, and what makes a metric move. */
  private record Event(
      Consumer<PoolConfig.Builder> config,
      Consumer<PoolMetricsTest> before,
      Consumer<PoolMetricsTest> event) {
    static Event of(Consumer<PoolMetricsTest> event) {
      return new Event(c -> {}, t -> {}, event);
    }

    static Event of(Consumer<PoolMetricsTest> before, Consumer<PoolMetricsTest> event) {
      return new Event(c -> {}, before, event);
    }
  }

  private static final Event FALL_BACK =
      new Event(
          c -> c.exhaustion(ExhaustionPolicy.FALL_BACK), t -> {}, PoolMetricsTest::allocateOne);

  private static final Map<MetricDescriptor, Event> EVENTS =
      Map.ofEntries(
          Map.entry(PoolMetric.ALLOCATIONS, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(
              PoolMetric.RELEASES,
              Event.of(PoolMetricsTest::allocateOne, PoolMetricsTest::releaseOne)),
          Map.entry(PoolMetric.ALLOCATION_SECONDS, Event.of(t -> t.allocateAndRelease(2000))),
          Map.entry(
              PoolMetric.THREAD_CACHE_HIT_RATIO,
              Event.of(PoolMetricsTest::useOne, t -> t.allocateAndRelease(9))),
          Map.entry(
              PoolMetric.SHARED_HIT_RATIO,
              Event.of(PoolMetricsTest::useOne, t -> t.allocateAndRelease(9))),
          Map.entry(PoolMetric.FALLBACK_RATIO, FALL_BACK),
          Map.entry(PoolMetric.FALLBACKS, FALL_BACK),
          Map.entry(
              PoolMetric.ADOPTIONS,
              new Event(
                  FALL_BACK.config,
                  PoolMetricsTest::allocateOne,
                  t -> {
                    t.releaseAll();
                    t.pass(1);
                  })),
          Map.entry(PoolMetric.FRAGMENTATION_RATIO, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(PoolMetric.REGISTERED_BYTES, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(PoolMetric.BYTES, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(
              PoolMetric.LEAVING_BYTES,
              Event.of(
                  PoolMetricsTest::useOne,
                  t -> {
                    t.device.busy(true);
                    t.pass(20);
                  })),
          Map.entry(PoolMetric.BUDGETED_BYTES, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(PoolMetric.SLABS, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(PoolMetric.REGISTER_SECONDS, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(
              PoolMetric.DEREGISTER_SECONDS, Event.of(PoolMetricsTest::useOne, t -> t.pass(20))),
          Map.entry(PoolMetric.REGISTRATIONS, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(PoolMetric.DEREGISTRATIONS, Event.of(PoolMetricsTest::useOne, t -> t.pass(20))),
          Map.entry(
              PoolMetric.REGISTRATION_FAILURES,
              Event.of(
                  t -> {
                    t.device.failing(true);
                    assertThrows(PoolGrowthException.class, () -> t.allocate(1));
                  })),
          Map.entry(
              PoolMetric.DEREGISTRATION_FAILURES,
              Event.of(
                  PoolMetricsTest::useOne,
                  t -> {
                    t.device.refuseToForget(true);
                    t.pass(20);
                  })),
          Map.entry(PoolMetric.GROWTHS, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(PoolMetric.TRIMS, Event.of(PoolMetricsTest::useOne, t -> t.pass(20))),
          Map.entry(
              PoolMetric.REVIVALS,
              Event.of(
                  PoolMetricsTest::useOne,
                  t -> {
                    t.pass(8);
                    t.allocate(1);
                  })),
          Map.entry(
              PoolMetric.STEALS,
              new Event(
                  c -> c.maxBytes(SLAB_BYTES),
                  t -> {
                    t.allocate(SLAB_BLOCKS);
                    t.releaseAll();
                  },
                  t -> inThread(() -> t.allocate(SLAB_BLOCKS)))),
          Map.entry(
              PoolMetric.EXHAUSTED,
              Event.of(
                  t -> t.allocate(4 * SLAB_BLOCKS),
                  t -> assertThrows(PoolExhaustedException.class, () -> t.allocate(1)))),
          Map.entry(
              PoolMetric.REFUSED_RELEASES,
              Event.of(
                  t -> {
                    RegisteredBuffer lease = t.pool.allocate(1);
                    long handle = lease.detach();
                    t.pool.release(handle);
                    assertThrows(IllegalStateException.class, () -> t.pool.release(handle));
                  })),
          Map.entry(
              PoolMetric.QUARANTINED_BLOCKS,
              Event.of(
                  PoolMetricsTest::allocateOne,
                  t -> {
                    t.quarantine = t.pool.openQuarantine("a connection");
                    t.quarantine.add(t.held.removeLast());
                  })),
          Map.entry(PoolMetric.THREAD_CACHES, Event.of(PoolMetricsTest::allocateOne)),
          Map.entry(PoolMetric.LARGE_BYTES, Event.of(PoolMetricsTest::allocateLarge)),
          Map.entry(PoolMetric.LARGE_OBJECTS, Event.of(PoolMetricsTest::allocateLarge)),
          Map.entry(PoolMetric.LARGE_REQUESTS, Event.of(PoolMetricsTest::allocateLarge)),
          Map.entry(
              PoolMetric.LARGE_TRIMS,
              Event.of(
                  PoolMetricsTest::allocateLarge,
                  t -> {
                    t.large.removeLast().close();
                    t.pass(30);
                  })));

  /** Those that have a test of their own. */
  private static final List<MetricDescriptor> ELSEWHERE =
      List.of(
          PoolMetric.MAX_BYTES,
          PoolMetric.WAITERS,
          PoolMetric.CROSS_NODE_BLOCKS,
          PoolMetric.LARGE_EXPANSIONS);

  static List<MetricDescriptor> events() {
    return PoolMetric.ALL.stream().filter(metric -> !ELSEWHERE.contains(metric)).toList();
  }

  @ParameterizedTest
  @MethodSource("events")
  void aMetricMovesWhenItsEventHappens(MetricDescriptor metric) {
    Event event = EVENTS.get(metric);
    assertNotNull(event, () -> "no event for " + metric.name());
    event.config.accept(config);
    open();
    event.before.accept(this);
    double before = total(metric);
    event.event.accept(this);
    assertNotEquals(before, total(metric), VarsText.of(registry.snapshot()));
  }

  @Test
  void theBudgetIsWhatWasSet() {
    open();
    assertEquals(4 * SLAB_BYTES, value(PoolMetric.MAX_BYTES));
  }

  @Test
  void largeObjectsAreSeenByTheirParts() {
    open();
    assertThrows(
        PoolExhaustedException.class,
        () -> {
          while (true) {
            allocateLarge();
          }
        });
    LargeStatistics now = pool.largeStatistics();
    assertEquals((double) now.usedBytes(), value(PoolMetric.LARGE_BYTES, "used"));
    assertEquals((double) now.registeredBytes(), total(PoolMetric.LARGE_BYTES));
    assertEquals(large.size(), value(PoolMetric.LARGE_OBJECTS));
    assertEquals(large.size() + 1, total(PoolMetric.LARGE_REQUESTS));
    assertEquals(1, value(PoolMetric.LARGE_REQUESTS, "exhausted"));
    assertEquals((double) now.expansions(), value(PoolMetric.LARGE_EXPANSIONS));
    large.forEach(LargeBuffer::close);
    large.clear();
    assertEquals(0, value(PoolMetric.LARGE_BYTES, "used"));
    assertEquals((double) now.registeredBytes(), value(PoolMetric.LARGE_BYTES, "idle"));
  }

  @Test
  void waitersAreSeenWhileTheyWait() throws Exception {
    config.exhaustion(ExhaustionPolicy.WAIT).exhaustionTimeout(Duration.ofSeconds(60));
    open();
    allocate(4 * SLAB_BLOCKS);
    CompletableFuture<RegisteredBuffer> waiting =
        CompletableFuture.supplyAsync(() -> pool.allocate(1), Thread.ofPlatform()::start);
    while (value(PoolMetric.WAITERS, "4096") == 0) {
      Thread.onSpinWait();
    }
    held.removeLast().release();
    held.add(waiting.get(60, TimeUnit.SECONDS));
    assertEquals(0, value(PoolMetric.WAITERS, "4096"));
  }

  /** All CPUs are on node 1; the first slabs lie on node 0. */
  private SystemRoot twoNodes() throws IOException {
    Path nodes = tree.resolve("sys/devices/system/node");
    for (int node = 0; node < 2; node++) {
      Path directory = Files.createDirectories(nodes.resolve("node" + node));
      Files.writeString(directory.resolve("cpulist"), node == 0 ? "\n" : "0-1023\n");
      Files.writeString(directory.resolve("distance"), node == 0 ? "10 21\n" : "21 10\n");
      Files.writeString(
          directory.resolve("meminfo"), "Node %d MemTotal: 1048576 kB\n".formatted(node));
    }
    Files.writeString(nodes.resolve("online"), "0-1\n");
    Files.writeString(nodes.resolve("has_memory"), "0-1\n");
    return SystemRoot.at(tree);
  }

  @Test
  void nodesAddUpAndCrossingIsCounted() throws IOException {
    config.initialBytes(2 * SLAB_BYTES).maxCached(4);
    open(twoNodes());
    assertEquals(0, total(PoolMetric.CROSS_NODE_BLOCKS));
    allocate(SLAB_BLOCKS);
    assertTrue(total(PoolMetric.CROSS_NODE_BLOCKS) > 0);
    assertAddsUp(pool);
    assertEquals(2 * SLAB_BYTES, value(PoolMetric.REGISTERED_BYTES, "4096", "0"));
    assertEquals(SLAB_BYTES, value(PoolMetric.BYTES, "4096", "0", "used"));
    assertEquals(0, value(PoolMetric.REGISTERED_BYTES, "4096", "1"));
    held.removeLast().release();
    assertAddsUp(pool);
    allocate(2 * SLAB_BLOCKS);
    assertAddsUp(pool);
    assertTrue(value(PoolMetric.BYTES, "4096", "1", "used") > 0, "the caller's own node grew");
  }

  @Test
  void theArticlesNamesAreThere() {
    open();
    allocateAndRelease(10);
    String vars = VarsText.of(registry.snapshot(), "rdma_*");
    for (String alias :
        List.of(
            "rdma_mem_pool_alloc_latency",
            "rdma_mem_pool_hit_rate",
            "rdma_mem_pool_fallback_count",
            "rdma_mem_pool_fragmentation",
            "rdma_reg_mr_duration")) {
      assertTrue(vars.lines().anyMatch(line -> line.startsWith(alias + " : ")), vars);
    }
    assertEquals(0.9, value(PoolMetric.THREAD_CACHE_HIT_RATIO));
    assertEquals(1, value(PoolMetric.REGISTER_SECONDS));
  }

  @Test
  void poolsAreToldApartByALabel() {
    try (RegisteredBufferPool other = RegisteredBufferPool.create(config().build(), List.of())) {
      registry.register("orders", pool.metrics("orders"));
      registry.register("quotes", other.metrics("quotes"));
      other.allocate(1).release();
      String vars = VarsText.of(registry.snapshot(), "rdma4j_pool_releases_total");
      assertEquals(
          """
          rdma4j_pool_releases_total{pool="orders",size_class="4096"} : 0
          rdma4j_pool_releases_total{pool="quotes",size_class="4096"} : 1
          """,
          vars);
      IllegalStateException e =
          assertThrows(
              IllegalStateException.class, () -> registry.register("plain", other.metrics()));
      assertTrue(String.valueOf(e.getMessage()).contains("rdma4j_pool_"), e.toString());
    }
  }

  @Test
  void theReceiveReserveIsAClassOfItsOwn() {
    config.receiveReserveBlocks(SLAB_BLOCKS);
    open();
    held.add(pool.allocateReceive(1));
    assertEquals(BLOCK, value(PoolMetric.BYTES, "receive_4096", "unknown", "used"));
    assertEquals(0, value(PoolMetric.BYTES, "4096", "unknown", "used"));
    assertEquals("", registry.snapshot().lastFailure() == null ? "" : "failed");
  }

  @Test
  void hitsAreSampledAndStandForAll() {
    config.sampleEvery(64);
    open();
    RegisteredBuffer lease = pool.newLease();
    for (int i = 0; i < 64 * 100; i++) {
      pool.allocate(1, lease);
      lease.release();
    }
    Distribution times = pool.statistics().allocationTimes();
    long hits = pool.statistics().classes().getFirst().threadCacheHits();
    long others = pool.statistics().allocations() - hits;
    assertEquals(hits / 64 * 64 + others, times.count());
    assertTrue(times.minNs() < times.maxNs(), "the first one grew the pool: " + times);
  }

  @Test
  void nothingIsTimedWhenNotAskedFor() {
    config.sampleEvery(0);
    open();
    allocateAndRelease(5000);
    assertTrue(pool.statistics().allocationTimes().isEmpty());
  }

  @Test
  void samplesOfEndedThreadsCount() {
    config.sampleEvery(1);
    open();
    inThread(() -> allocateAndRelease(10));
    pool.maintain();
    assertEquals(10, pool.statistics().allocationTimes().count());
  }

  @Test
  void virtualThreadsAreSampled() throws Exception {
    config.sampleEvery(1);
    open();
    Thread.ofVirtual().start(() -> allocateAndRelease(10)).join();
    assertEquals(10, pool.statistics().allocationTimes().count());
  }

  /** Whatever several threads did: afterwards each part is the sum of its parts. */
  @Test
  void everythingAddsUpAfterARandomRun() throws Exception {
    long seed = Long.getLong("seed", System.nanoTime());
    System.out.println("PoolMetricsTest seed " + seed);
    config.blockSizes(4096, 8192).maxBytes(12 * SLAB_BYTES).maxCached(8);
    config.exhaustion(ExhaustionPolicy.FALL_BACK).sampleEvery(16);
    open();
    Random random = new Random(seed);
    ConcurrentLinkedQueue<Long> inTransit = new ConcurrentLinkedQueue<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(3);
        ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> runs = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        long threadSeed = random.nextLong();
        Runnable user = () -> use(inTransit, new Random(threadSeed));
        runs.add(t == 3 ? virtual.submit(user) : threads.submit(user));
      }
      for (int i = 0; i < 20; i++) {
        registry.snapshot();
        pass(1);
      }
      for (Future<?> run : runs) {
        run.get();
      }
    }
    assertAllAddsUp(seed);
    inTransit.forEach(pool::release);
    assertAllAddsUp(seed);
    assertEquals(0, pool.statistics().usedBytes(), "seed " + seed);
    pass(30);
    assertAllAddsUp(seed);
  }

  private void use(ConcurrentLinkedQueue<Long> inTransit, Random random) {
    RegisteredBuffer lease = pool.newLease();
    for (int i = 0; i < 20_000; i++) {
      if (random.nextInt(100) < 49 && pool.tryAllocate(random.nextInt(8193), lease)) {
        inTransit.add(lease.detach());
      } else {
        Long handle = inTransit.poll();
        if (handle != null) {
          pool.release(handle);
        }
      }
    }
  }

  private void assertAllAddsUp(long seed) {
    assertAddsUp(pool);
    String all = "seed " + seed + "\n" + VarsText.of(registry.snapshot());
    assertEquals(total(PoolMetric.REGISTERED_BYTES), total(PoolMetric.BYTES), all);
    PoolStatistics now = pool.statistics();
    assertEquals((double) now.registeredBytes(), total(PoolMetric.REGISTERED_BYTES), all);
    assertEquals((double) now.allocations(), total(PoolMetric.ALLOCATIONS), all);
    long inUse = 0;
    for (PoolStatistics.SizeClass c : now.classes()) {
      inUse += c.usedBlocks();
    }
    assertEquals((double) inUse, total(PoolMetric.ALLOCATIONS) - total(PoolMetric.RELEASES), all);
    assertEquals(total(PoolMetric.REGISTRATIONS), total(PoolMetric.REGISTER_SECONDS), all);
    assertEquals(
        device.live(), total(PoolMetric.REGISTRATIONS) - total(PoolMetric.DEREGISTRATIONS), all);
    assertEquals(
        1.0, now.threadCacheHitRate() + now.sharedHitRate() + now.fallbackRate(), 1e-9, all);
    assertEquals(null, registry.snapshot().lastFailure(), all);
  }
}
