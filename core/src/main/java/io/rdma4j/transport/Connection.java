package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.transport.Bootstrap.Established;
import io.rdma4j.transport.internal.PathNegotiation;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A connection to another node: ordered messages that keep their boundaries, and requests with
 * replies.
 *
 * <p>Sends may come from any thread. Messages are handed to the {@link ConnectionHandler} on the
 * thread that polls: the node's poller, or the caller of {@link Node#poll()}. Whoever got the
 * connection closes it; the node closes what is left.
 *
 * <p>{@link Sender}, {@link Receiver}, {@link Requester} and {@link Life} are its parts.
 */
public final class Connection implements AutoCloseable {
  private static final int MESSAGES_PER_POLL = 64;

  private final Node node;
  private final Poller poller;
  private final long id;
  private final Endpoint endpoint;
  private volatile ControlSocket control;
  private volatile PathChoice path;
  private volatile int pathChanges;
  private volatile @Nullable Resumption resumption;
  private final Sender sender;
  private final Receiver receiver;
  private final PendingRequests pending;
  private final Requester requester;
  private final Life life;

  Connection(
      Node node,
      Poller poller,
      long id,
      Endpoint endpoint,
      ControlSocket control,
      PathChoice path,
      ConnectionHandler handler) {
    this.node = node;
    this.poller = poller;
    this.id = id;
    this.endpoint = endpoint;
    this.control = control;
    this.path = path;
    sender = new Sender(endpoint, poller, node.pool(), node.registrarIndex(endpoint.registrar()));
    receiver = new Receiver(this, handler);
    pending = new PendingRequests(node);
    requester = new Requester(node, sender, pending, toString());
    life = new Life(this, endpoint, sender);
  }

  /**
   * Sends a pooled buffer: the device reads it where it lies (verbs), or it is copied once, into
   * the shared ring or the socket's buffer (shm, tcp).
   *
   * @return {@link SendResult}: on success the buffer has moved to the connection, which gives it
   *     back to the pool when the path is done with it, and the lease is empty; otherwise the
   *     caller still owns it
   * @throws MessageTooLargeException when it is longer than {@link #maxMessageBytes()}
   */
  public long send(RegisteredBuffer buffer) {
    return sender.sendBuffer(MessageType.DATA, 0, buffer);
  }

  /**
   * Sends a message by copy; the memory is free again on return.
   *
   * @param source heap or native memory
   * @return {@link SendResult}
   * @throws MessageTooLargeException when it is longer than {@link #maxMessageBytes()}
   */
  public long send(MemorySegment source, long offset, int lengthBytes) {
    return sender.sendCopy(MessageType.DATA, 0, source, offset, lengthBytes);
  }

  /**
   * Sends a request by copy and waits for its reply. On a node without pollers of its own the
   * caller polls while it waits.
   *
   * @return the reply, which the caller closes
   * @throws RequestFailedException when there is no reply within {@code timeoutNs}
   */
  public Reply request(MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    return requester.request(source, offset, lengthBytes, timeoutNs);
  }

  /**
   * Sends a request from a pooled buffer and waits for its reply. The buffer moves to the
   * connection when the request is sent; the lease tells: it is empty then, and still the caller's
   * otherwise.
   */
  public Reply request(RegisteredBuffer buffer, long timeoutNs) {
    return requester.request(buffer, timeoutNs);
  }

  /**
   * Sends a request by copy. The stage completes with the reply, which the receiver closes, or with
   * a {@link RequestFailedException}; on the polling thread, at the deadline on the node's
   * background thread, or on this one when the request is refused at once. Long continuations
   * belong on an executor ({@code thenApplyAsync}).
   */
  public CompletionStage<Reply> requestAsync(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    return requester.requestAsync(source, offset, lengthBytes, timeoutNs);
  }

  /** Answers a request by copy; {@code correlationId} is that of the {@link Message}. */
  public long reply(long correlationId, MemorySegment source, long offset, int lengthBytes) {
    return sender.sendCopy(MessageType.REPLY, correlationId, source, offset, lengthBytes);
  }

  /** Answers a request from a pooled buffer, which moves to the connection on success. */
  public long reply(long correlationId, RegisteredBuffer buffer) {
    return sender.sendBuffer(MessageType.REPLY, correlationId, buffer);
  }

  /** Returns the largest payload of one message. */
  public int maxMessageBytes() {
    return endpoint.maxMessageBytes();
  }

  /** Returns the path used, and why the others are not. */
  public PathChoice path() {
    return path;
  }

  /** Returns how often this connection has moved to another path. */
  public int pathChanges() {
    return pathChanges;
  }

  /** Returns the number of this connection within its node. */
  public long id() {
    return id;
  }

  /** Returns the peer's bootstrap address. */
  public InetSocketAddress peerAddress() {
    return control.peerAddress();
  }

  /** Returns true until either side closes or the path fails. */
  public boolean isOpen() {
    return sender.state() == ConnectionState.OPEN;
  }

  /** Returns the counters as they are now. */
  public ConnectionStatus status() {
    return new ConnectionStatus(
        id,
        control.peerAddress(),
        path,
        sender.state().name(),
        sender.messagesSent(),
        sender.bytesSent(),
        receiver.messagesReceived(),
        receiver.bytesReceived(),
        sender.backPressured(),
        pending.size(),
        receiver.handlerErrors());
  }

  /**
   * Closes in good order: what was sent before arrives, then both sides say goodbye. Waits for that
   * up to the node's close timeout; afterwards everything is given back in any case. Idempotent;
   * from a handler it only starts the closing.
   */
  @Override
  public void close() {
    sender.closedHere();
    life.startClosing();
    if (!node.isPollingThread()) {
      life.awaitClosed(false);
    }
  }

  /** One duty cycle. Polling thread only. Returns the work done. */
  int doWork() {
    ConnectionState before = sender.state();
    if (before == ConnectionState.CLOSED) {
      return 0;
    }
    receiver.announce();
    EndpointFailure suspected = life.suspicion();
    int work = endpoint.poll(receiver, MESSAGES_PER_POLL);
    return life.step(before, suspected, work);
  }

  /** Conductor only: heartbeats, silence, device events, deadlines of requests. */
  void housekeep(long nowNs) {
    if (sender.state() == ConnectionState.CLOSED) {
      return;
    }
    endpoint.housekeep(nowNs);
    pending.expire(nowNs);
    Resumption moving = resumption;
    if (moving != null) {
      moving.housekeep(nowNs);
    }
    if (endpoint instanceof ResumableEndpoint resumable && resumable.isSuspended()) {
      return;
    }
    if (isOpen() && control.heartbeatDue(nowNs) && !control.sendHeartbeat()) {
      sender.sendControl(MessageType.HEARTBEAT, 0);
    }
    long silentNs = control.silentNs(nowNs);
    if (silentNs > node.config().livenessTimeoutNs()) {
      suspect(
          new EndpointFailure(
              Kind.PEER_LOST,
              "nothing heard from " + peerAddress() + " for " + silentNs / 1_000_000 + " ms"));
    }
  }

  void startClosing() {
    life.startClosing();
  }

  /** Waits for the end through interrupts, for a node that is about to free what this uses. */
  void awaitClosedInAnyCase() {
    life.awaitClosed(true);
  }

  /** Ends a connection that no poller looks after any more. */
  void abandon(EndpointFailure reason) {
    life.finish(reason);
  }

  /** The peer seems gone: another path is looked for, or this is the end. */
  void suspect(EndpointFailure reason) {
    if (!(endpoint instanceof ResumableEndpoint resumable)
        || !resumable.requestSuspension(reason)) {
      life.suspect(reason);
    }
  }

  /** Gives back what a connection has that nobody gets to see. */
  void discard() {
    sender.close(PathNegotiation.discarding());
    control.close();
  }

  /** Lets this connection move to other paths. Before it is polled. */
  void resumeWith(Resumption moving) {
    resumption = moving;
  }

  @Nullable Resumption resumption() {
    return resumption;
  }

  /** A path has ended and is closed; the socket goes with it, so that the peer notices. Poller. */
  void pathEnded(EndpointFailure cause) {
    Resumption moving = resumption;
    if (moving != null) {
      moving.pathEnded(path.name(), cause);
    }
    control.close();
  }

  /** Hands a new path to the poller; false when the connection does not wait for one any more. */
  boolean moveTo(Established established, PathChoice choice, long peerDelivered) {
    ControlSocket socket = node.controlOf(established, choice);
    return endpoint instanceof ResumableEndpoint resumable
        && resumable.attach(
            established.result().endpoint(),
            peerDelivered,
            () -> {
              control = socket;
              path = choice;
              int before = pathChanges;
              pathChanges = before + 1;
              sender.registrarIndex(node.registrarIndex(endpoint.registrar()));
              node.countPathChange();
              node.watch(this);
            });
  }

  Node node() {
    return node;
  }

  Poller poller() {
    return poller;
  }

  ControlSocket control() {
    return control;
  }

  Receiver receiver() {
    return receiver;
  }

  PendingRequests pending() {
    return pending;
  }

  Life life() {
    return life;
  }

  @Override
  public String toString() {
    return "connection " + id + " to " + peerAddress() + " over " + path.description();
  }
}
