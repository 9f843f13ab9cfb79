package io.rdma4j.provider.verbs;

import io.rdma4j.os.NumaTopology;
import io.rdma4j.os.SystemRoot;

/**
 * How far devices are from the processors that this process may run on.
 *
 * <p>A process that may run on several NUMA nodes is at home on none: then no device is nearer than
 * another, and other things decide. With taskset(1), numactl(8) or a cpuset it is at home on one.
 */
record DeviceDistances(SystemRoot host, NumaTopology topology, int home) {
  static DeviceDistances read(SystemRoot host) {
    NumaTopology topology = NumaTopology.read(host);
    return new DeviceDistances(host, topology, topology.nodeOfProcess(host));
  }

  /** Returns the distance of {@link PortFacts}. */
  int of(String device) {
    int distance = topology.distance(home, NumaTopology.nodeOfDevice(host, device));
    return distance == NumaTopology.UNKNOWN
        ? PortFacts.UNKNOWN_DISTANCE
        : Math.min(distance, PortFacts.UNKNOWN_DISTANCE);
  }
}
