package io.rdma4j.examples.replication;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.ConnectFailedException;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.RegionDescriptor;
import io.rdma4j.transport.RemoteOperation;
import io.rdma4j.transport.Reply;
import io.rdma4j.transport.RequestFailedException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Keeps one replica up to date: connects, asks what it has, writes what is missing into its memory,
 * and again from the start when the connection ends. A thread of its own, which sleeps while there
 * is nothing to ship; what is appended meanwhile goes in one write.
 */
final class ReplicaLink implements ConnectionHandler, Runnable {
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(10);
  private static final Duration PAUSE = Duration.ofMillis(100);
  private static final long RETRY_NS = 20_000;

  private final Primary primary;
  private final Node node;
  private final InetSocketAddress address;

  // Guarded by the primary's lock.
  private boolean up;
  private long acknowledged;
  private String state = "not connected yet";

  ReplicaLink(Primary primary, Node node, InetSocketAddress address) {
    this.primary = primary;
    this.node = node;
    this.address = address;
  }

  /** Under the primary's lock. */
  boolean has(long position) {
    return up && acknowledged >= position;
  }

  /** Under the primary's lock. */
  boolean isUp() {
    return up;
  }

  @Override
  public void run() {
    try {
      do {
        try (Connection connection = node.connect(address, this)) {
          follow(connection);
        } catch (ConnectFailedException | RequestFailedException e) {
          down(e.toString());
        }
      } while (primary.pause(PAUSE));
    } catch (InterruptedException e) {
      down("interrupted");
    }
  }

  private void follow(Connection connection) throws InterruptedException {
    RegionDescriptor region;
    long shipped;
    try (Reply reply = ask(connection, Replica.OPEN)) {
      region = RegionDescriptor.read(reply.memory(), 0);
      shipped = reply.memory().get(Replica.LONG, RegionDescriptor.BYTES);
    }
    CommitLog log = primary.log();
    if (shipped > log.end() || region.lengthBytes() < log.memory().byteSize()) {
      down(
          "it has %d bytes of %d, this log %d of %d: not a replica of this log"
              .formatted(shipped, region.lengthBytes(), log.end(), log.memory().byteSize()));
      return;
    }
    acknowledge(shipped, "follows over " + connection.path());
    RemoteOperation write = connection.newRemoteOperation(null);
    while (primary.awaitRecords(this, shipped)) {
      long end = Math.min(log.end(), shipped + mostBytes(write));
      ship(write, region, shipped, end);
      shipped = end;
      acknowledge(shipped, state);
    }
  }

  private static long mostBytes(RemoteOperation write) {
    return write.maxTransferBytes() / CommitLog.UNIT_BYTES * (long) CommitLog.UNIT_BYTES;
  }

  /** Returns once the bytes are in the replica's memory: that is the acknowledgement. */
  private void ship(RemoteOperation write, RegionDescriptor region, long start, long end) {
    MemorySegment log = primary.log().memory();
    int lengthBytes = (int) (end - start);
    int immediate = CommitLog.toImmediate(end);
    long started;
    while ((started =
            write.writeImmediate(region, start, log, start, lengthBytes, immediate, TIMEOUT_NS))
        == SendResult.BACK_PRESSURED) {
      LockSupport.parkNanos(RETRY_NS);
    }
    if (started < 0) {
      throw new RequestFailedException(
          RequestFailedException.Cause.DISCONNECTED, SendResult.nameOf(started));
    }
    write.await();
  }

  private void acknowledge(long position, String text) {
    primary.change(
        () -> {
          up = true;
          acknowledged = position;
          state = text;
        });
  }

  private void down(String why) {
    primary.change(
        () -> {
          up = false;
          state = why;
        });
  }

  /** Asks a question of one byte. */
  private static Reply ask(Connection connection, byte kind) {
    return connection.request(MemorySegment.ofArray(new byte[] {kind}), 0, 1, TIMEOUT_NS);
  }

  /** Returns the number of records that the replica has found whole, on a connection of its own. */
  long verify() {
    try (Connection connection = node.connect(address, (from, message) -> {});
        Reply reply = ask(connection, Replica.VERIFY)) {
      return reply.memory().get(Replica.LONG, 0);
    }
  }

  /** Replicas send nothing by themselves. */
  @Override
  public void onMessage(Connection connection, Message message) {}

  /** Wakes the thread if it waits for records. */
  @Override
  public void onDisconnected(Connection connection, EndpointFailure reason) {
    down(reason.toString());
  }

  @Override
  public String toString() {
    return "replica %s, %s, acknowledged %d (%s)"
        .formatted(address, up ? "up" : "down", acknowledged, state);
  }
}
