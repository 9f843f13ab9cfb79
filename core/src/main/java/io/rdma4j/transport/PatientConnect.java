package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;

/** Connects to a node that may not be there yet, with random waits between the attempts. */
final class PatientConnect {
  private final Node node;
  private final Backoff backoff;
  private final long deadlineNs;

  PatientConnect(Node node, Duration patience) {
    NodeConfig config = node.config();
    this.node = node;
    this.backoff =
        new Backoff(config.backoffBaseNs(), config.backoffCapNs(), new SplittableRandom());
    this.deadlineNs = node.clockNs() + patience.toNanos();
  }

  Connection connect(InetSocketAddress peer, ConnectionHandler handler) {
    for (int attempts = 1; ; attempts++) {
      try {
        return node.connect(peer, handler);
      } catch (ConnectFailedException e) {
        long wakeNs = node.clockNs() + backoff.nextDelayNs();
        if (wakeNs - deadlineNs > 0) {
          throw new ConnectFailedException(
              "given up after %d attempts, the last: %s".formatted(attempts, e.getMessage()), e);
        }
        sleepUntil(wakeNs, peer);
      }
    }
  }

  private void sleepUntil(long wakeNs, InetSocketAddress peer) {
    long leftNs;
    while ((leftNs = wakeNs - node.clockNs()) > 0) {
      LockSupport.parkNanos(this, leftNs);
      if (Thread.interrupted()) {
        Thread.currentThread().interrupt();
        throw new Rdma4jException("interrupted before the next attempt to connect to " + peer);
      }
    }
  }
}
