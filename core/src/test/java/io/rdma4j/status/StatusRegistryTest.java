package io.rdma4j.status;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.MetricSource.Sink;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StatusRegistryTest {
  private static final MetricDescriptor BLOCKS =
      gauge("rdma4j_pool_blocks", "Blocks.", "pool", "state");
  private static final MetricDescriptor REQUESTS =
      counter("rdma4j_pool_requests_total", "Requests.").withAlias("rdma_mem_pool_requests");
  private static final MetricDescriptor SOURCES =
      gauge("rdma4j_status_sources", "Sources of metrics that are registered.");
  private static final MetricDescriptor FAILURES =
      counter(
          "rdma4j_status_source_failures_total",
          "Times a source of metrics failed and was left out of a snapshot.");

  private final StatusRegistry registry = new StatusRegistry();

  @Test
  void aSnapshotHasAllSamplesSortedByNameInTheOrderOfTheSources() {
    registry.register("b", source(List.of(REQUESTS), sink -> sink.add(REQUESTS, 7)));
    registry.register(
        "a",
        source(
            List.of(BLOCKS),
            sink -> {
              sink.add(BLOCKS, 2, "a", "used");
              sink.add(BLOCKS, 0.5, "a", "free");
            }));
    StatusSnapshot snapshot = registry.snapshot();
    assertEquals(
        List.of(
            new Metric(BLOCKS, List.of("a", "used"), new Metric.Whole(2)),
            new Metric(BLOCKS, List.of("a", "free"), new Metric.Real(0.5)),
            new Metric(REQUESTS, List.of(), new Metric.Whole(7)),
            new Metric(FAILURES, List.of(), new Metric.Whole(0)),
            new Metric(SOURCES, List.of(), new Metric.Whole(2))),
        snapshot.metrics());
    assertNull(snapshot.lastFailure());
    assertEquals(new Metric.Whole(2), snapshot.find(BLOCKS, "a", "used").orElseThrow().value());
    assertTrue(snapshot.find(BLOCKS, "a", "cached").isEmpty());
  }

  @Test
  void aClosedRegistrationIsOut() {
    MetricSource source = source(List.of(REQUESTS), sink -> sink.add(REQUESTS, 7));
    StatusRegistry.Registration registration = registry.register("pool", source);
    registration.close();
    registration.close();
    assertTrue(registry.snapshot().find(REQUESTS).isEmpty());
    registry.register("pool", source);
    registration.close();
    assertTrue(registry.snapshot().find(REQUESTS).isPresent());
  }

  @Test
  void aNameOrASourceRegistersOnce() {
    MetricSource source = source(List.of(), sink -> {});
    registry.register("pool", source);
    refused("'pool'", () -> registry.register("pool", source(List.of(), sink -> {})));
    refused("as 'pool'", () -> registry.register("other", source));
    assertEquals(1, wholeOf(registry.snapshot(), SOURCES));
  }

  @Test
  void aMetricMeansTheSameEverywhere() {
    registry.register("pool", source(List.of(REQUESTS), sink -> {}));
    registry.register("same", source(List.of(REQUESTS), sink -> {}));
    for (MetricDescriptor other :
        List.of(
            counter("rdma4j_pool_requests_total", "Something else."),
            gauge("rdma4j_pool_requests", "Requests that wait."),
            gauge("rdma4j_other", "Other.").withAlias("rdma_mem_pool_requests"),
            gauge("rdma4j_status_sources", "Mine."))) {
      refused("'other'", () -> registry.register("other", source(List.of(other), sink -> {})));
    }
    MetricSource selfContradicting =
        source(List.of(BLOCKS, gauge("rdma4j_pool_blocks", "Mine.")), sink -> {});
    refused("rdma4j_pool_blocks", () -> registry.register("other", selfContradicting));
    assertEquals(2, wholeOf(registry.snapshot(), SOURCES));
  }

  @Test
  void aFailingSourceHidesNobodyAndShows() {
    AtomicBoolean broken = new AtomicBoolean(true);
    registry.register(
        "bad",
        source(
            List.of(BLOCKS),
            sink -> {
              sink.add(BLOCKS, 1, "bad", "used");
              if (broken.get()) {
                throw new IllegalStateException("no such region");
              }
            }));
    registry.register("good", source(List.of(REQUESTS), sink -> sink.add(REQUESTS, 7)));

    StatusSnapshot snapshot = registry.snapshot();
    assertEquals(7, wholeOf(snapshot, REQUESTS));
    assertTrue(snapshot.find(BLOCKS, "bad", "used").isEmpty(), "half a source");
    assertEquals(1, wholeOf(snapshot, FAILURES));
    assertEquals(
        "source 'bad': java.lang.IllegalStateException: no such region", snapshot.lastFailure());

    registry.snapshot();
    broken.set(false);
    StatusSnapshot later = registry.snapshot();
    assertTrue(later.find(BLOCKS, "bad", "used").isPresent());
    assertEquals(2, wholeOf(later, FAILURES));
    assertNotNull(later.lastFailure());
  }

  @Test
  void anErrorOfASourceIsAFailureToo() {
    registry.register(
        "bad",
        source(
            List.of(),
            sink -> {
              throw new NoClassDefFoundError("Gone");
            }));
    assertEquals(1, wholeOf(registry.snapshot(), FAILURES));
  }

  @Test
  void aSampleAgainstItsDescriptorIsRefused() {
    assertRefused("not among the descriptors", sink -> sink.add(REQUESTS, 1));
    assertRefused("not among", sink -> sink.add(gauge("rdma4j_pool_blocks", "Blocks."), 1));
    assertRefused("labels are [pool, state]", sink -> sink.add(BLOCKS, 1, "a"));
    assertRefused(
        "does not take", sink -> sink.add(BLOCKS, new LatencyHistogram().snapshot(), "a", "b"));
    assertRefused(
        "second sample",
        sink -> {
          sink.add(BLOCKS, 1, "a", "used");
          sink.add(BLOCKS, 2, "a", "used");
        });
  }

  private void assertRefused(String reason, Consumer<Sink> collection) {
    AtomicReference<RuntimeException> thrown = new AtomicReference<>();
    MetricSource source =
        source(
            List.of(BLOCKS),
            sink -> {
              try {
                collection.accept(sink);
              } catch (RuntimeException e) {
                thrown.set(e);
                throw e;
              }
            });
    try (StatusRegistry.Registration registered = registry.register("pool", source)) {
      assertNotNull(registered);
      long before = wholeOf(registry.snapshot(), FAILURES);
      StatusSnapshot snapshot = registry.snapshot();
      assertEquals(before + 1, wholeOf(snapshot, FAILURES));
      String failure = requireNonNull(snapshot.lastFailure());
      assertTrue(failure.contains(reason), failure);
      assertEquals(IllegalArgumentException.class, requireNonNull(thrown.get()).getClass());
    }
  }

  @Test
  void twoSourcesNeverShareASample() {
    Consumer<Sink> collection = sink -> sink.add(BLOCKS, 1, "a", "used");
    registry.register("first", source(List.of(BLOCKS), collection));
    registry.register("second", source(List.of(BLOCKS), collection));
    StatusSnapshot snapshot = registry.snapshot();
    assertEquals(1, snapshot.metrics().stream().filter(m -> m.descriptor().equals(BLOCKS)).count());
    assertTrue(requireNonNull(snapshot.lastFailure()).startsWith("source 'second'"));
  }

  @Test
  void aSinkIsOverWithItsCollection() {
    AtomicReference<Sink> kept = new AtomicReference<>();
    registry.register("pool", source(List.of(REQUESTS), kept::set));
    registry.snapshot();
    Sink sink = requireNonNull(kept.get());
    assertThrows(IllegalStateException.class, () -> sink.add(REQUESTS, 1));
  }

  @Test
  void closingWaitsForTheCollectionThatRuns() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch mayLeave = new CountDownLatch(1);
    AtomicBoolean released = new AtomicBoolean();
    AtomicBoolean usedAfterRelease = new AtomicBoolean();
    StatusRegistry.Registration registration =
        registry.register(
            "pool",
            source(
                List.of(),
                sink -> {
                  entered.countDown();
                  await(mayLeave);
                  usedAfterRelease.set(released.get());
                }));
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Future<?> reader = threads.submit(registry::snapshot);
      entered.await();
      CountDownLatch closing = new CountDownLatch(1);
      Future<?> closer =
          threads.submit(
              () -> {
                closing.countDown();
                registration.close();
                released.set(true);
              });
      closing.await();
      Thread.sleep(20); // gives a close that does not wait the time to show
      boolean waited = !closer.isDone();
      mayLeave.countDown();
      assertTrue(waited);
      reader.get();
      closer.get();
    }
    assertFalse(usedAfterRelease.get());
  }

  @Test
  void aSourceMayCloseItselfAndRegisterOthersWhileCollected() {
    AtomicReference<StatusRegistry.Registration> own = new AtomicReference<>();
    own.set(
        registry.register(
            "once",
            source(
                List.of(REQUESTS),
                sink -> {
                  sink.add(REQUESTS, 1);
                  requireNonNull(own.get()).close();
                  registry.register("next", source(List.of(), next -> {}));
                })));
    assertEquals(1, wholeOf(registry.snapshot(), REQUESTS));
    StatusSnapshot later = registry.snapshot();
    assertTrue(later.find(REQUESTS).isEmpty());
    assertEquals(1, wholeOf(later, SOURCES));
  }

  @Test
  void sourcesComeAndGoWhileSnapshotsRun() throws Exception {
    int rounds = 500;
    AtomicInteger collecting = new AtomicInteger();
    AtomicBoolean overlapped = new AtomicBoolean();
    registry.register(
        "steady",
        source(
            List.of(REQUESTS),
            sink -> {
              overlapped.compareAndSet(false, collecting.incrementAndGet() > 1);
              sink.add(REQUESTS, 1);
              collecting.decrementAndGet();
            }));
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<?>> runs = new ArrayList<>();
      for (String name : List.of("x", "y")) {
        runs.add(threads.submit(() -> comeAndGo(name, rounds)));
        runs.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < rounds; i++) {
                    assertEquals(1, wholeOf(registry.snapshot(), REQUESTS));
                  }
                }));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    }
    StatusSnapshot end = registry.snapshot();
    assertEquals(1, wholeOf(end, SOURCES));
    assertEquals(0, wholeOf(end, FAILURES), () -> "" + end.lastFailure());
    assertFalse(overlapped.get(), "a source was collected by two threads at once");
  }

  private void comeAndGo(String name, int rounds) {
    for (int i = 0; i < rounds; i++) {
      AtomicBoolean gone = new AtomicBoolean();
      MetricSource source =
          source(
              List.of(BLOCKS),
              sink -> {
                if (gone.get()) {
                  throw new IllegalStateException("collected after its close");
                }
                sink.add(BLOCKS, 1, name, "used");
              });
      registry.register(name, source).close();
      gone.set(true);
    }
  }

  @Test
  void theProcessHasOneRegistry() {
    assertSame(StatusRegistry.global(), StatusRegistry.global());
    assertTrue(StatusRegistry.global().snapshot().find(SOURCES).isPresent());
  }

  private static MetricSource source(
      List<MetricDescriptor> descriptors, Consumer<Sink> collection) {
    return new MetricSource() {
      @Override
      public List<MetricDescriptor> descriptors() {
        return descriptors;
      }

      @Override
      public void collect(Sink sink) {
        collection.accept(sink);
      }
    };
  }

  private static long wholeOf(StatusSnapshot snapshot, MetricDescriptor descriptor) {
    return ((Metric.Whole) snapshot.find(descriptor).orElseThrow().value()).amount();
  }

  private static void refused(String named, Runnable registration) {
    String message =
        String.valueOf(assertThrows(IllegalStateException.class, registration::run).getMessage());
    assertTrue(message.contains(named), message);
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
