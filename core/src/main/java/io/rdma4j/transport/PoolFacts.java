package io.rdma4j.transport;

import io.rdma4j.diagnosis.Facts;
import io.rdma4j.os.NumaTopology;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.status.Distribution;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What root-cause rules learn of the pool: how much it has pinned, how long registrations of the
 * last ten seconds took, and how much of it is far from the devices. One thread.
 */
final class PoolFacts {
  private static final long WINDOW_NS = 10_000_000_000L;
  private static final double NS_PER_MS = 1e6;

  private record Reading(long ns, Distribution registrationTimes) {}

  /** Where memory is near to a device; empty when no device says where it is. */
  private final Set<Integer> deviceNodes;

  /** What changed, oldest first; the first one may be older than the window. */
  private final ArrayDeque<Reading> readings = new ArrayDeque<>();

  /**
   * Starts to look.
   *
   * @param root the machine, or a copied tree
   * @param devices kernel names of the devices that know the pool's memory
   */
  PoolFacts(SystemRoot root, List<String> devices) {
    deviceNodes =
        devices.stream()
            .map(device -> NumaTopology.nodeOfDevice(root, device))
            .filter(node -> node != NumaTopology.UNKNOWN)
            .collect(Collectors.toUnmodifiableSet());
  }

  /** Adds the facts of this moment. */
  void addTo(Facts.Builder facts, PoolStatistics pool, long nowNs) {
    facts.set("config.pinned_bytes", (double) pool.registeredBytes());
    addRegistrations(facts, pool.registrationTimes(), nowNs);
    addPlacement(facts, pool);
  }

  private void addRegistrations(Facts.Builder facts, Distribution all, long nowNs) {
    if (readings.isEmpty() || readings.getLast().registrationTimes.count() != all.count()) {
      readings.addLast(new Reading(nowNs, all));
    }
    Reading first = readings.removeFirst();
    while (!readings.isEmpty() && nowNs - readings.getFirst().ns >= WINDOW_NS) {
      first = readings.removeFirst();
    }
    readings.addFirst(first);
    Distribution lately = all.since(first.registrationTimes);
    facts.set("app.registrations", (double) lately.count());
    if (!lately.isEmpty()) {
      facts.set("app.register_p99_ms", lately.percentileNs(99) / NS_PER_MS);
    }
  }

  /** Unknown where the machine has one node, or does not tell. */
  private void addPlacement(Facts.Builder facts, PoolStatistics pool) {
    long near = 0;
    long far = 0;
    for (PoolStatistics.SizeClass c : pool.classes()) {
      for (PoolStatistics.Node node : c.nodes()) {
        long bytes = node.registeredBlocks() * c.blockBytes();
        if (deviceNodes.contains(node.node())) {
          near += bytes;
        } else if (node.node() != PoolStatistics.Node.UNKNOWN) {
          far += bytes;
        }
      }
    }
    if (!deviceNodes.isEmpty() && near + far > 0) {
      facts.set("app.other_node_ratio", (double) far / (near + far));
    }
  }
}
