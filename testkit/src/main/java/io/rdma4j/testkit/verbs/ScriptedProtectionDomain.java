package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.SharedReceiveQueue;
import java.util.LinkedHashSet;
import java.util.Set;

/** A protection domain of a scripted device. */
final class ScriptedProtectionDomain implements ProtectionDomain {
  final ScriptedDevice device;
  private final Wire wire;
  private final Set<ScriptedMemoryRegion> regions = new LinkedHashSet<>();
  private final Set<ScriptedQueuePair> queuePairs = new LinkedHashSet<>();
  private final Set<ScriptedSharedReceiveQueue> sharedQueues = new LinkedHashSet<>();
  private boolean closed;

  ScriptedProtectionDomain(ScriptedDevice device) {
    this.device = device;
    this.wire = device.wire;
    wire.ledger.created(Ledger.Kind.PROTECTION_DOMAIN);
  }

  @Override
  public Device device() {
    return device;
  }

  @Override
  public MemoryRegion registerMemory(long address, long lengthBytes, long iova, int access) {
    if (lengthBytes < 1) {
      throw new IllegalArgumentException(
          "a registration needs lengthBytes >= 1, not " + lengthBytes);
    }
    int remoteWrite = Access.REMOTE_WRITE | Access.REMOTE_ATOMIC;
    if ((access & remoteWrite) != 0 && (access & Access.LOCAL_WRITE) == 0) {
      throw new IllegalArgumentException("remote write and atomic access need local write access");
    }
    synchronized (wire) {
      wire.faults.enter("ibv_reg_mr", device);
      RegionTable table = device.regions;
      table.checkRoom(address, lengthBytes);
      var region =
          new ScriptedMemoryRegion(
              this,
              address,
              lengthBytes,
              iova,
              access,
              wire.nextNumber(),
              table.generationAt(address));
      table.add(region);
      regions.add(region);
      wire.ledger.registered(lengthBytes, access);
      wire.ledger.created(Ledger.Kind.MEMORY_REGION);
      return region;
    }
  }

  void forget(ScriptedMemoryRegion region) {
    synchronized (wire) {
      regions.remove(region);
      device.regions.remove(region);
      wire.ledger.deregistered(region.address());
      wire.ledger.destroyed(Ledger.Kind.MEMORY_REGION);
    }
  }

  @Override
  public QueuePair createQueuePair(QueuePairConfig config) {
    return createQueuePair("ibv_create_qp", config);
  }

  ScriptedQueuePair createQueuePair(String call, QueuePairConfig config) {
    synchronized (wire) {
      wire.faults.enter(call, device);
      device.checkQueuePair(call, config);
      var queuePair = new ScriptedQueuePair(this, config);
      queuePairs.add(queuePair);
      return queuePair;
    }
  }

  Set<ScriptedQueuePair> queuePairs() {
    return queuePairs;
  }

  void forget(ScriptedQueuePair queuePair) {
    queuePairs.remove(queuePair);
  }

  @Override
  public SharedReceiveQueue createSharedReceiveQueue(int maxWorkRequests, int maxSge) {
    synchronized (wire) {
      wire.faults.enter("ibv_create_srq", device);
      var queue = new ScriptedSharedReceiveQueue(this, maxWorkRequests, maxSge);
      sharedQueues.add(queue);
      return queue;
    }
  }

  Set<ScriptedSharedReceiveQueue> sharedReceiveQueues() {
    return sharedQueues;
  }

  void forget(ScriptedSharedReceiveQueue queue) {
    sharedQueues.remove(queue);
  }

  @Override
  public void close() {
    synchronized (wire) {
      if (closed) {
        return;
      }
      closed = true;
      queuePairs.stream().toList().forEach(ScriptedQueuePair::close);
      sharedQueues.stream().toList().forEach(ScriptedSharedReceiveQueue::close);
      for (ScriptedMemoryRegion region : regions.stream().toList()) {
        region.close();
      }
      if (!regions.isEmpty()) {
        closed = false;
        throw Faults.failure(
            "ibv_dealloc_pd", Errno.EBUSY, regions.size() + " regions with work in flight");
      }
      device.forget(this);
      wire.ledger.destroyed(Ledger.Kind.PROTECTION_DOMAIN);
    }
  }
}
