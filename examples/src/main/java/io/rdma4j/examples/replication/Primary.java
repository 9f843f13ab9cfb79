package io.rdma4j.examples.replication;

import io.rdma4j.pool.LargeBuffer;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Appends records to its log and has replicas copy them. A record is committed once a majority,
 * this one included, has it in memory.
 *
 * <p>Any thread may append and commit. Who is primary is decided elsewhere: there must be one.
 */
final class Primary implements AutoCloseable {
  private final Node node;
  private final LargeBuffer memory;
  private final CommitLog log;
  private final List<ReplicaLink> links;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final ReentrantLock lock = new ReentrantLock();

  /** Something below has changed: the log's end, what a replica has, the end of it all. */
  private final Condition changed = lock.newCondition();

  private boolean closed;

  /** Starts to follow the replicas, which need not be there yet. */
  Primary(NodeConfig.Builder config, long capacityBytes, List<InetSocketAddress> replicas) {
    node = Node.start(config.build());
    try {
      // The pool's memory is registered, so the device reads the log where it lies.
      memory = node.pool().allocateLarge(capacityBytes);
    } catch (RuntimeException e) {
      node.close();
      throw e;
    }
    log = new CommitLog(memory.segment().asSlice(0, capacityBytes));
    links = replicas.stream().map(address -> new ReplicaLink(this, node, address)).toList();
    links.forEach(threads::execute);
  }

  CommitLog log() {
    return log;
  }

  List<ReplicaLink> links() {
    return links;
  }

  /** Appends a record; returns the position to {@link #commit}. */
  long append(byte[] payload) {
    lock.lock();
    try {
      long end = log.append(payload);
      changed.signalAll();
      return end;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until a majority has everything below a position.
   *
   * @throws TimeoutException naming what each replica has
   */
  void commit(long position, Duration timeout) throws TimeoutException, InterruptedException {
    int majority = (links.size() + 1) / 2 + 1;
    await(position, majority - 1, timeout);
  }

  /** Waits until every replica has everything below a position. */
  void commitWithAll(long position, Duration timeout)
      throws TimeoutException, InterruptedException {
    await(position, links.size(), timeout);
  }

  private void await(long position, int replicas, Duration timeout)
      throws TimeoutException, InterruptedException {
    lock.lock();
    try {
      long leftNs = timeout.toNanos();
      while (links.stream().filter(link -> link.has(position)).count() < replicas) {
        if (leftNs <= 0) {
          throw new TimeoutException(
              "position " + position + " is not with " + replicas + " of " + links);
        }
        leftNs = changed.awaitNanos(leftNs);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Waits for records behind a position; false when the link has no more use for them. */
  boolean awaitRecords(ReplicaLink link, long position) throws InterruptedException {
    lock.lock();
    try {
      while (!closed && link.isUp() && log.end() == position) {
        changed.await();
      }
      return !closed && link.isUp();
    } finally {
      lock.unlock();
    }
  }

  /** Waits before the next attempt; false when there is to be none. */
  boolean pause(Duration time) throws InterruptedException {
    lock.lock();
    try {
      long leftNs = time.toNanos();
      while (!closed && leftNs > 0) {
        leftNs = changed.awaitNanos(leftNs);
      }
      return !closed;
    } finally {
      lock.unlock();
    }
  }

  /** Changes what waiting threads look at. */
  void change(Runnable change) {
    lock.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Ends the links, then the node, and then gives the memory back. */
  @Override
  public void close() {
    change(() -> closed = true);
    threads.close();
    memory.close();
    node.close();
  }
}
