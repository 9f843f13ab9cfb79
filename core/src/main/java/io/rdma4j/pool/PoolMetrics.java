package io.rdma4j.pool;

import io.rdma4j.status.Distribution;
import io.rdma4j.status.MetricDescriptor;
import io.rdma4j.status.MetricSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The metrics of a pool: {@link PoolStatistics} and {@link LargeStatistics} in the vocabulary of
 * {@link io.rdma4j.status}, one census for all of them.
 *
 * <p>Two pools in one registry are told apart by a label {@code pool}, which a single pool does
 * without. A registry refuses to have a pool with the label and one without.
 */
final class PoolMetrics implements MetricSource {
  private static final String POOL = "pool";

  /** Before the block size of the class that is kept apart for receives. */
  private static final String RECEIVE = "receive_";

  private static final String UNKNOWN_NODE = "unknown";

  private final RegisteredBufferPool pool;
  private final @Nullable String label;

  /** By the descriptors without the label, those that are stated. */
  private final Map<MetricDescriptor, MetricDescriptor> stated = new LinkedHashMap<>();

  /** By class, so that a glance at moving blocks never shows fewer releases than the one before. */
  private final Map<String, Long> releases = new HashMap<>();

  /**
   * Creates the source.
   *
   * @param label value of the label {@code pool}, null for no such label
   */
  PoolMetrics(RegisteredBufferPool pool, @Nullable String label) {
    this.pool = pool;
    this.label = label;
    for (MetricDescriptor metric : PoolMetric.ALL) {
      stated.put(metric, label == null ? metric : withPoolLabel(metric));
    }
  }

  private static MetricDescriptor withPoolLabel(MetricDescriptor plain) {
    List<String> labels = new ArrayList<>();
    labels.add(POOL);
    labels.addAll(plain.labels());
    return new MetricDescriptor(plain.name(), plain.kind(), plain.meaning(), labels, plain.alias());
  }

  @Override
  public List<MetricDescriptor> descriptors() {
    return List.copyOf(stated.values());
  }

  @Override
  public void collect(Sink sink) {
    Sink out = label == null ? sink : new LabellingSink(sink, label);
    PoolStatistics now = pool.statistics();
    collectPool(now, out);
    collectLarge(pool.largeStatistics(), out);
    for (PoolStatistics.SizeClass sizeClass : now.classes()) {
      String name = (sizeClass.reserve() ? RECEIVE : "") + sizeClass.blockBytes();
      collectClass(sizeClass, name, out);
      for (PoolStatistics.Node node : sizeClass.nodes()) {
        collectNode(node, sizeClass.blockBytes(), name, out);
      }
    }
  }

  private static void collectPool(PoolStatistics now, Sink sink) {
    sink.add(PoolMetric.ALLOCATION_SECONDS, now.allocationTimes());
    sink.add(PoolMetric.THREAD_CACHE_HIT_RATIO, now.threadCacheHitRate());
    sink.add(PoolMetric.SHARED_HIT_RATIO, now.sharedHitRate());
    sink.add(PoolMetric.FALLBACK_RATIO, now.fallbackRate());
    sink.add(PoolMetric.FALLBACKS, now.fallbacks());
    sink.add(PoolMetric.ADOPTIONS, now.adoptions());
    sink.add(PoolMetric.FRAGMENTATION_RATIO, now.fragmentation());
    sink.add(PoolMetric.MAX_BYTES, now.maxBytes());
    sink.add(PoolMetric.BUDGETED_BYTES, now.budgetedBytes());
    sink.add(PoolMetric.REGISTER_SECONDS, now.registrationTimes());
    sink.add(PoolMetric.DEREGISTER_SECONDS, now.deregistrationTimes());
    sink.add(PoolMetric.REGISTRATIONS, now.registrations());
    sink.add(PoolMetric.DEREGISTRATIONS, now.deregistrations());
    sink.add(PoolMetric.REGISTRATION_FAILURES, now.registrationFailures());
    sink.add(PoolMetric.DEREGISTRATION_FAILURES, now.deregistrationFailures());
    sink.add(PoolMetric.REFUSED_RELEASES, now.refusedReleases());
    sink.add(PoolMetric.QUARANTINED_BLOCKS, now.quarantinedBlocks());
    sink.add(PoolMetric.THREAD_CACHES, now.threadCaches());
  }

  private static void collectLarge(LargeStatistics now, Sink sink) {
    sink.add(PoolMetric.LARGE_BYTES, now.usedBytes(), "used");
    sink.add(PoolMetric.LARGE_BYTES, now.idleBytes(), "idle");
    sink.add(PoolMetric.LARGE_BYTES, now.pendingBytes(), "pending");
    sink.add(PoolMetric.LARGE_BYTES, now.leavingBytes(), "leaving");
    sink.add(PoolMetric.LARGE_OBJECTS, now.objects());
    sink.add(PoolMetric.LARGE_REQUESTS, now.hits(), "hit");
    sink.add(PoolMetric.LARGE_REQUESTS, now.misses(), "miss");
    sink.add(PoolMetric.LARGE_REQUESTS, now.exhausted(), "exhausted");
    sink.add(PoolMetric.LARGE_REQUESTS, now.failures(), "failed");
    sink.add(PoolMetric.LARGE_EXPANSIONS, now.expansions());
    sink.add(PoolMetric.LARGE_TRIMS, now.trims());
  }

  private void collectClass(PoolStatistics.SizeClass now, String sizeClass, Sink sink) {
    sink.add(PoolMetric.ALLOCATIONS, now.threadCacheHits(), sizeClass, "thread_cache");
    sink.add(PoolMetric.ALLOCATIONS, now.sharedHits(), sizeClass, "shared");
    sink.add(PoolMetric.ALLOCATIONS, now.fallbacks(), sizeClass, "fallback");
    sink.add(PoolMetric.RELEASES, releases.merge(sizeClass, now.releases(), Math::max), sizeClass);
    sink.add(PoolMetric.SLABS, now.slabs(), sizeClass);
    sink.add(PoolMetric.GROWTHS, now.growths(), sizeClass);
    sink.add(PoolMetric.TRIMS, now.trims(), sizeClass);
    sink.add(PoolMetric.REVIVALS, now.revivals(), sizeClass);
    sink.add(PoolMetric.STEALS, now.steals(), sizeClass);
    sink.add(PoolMetric.CROSS_NODE_BLOCKS, now.crossNodeBlocks(), sizeClass);
    sink.add(PoolMetric.EXHAUSTED, now.exhausted(), sizeClass);
    sink.add(PoolMetric.WAITERS, now.waiters(), sizeClass);
  }

  private static void collectNode(
      PoolStatistics.Node now, long blockBytes, String sizeClass, Sink sink) {
    String node =
        now.node() == PoolStatistics.Node.UNKNOWN ? UNKNOWN_NODE : Integer.toString(now.node());
    sink.add(PoolMetric.REGISTERED_BYTES, now.registeredBlocks() * blockBytes, sizeClass, node);
    sink.add(PoolMetric.BYTES, now.usedBlocks() * blockBytes, sizeClass, node, "used");
    sink.add(PoolMetric.BYTES, now.cachedBlocks() * blockBytes, sizeClass, node, "cached");
    sink.add(PoolMetric.BYTES, now.freeBlocks() * blockBytes, sizeClass, node, "free");
    sink.add(PoolMetric.BYTES, now.pendingBlocks() * blockBytes, sizeClass, node, "pending");
    sink.add(PoolMetric.LEAVING_BYTES, now.leavingBytes(), sizeClass, node);
  }

  /** Puts the pool's label value before all others. */
  private final class LabellingSink implements Sink {
    private final Sink sink;
    private final String value;

    LabellingSink(Sink sink, String value) {
      this.sink = sink;
      this.value = value;
    }

    @Override
    public void add(MetricDescriptor metric, long amount, String... labelValues) {
      sink.add(stated(metric), amount, labelled(labelValues));
    }

    @Override
    public void add(MetricDescriptor metric, double amount, String... labelValues) {
      sink.add(stated(metric), amount, labelled(labelValues));
    }

    @Override
    public void add(MetricDescriptor metric, Distribution distribution, String... labelValues) {
      sink.add(stated(metric), distribution, labelled(labelValues));
    }

    private MetricDescriptor stated(MetricDescriptor metric) {
      return stated.getOrDefault(metric, metric);
    }

    private String[] labelled(String[] labelValues) {
      String[] values = new String[labelValues.length + 1];
      values[0] = value;
      System.arraycopy(labelValues, 0, values, 1, labelValues.length);
      return values;
    }
  }
}
