package io.rdma4j.lab;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.RemotePath;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/** Two queue pairs of one InfiniBand or RoCE device, connected to each other by hand. */
final class Loopback implements AutoCloseable {
  static final int DEPTH = 16;
  static final int BUFFER_BYTES = 8192;
  static final int ALL =
      Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC;

  final ProtectionDomain domain;
  final Side a;
  final Side b;

  Loopback(Device device) {
    domain = device.allocateProtectionDomain();
    a = new Side(device, domain);
    b = new Side(device, domain);
    connect(device, a.queuePair, b.queuePair);
    connect(device, b.queuePair, a.queuePair);
  }

  private static void connect(Device device, QueuePair from, QueuePair to) {
    int gidIndex = ipv4GidIndex(device);
    RemotePath path =
        new RemotePath(1, gidIndex, device.gid(1, gidIndex), 0, to.number(), 1024, 0, 0, 14, 7, 7);
    from.toInit(1, ALL);
    from.toReadyToReceive(path);
    from.toReadyToSend(path);
  }

  /** Returns the index of the RoCEv2 GID that holds an IPv4 address. */
  static int ipv4GidIndex(Device device) {
    byte[] mappedPrefix = new byte[12];
    mappedPrefix[10] = -1;
    mappedPrefix[11] = -1;
    int length = device.port(1).gidTableLength();
    for (int i = 0; i < length; i++) {
      if (Arrays.equals(Arrays.copyOf(device.gid(1, i), 12), mappedPrefix)) {
        return i;
      }
    }
    throw new AssertionError(device.name() + " has no IPv4 GID among " + length);
  }

  @Override
  public void close() {
    domain.close();
    a.close();
    b.close();
  }

  /** One queue pair with its completion queue, memory and completion batch. */
  static final class Side implements AutoCloseable {
    final Arena arena = Arena.ofShared();
    final MemorySegment memory = arena.allocate(BUFFER_BYTES, 4096);
    final Completions batch = new Completions(DEPTH);
    final CompletionQueue completionQueue;
    final MemoryRegion region;
    final QueuePair queuePair;

    Side(Device device, ProtectionDomain domain) {
      completionQueue = device.createCompletionQueue(4 * DEPTH, null, 0);
      region = domain.registerMemory(memory.address(), memory.byteSize(), ALL);
      queuePair =
          domain.createQueuePair(
              new QueuePairConfig(completionQueue, completionQueue, DEPTH, DEPTH, 2, 2, 64, null));
    }

    /** Polls until something is there; returns how many. */
    int await() {
      long deadlineNs = System.nanoTime() + 10_000_000_000L;
      while (System.nanoTime() < deadlineNs) {
        int polled = completionQueue.poll(batch);
        if (polled > 0) {
          return polled;
        }
        Thread.onSpinWait();
      }
      throw new AssertionError("no completion of " + queuePair + " in 10 s");
    }

    @Override
    public void close() {
      completionQueue.close();
      batch.close();
      arena.close();
    }
  }
}
