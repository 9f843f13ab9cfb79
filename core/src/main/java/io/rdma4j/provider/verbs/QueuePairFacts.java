package io.rdma4j.provider.verbs;

import io.rdma4j.provider.QueuePairLimits;
import io.rdma4j.provider.QueuePairStatus;
import io.rdma4j.status.EventSubject;
import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;

/**
 * What can be told of an endpoint's queue pair: where it is, what was agreed on, and why there.
 *
 * <p>Changed by the set-up alone, before the endpoint is handed out; any thread reads.
 */
final class QueuePairFacts {
  private final String device;
  private final int port;
  private final int number;
  private final EventSubject subject;
  private String description;
  private QueuePairLimits limits;

  /**
   * Notes what was made.
   *
   * @param peer the peer's address, and what else is worth saying of the path
   */
  QueuePairFacts(String device, int port, QueuePair made, QueuePairConfig config, String peer) {
    this.device = device;
    this.port = port;
    number = made.number();
    subject = EventSubject.queuePair(device, port, number);
    description = "verbs " + device + " port " + port + " to " + peer;
    limits =
        new QueuePairLimits(
            0,
            -1,
            config.maxSendWorkRequests(),
            config.maxReceiveWorkRequests(),
            config.sendQueue().capacity(),
            config.maxSendSge(),
            made.maxInlineBytes(),
            0,
            0);
  }

  /** Notes what it was connected with, and why over these ports. */
  void connected(ConnectedPath path, PortPair ports) {
    limits =
        new QueuePairLimits(
            path.mtuBytes(),
            path.gidIndex(),
            limits.sendRequests(),
            limits.receiveRequests(),
            limits.completions(),
            limits.gatherEntries(),
            limits.inlineBytes(),
            path.readsStarted(),
            path.readsServed());
    add((path.mtuBytes() == 0 ? "" : "MTU " + path.mtuBytes() + ", ") + ports.reason());
  }

  /** Adds to the description. */
  void add(String remark) {
    description += ", " + remark;
  }

  String device() {
    return device;
  }

  int port() {
    return port;
  }

  EventSubject subject() {
    return subject;
  }

  String description() {
    return description;
  }

  QueuePairStatus status(String state) {
    return new QueuePairStatus(number, state, port, limits);
  }

  @Override
  public String toString() {
    return "queue pair " + number + ", " + description;
  }
}
