package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Moves a connection through its {@link ConnectionState}s: goodbyes, failures, a peer that seems
 * gone, deadlines, and who waits for the end.
 *
 * <p>Polling thread, where nothing else is said.
 */
final class Life {
  private static final Logger LOG = System.getLogger(Life.class.getName());

  /**
   * For how long nothing must come from a peer that seems gone: what it sent before has arrived,
   * but a device shows it at a time of its own.
   */
  private static final long GRACE_NS = 50_000_000L;

  private final Connection connection;
  private final Endpoint endpoint;
  private final Sender sender;
  private final CountDownLatch closed = new CountDownLatch(1);

  /**
   * Set by the conductor when the peer seems gone; the poller acts once nothing is left to read.
   */
  private volatile @Nullable EndpointFailure suspicion;

  /** Written by whoever starts to close, before the state moves. */
  private volatile long closeDeadlineNs;

  private @Nullable EndpointFailure failure;
  private boolean goodbyeSent;
  private boolean goodbyeReceived;

  /** Whether nothing has come since the peer seemed gone, and since when. */
  private boolean quiet;

  private long quietSinceNs;

  Life(Connection connection, Endpoint endpoint, Sender sender) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.sender = sender;
  }

  /**
   * Returns why the peer seems gone. To be read before a poll: what the peer sent before it went is
   * there by then, and goes first.
   */
  @Nullable EndpointFailure suspicion() {
    return suspicion;
  }

  /** Notes that the peer seems gone; the first reason counts. Any thread. */
  void suspect(EndpointFailure reason) {
    if (suspicion == null) {
      suspicion = reason;
    }
  }

  /** Notes that the path has failed; the first cause counts. */
  void failed(EndpointFailure cause) {
    if (failure == null) {
      failure = cause;
    }
  }

  void goodbyeReceived() {
    goodbyeReceived = true;
    startClosing();
  }

  /**
   * One step behind a poll.
   *
   * @param before the state before the poll
   * @param suspected the suspicion before the poll
   * @param work what the poll did
   * @return work with that of this step
   */
  int step(ConnectionState before, @Nullable EndpointFailure suspected, int work) {
    if (suspected != null) {
      judge(suspected, work);
    }
    if (failure != null) {
      finish(afterGoodbye(failure));
      return work + 1;
    }
    return before == ConnectionState.CLOSING ? work + closeStep() : work;
  }

  private void judge(EndpointFailure suspected, int work) {
    if (work > 0) {
      quiet = false;
      if (connection.control().carriesMessages()) {
        // The peer had spoken; it was this side that did not listen for a while.
        suspicion = null;
      }
      return;
    }
    long nowNs = connection.node().clockNs();
    if (!quiet) {
      quiet = true;
      quietSinceNs = nowNs;
    }
    if (failure == null && nowNs - quietSinceNs >= GRACE_NS) {
      failure = suspected;
    }
  }

  /** A peer that has said goodbye is not lost when its end of the path goes. */
  private EndpointFailure afterGoodbye(EndpointFailure cause) {
    return goodbyeReceived && cause.kind() == Kind.PEER_LOST
        ? new EndpointFailure(Kind.PEER_CLOSED, "the peer has closed the connection")
        : cause;
  }

  private int closeStep() {
    if (!goodbyeSent && !sender.keepsSome() && sender.sendControl(MessageType.GOODBYE, 0) >= 0) {
      goodbyeSent = true;
    }
    if (goodbyeSent && goodbyeReceived && endpoint.isFlushed()) {
      finish(new EndpointFailure(Kind.PEER_CLOSED, "closed in good order"));
      return 1;
    }
    if (connection.node().clockNs() - closeDeadlineNs >= 0) {
      connection.node().events().goodbyeUnanswered(connection);
      finish(new EndpointFailure(Kind.PEER_LOST, "the peer did not answer the goodbye in time"));
      return 1;
    }
    return 0;
  }

  /** Ends a connection, or does nothing when it has ended. */
  void finish(EndpointFailure reason) {
    if (sender.state() == ConnectionState.CLOSED) {
      return;
    }
    try {
      sender.close(connection.receiver());
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, connection + ": closing the path failed", e);
    }
    connection.remoteRequests().device().end(connection.receiver());
    connection.remoteKeys().end();
    connection.large().end(reason.message());
    if (reason.kind() == Kind.PEER_LOST) {
      connection.liveness().noteLoss();
    }
    connection.node().events().ended(connection, reason);
    if (reason.kind() == Kind.PEER_CLOSED) {
      connection.control().close();
    } else {
      connection.node().events().part(connection, connection.control());
    }
    connection.requests().failAll(reason.message());
    connection.replyStreams().cancelAll();
    connection.room().wakeAll();
    connection.node().forget(connection, reason.kind());
    try {
      connection.receiver().announceEnd(reason);
    } finally {
      closed.countDown();
    }
  }

  /** Starts the good end, or does nothing when it has started. Any thread. */
  void startClosing() {
    Node node = connection.node();
    if (sender.state() == ConnectionState.OPEN) {
      closeDeadlineNs = node.clockNs() + node.config().closeTimeoutNs();
      sender.startClosing();
    }
  }

  /**
   * Waits for the end. Not on a polling thread.
   *
   * @param throughInterrupts false to leave it to the poller to finish without this caller
   */
  void awaitClosed(boolean throughInterrupts) {
    Node node = connection.node();
    long limitNs = node.clockNs() + 2 * node.config().closeTimeoutNs();
    boolean interrupted = false;
    while (closed.getCount() > 0
        && limitNs - node.clockNs() > 0
        && (throughInterrupts || !interrupted)) {
      try {
        if (!pollUnlessPolled() && closed.await(10, TimeUnit.MILLISECONDS)) {
          break;
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (closed.getCount() > 0 && !interrupted) {
      throw new Rdma4jException(
          connection + " is still closing: its poller is stuck in a handler, or nobody polls");
    }
  }

  /** Polls when the node has no pollers of its own; false when they do it. */
  private boolean pollUnlessPolled() {
    Poller poller = connection.poller();
    if (poller.hasThread()) {
      return false;
    }
    if (poller.poll() == 0) {
      Thread.onSpinWait();
    }
    return true;
  }
}
