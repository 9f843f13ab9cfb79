package io.rdma4j.pool;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;
import static io.rdma4j.status.MetricDescriptor.histogram;

import io.rdma4j.status.MetricDescriptor;
import java.util.List;

/** What the metrics of a pool mean; those of several pools have a label {@code pool} besides. */
final class PoolMetric {
  private static final String SIZE_CLASS = "size_class";
  private static final String NODE = "node";

  static final MetricDescriptor ALLOCATIONS =
      counter(
          "rdma4j_pool_allocations_total",
          "Blocks handed out: from the thread's own cache, from a shared list, or"
              + " registered for the request alone (fallback).",
          SIZE_CLASS,
          "source");

  static final MetricDescriptor RELEASES =
      counter("rdma4j_pool_releases_total", "Blocks given back.", SIZE_CLASS);

  static final MetricDescriptor ALLOCATION_SECONDS =
      histogram(
              "rdma4j_pool_allocation_seconds",
              "Time to allocate, clock included: of hits in a thread's cache one in"
                  + " sampleEvery, with its weight; all slower allocations.")
          .withAlias("rdma_mem_pool_alloc_latency");

  static final MetricDescriptor THREAD_CACHE_HIT_RATIO =
      gauge(
              "rdma4j_pool_thread_cache_hit_ratio",
              "Share of all allocations so far that the thread's own cache served, 1 before"
                  + " the first.")
          .withAlias("rdma_mem_pool_hit_rate");

  static final MetricDescriptor SHARED_HIT_RATIO =
      gauge(
          "rdma4j_pool_shared_hit_ratio",
          "Share of all allocations so far that the shared lists served.");

  static final MetricDescriptor FALLBACK_RATIO =
      gauge(
          "rdma4j_pool_fallback_ratio",
          "Share of all allocations so far that registered a block of their own.");

  static final MetricDescriptor FALLBACKS =
      counter(
              "rdma4j_pool_fallbacks_total",
              "Allocations that registered a block of their own, since none was free.")
          .withAlias("rdma_mem_pool_fallback_count");

  static final MetricDescriptor ADOPTIONS =
      counter(
          "rdma4j_pool_adoptions_total",
          "Blocks registered for one request that serve everybody since its release.");

  static final MetricDescriptor FRAGMENTATION_RATIO =
      gauge("rdma4j_pool_fragmentation_ratio", "1 - used / registered bytes, 0 for an empty pool.")
          .withAlias("rdma_mem_pool_fragmentation");

  static final MetricDescriptor REGISTERED_BYTES =
      gauge(
          "rdma4j_pool_registered_bytes",
          "Bytes of registered blocks: the sum of rdma4j_pool_bytes over all states.",
          SIZE_CLASS,
          NODE);

  static final MetricDescriptor BYTES =
      gauge(
          "rdma4j_pool_bytes",
          "Bytes of registered blocks: used, cached by threads, free in shared lists, or"
              + " pending deregistration.",
          SIZE_CLASS,
          NODE,
          "state");

  static final MetricDescriptor LEAVING_BYTES =
      gauge(
          "rdma4j_pool_leaving_bytes",
          "Bytes of slabs out of the pool that a device has not forgotten yet.",
          SIZE_CLASS,
          NODE);

  static final MetricDescriptor MAX_BYTES = gauge("rdma4j_pool_max_bytes", "The byte budget.");

  static final MetricDescriptor BUDGETED_BYTES =
      gauge(
          "rdma4j_pool_budgeted_bytes",
          "Bytes of the budget taken: whole slabs, those being registered and those leaving"
              + " included.");

  static final MetricDescriptor SLABS =
      gauge("rdma4j_pool_slabs", "Slabs registered now.", SIZE_CLASS);

  static final MetricDescriptor REGISTER_SECONDS =
      histogram(
              "rdma4j_pool_register_seconds",
              "Time of each registration of a slab with a device that succeeded.")
          .withAlias("rdma_reg_mr_duration");

  static final MetricDescriptor DEREGISTER_SECONDS =
      histogram("rdma4j_pool_deregister_seconds", "Time of each deregistration that succeeded.");

  static final MetricDescriptor REGISTRATIONS =
      counter("rdma4j_pool_registrations_total", "Registrations of a slab with a device.");

  static final MetricDescriptor DEREGISTRATIONS =
      counter(
          "rdma4j_pool_deregistrations_total", "Registrations that a device was made to forget.");

  static final MetricDescriptor REGISTRATION_FAILURES =
      counter("rdma4j_pool_registration_failures_total", "Registrations that a device refused.");

  static final MetricDescriptor DEREGISTRATION_FAILURES =
      counter(
          "rdma4j_pool_deregistration_failures_total",
          "Deregistrations that a device refused; each is tried again.");

  static final MetricDescriptor GROWTHS =
      counter(
          "rdma4j_pool_growths_total",
          "Slabs added on demand or ahead of it, initial ones not counted.",
          SIZE_CLASS);

  static final MetricDescriptor TRIMS =
      counter(
          "rdma4j_pool_trims_total",
          "Slabs that left, idle or to make room for another class.",
          SIZE_CLASS);

  static final MetricDescriptor REVIVALS =
      counter("rdma4j_pool_revivals_total", "Pending slabs that were wanted again.", SIZE_CLASS);

  static final MetricDescriptor STEALS =
      counter(
          "rdma4j_pool_steals_total",
          "Times blocks were taken back from another thread's cache, none being free"
              + " elsewhere.",
          SIZE_CLASS);

  static final MetricDescriptor CROSS_NODE_BLOCKS =
      counter(
          "rdma4j_pool_cross_node_blocks_total",
          "Blocks taken from the list of another NUMA node than the caller's nearest.",
          SIZE_CLASS);

  static final MetricDescriptor EXHAUSTED =
      counter(
          "rdma4j_pool_exhausted_total",
          "Allocations refused because the budget was spent.",
          SIZE_CLASS);

  static final MetricDescriptor WAITERS =
      gauge("rdma4j_pool_waiters", "Threads that wait for a block.", SIZE_CLASS);

  static final MetricDescriptor REFUSED_RELEASES =
      counter(
          "rdma4j_pool_refused_releases_total",
          "Releases of what was not on lease: double, stale or another pool's.");

  static final MetricDescriptor QUARANTINED_BLOCKS =
      gauge(
          "rdma4j_pool_quarantined_blocks",
          "Blocks in use that nobody may touch before their peer can not reach them any more.");

  static final MetricDescriptor THREAD_CACHES =
      gauge("rdma4j_pool_thread_caches", "Caches of live threads.");

  static final MetricDescriptor LARGE_BYTES =
      gauge(
          "rdma4j_pool_large_bytes",
          "Bytes of objects above the largest block size: used, idle, pending deregistration, or"
              + " leaving a device; all but the last count towards the budget.",
          "state");

  static final MetricDescriptor LARGE_OBJECTS =
      gauge("rdma4j_pool_large_objects", "Large objects registered now, or being registered.");

  static final MetricDescriptor LARGE_REQUESTS =
      counter(
          "rdma4j_pool_large_requests_total",
          "Large objects asked for: registered already (hit), registered for the request (miss),"
              + " refused by the budget (exhausted) or by a device (failed).",
          "result");

  static final MetricDescriptor LARGE_EXPANSIONS =
      counter(
          "rdma4j_pool_large_expansions_total",
          "Large objects that the background tried to register ahead of a request.");

  static final MetricDescriptor LARGE_TRIMS =
      counter("rdma4j_pool_large_trims_total", "Large objects given back.");

  /** All of them, in the order of the documents. */
  static final List<MetricDescriptor> ALL =
      List.of(
          ALLOCATIONS,
          RELEASES,
          ALLOCATION_SECONDS,
          THREAD_CACHE_HIT_RATIO,
          SHARED_HIT_RATIO,
          FALLBACK_RATIO,
          FALLBACKS,
          ADOPTIONS,
          FRAGMENTATION_RATIO,
          REGISTERED_BYTES,
          BYTES,
          LEAVING_BYTES,
          MAX_BYTES,
          BUDGETED_BYTES,
          SLABS,
          REGISTER_SECONDS,
          DEREGISTER_SECONDS,
          REGISTRATIONS,
          DEREGISTRATIONS,
          REGISTRATION_FAILURES,
          DEREGISTRATION_FAILURES,
          GROWTHS,
          TRIMS,
          REVIVALS,
          STEALS,
          CROSS_NODE_BLOCKS,
          EXHAUSTED,
          WAITERS,
          REFUSED_RELEASES,
          QUARANTINED_BLOCKS,
          THREAD_CACHES,
          LARGE_BYTES,
          LARGE_OBJECTS,
          LARGE_REQUESTS,
          LARGE_EXPANSIONS,
          LARGE_TRIMS);

  private PoolMetric() {}
}
