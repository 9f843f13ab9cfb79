package io.rdma4j.host;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the control groups of a process allow, ancestors included: the smallest limit counts.
 *
 * @param version 1 or 2; null when no control group was found
 * @param memoryMaxBytes memory limit, which pinned memory counts against; {@link
 *     LimitsReport#UNLIMITED}, or null when unknown
 * @param memoryUsedBytes memory in use in the group with that limit, null when unknown
 * @param rdma quotas of the rdma controller by device; empty when there are none
 */
public record CgroupReport(
    @Nullable Integer version,
    @Nullable Long memoryMaxBytes,
    @Nullable Long memoryUsedBytes,
    List<RdmaQuota> rdma) {

  /** Copies the list. */
  public CgroupReport {
    rdma = List.copyOf(rdma);
  }

  /**
   * Quota of the rdma controller for one device (Linux, admin-guide/cgroup-v1/rdma.rst): a handle
   * is an opened device, an object is a queue pair, completion queue, memory region or protection
   * domain.
   *
   * @param device kernel name of the device
   * @param maxHandles handles allowed, {@link LimitsReport#UNLIMITED} for no limit
   * @param maxObjects objects allowed, {@link LimitsReport#UNLIMITED} for no limit
   * @param usedHandles handles in use
   * @param usedObjects objects in use
   */
  public record RdmaQuota(
      String device, long maxHandles, long maxObjects, long usedHandles, long usedObjects) {}
}
