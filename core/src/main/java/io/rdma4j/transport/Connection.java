package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.Rest;
import io.rdma4j.status.EventSubject;
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
  private final long madeNs;
  private final Sender sender;
  private final CurrentPath current;
  private final Liveness liveness;
  private final Receiver receiver;
  private final RequestTable requests;
  private final Room room;
  private final Requester requester;
  private final ReplyStreams replyStreams;
  private final RemoteKeys remoteKeys;
  private final RemoteRequests remoteRequests;
  private final RemoteExecutor remoteExecutor;
  private final LargeTransfers large;
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
    madeNs = node.clockNs();
    sender =
        new Sender(
            endpoint, control, poller, node.pool(), node.registrarIndex(endpoint.registrar()));
    current = new CurrentPath(this, endpoint, sender, control, path);
    liveness = new Liveness(this, sender);
    receiver = new Receiver(this, endpoint, node.pool(), handler, node.config().copyBreakBytes());
    requests = new RequestTable(node.config().requestWindow(), node.requestTimes());
    room = new Room(node, poller, sender, requests);
    requester = new Requester(this, sender, room, requests);
    replyStreams = new ReplyStreams(node, sender, room);
    remoteKeys = new RemoteKeys(this, endpoint, sender);
    remoteRequests = new RemoteRequests(node, sender, requests, remoteKeys);
    remoteExecutor = new RemoteExecutor(sender, node.exports());
    large = new LargeTransfers(this, endpoint, sender);
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
   * Sends a message by copy; waits for room while the path has none. On a node without pollers of
   * its own the caller polls while it waits.
   *
   * @return {@link SendResult}; BACK_PRESSURED when there was no room within {@code timeoutNs}
   * @throws MessageTooLargeException when it is longer than {@link #maxMessageBytes()}
   * @throws IllegalStateException in a handler, which would wait for its own poller
   * @throws io.rdma4j.Rdma4jException when interrupted
   */
  public long send(MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    long deadlineNs = requester.deadline(timeoutNs);
    long result;
    do {
      result = send(source, offset, lengthBytes);
    } while (room.shouldTryAgain(result, deadlineNs));
    return result;
  }

  /** Sends a pooled buffer; waits for room as {@link #send(MemorySegment, long, int, long)}. */
  public long send(RegisteredBuffer buffer, long timeoutNs) {
    long deadlineNs = requester.deadline(timeoutNs);
    long result;
    do {
      result = send(buffer);
    } while (room.shouldTryAgain(result, deadlineNs));
    return result;
  }

  /**
   * Calls back once when the path has room again, or the connection ends: for a sender that was
   * {@link SendResult#BACK_PRESSURED} and does not wait. There is no order among callbacks and
   * waiting threads, and another may take the room first.
   *
   * @param callback short; runs on the polling thread
   * @return false when the connection is closing or closed, and there will be no call
   */
  public boolean whenReady(Runnable callback) {
    return room.whenReady(callback);
  }

  /**
   * Sends a message of up to {@link LargeTransfer#MAX_BYTES}, which the peer's {@link
   * ConnectionHandler#onLarge} is asked to take first. On {@code verbs}, except iWARP, the
   * receiver's device reads the source where it lies, into the target, without a copy; elsewhere
   * each side copies once, into the path and out of it. Pieces of large messages take turns with
   * each other, and leave room for others. There is no order between large and other messages.
   *
   * @param source native memory that polling threads can access; belongs to the transfer until its
   *     end is told, and is not read after that
   * @param tag for the receiver, to tell what it is
   * @param timeoutNs for the whole, the receiver's decision included
   * @param handler hears the end; null for a thread that waits instead
   * @return never waits; the offer goes out when the path has room
   * @throws LargeTransferException when the connection is closed, or sends too many already
   */
  public LargeSend sendLarge(
      MemorySegment source, long tag, long timeoutNs, @Nullable LargeHandler handler) {
    return large.sends().start(source, tag, requester.deadline(timeoutNs), handler);
  }

  /**
   * Returns an operation on the peer's exported memory, to be used again and again.
   *
   * @param handler hears each end; null for a thread that waits instead
   */
  public RemoteOperation newRemoteOperation(@Nullable RemoteHandler handler) {
    return new RemoteOperation(this, remoteRequests, handler);
  }

  // ---- requests --------------------------------------------------------------------------------

  /**
   * Sends a request by copy and waits for its reply. A thread that waits is parked, so thousands of
   * virtual threads may wait at once; those beyond {@link NodeConfig#requestWindow()} wait for a
   * place first. On a node without pollers of its own the caller polls while it waits.
   *
   * <p>The request is handled at most once. When there is no reply the peer is told that nobody
   * waits any more, and a reply that comes all the same is dropped.
   *
   * @return the reply, which the caller closes
   * @throws RequestFailedException when there is no reply within {@code timeoutNs}
   * @throws IllegalStateException in a handler, which would wait for its own poller
   * @throws io.rdma4j.Rdma4jException when interrupted while waiting for room
   */
  public Reply request(MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    Reply reply = newReply();
    requester.request(source, offset, lengthBytes, timeoutNs, reply);
    return reply;
  }

  /**
   * As {@link #request(MemorySegment, long, int, long)}, into the caller's own reply; makes no
   * garbage.
   *
   * @param reply empty, from {@link #newReply()}; holds the answer afterwards
   */
  public void request(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs, Reply reply) {
    requester.request(source, offset, lengthBytes, timeoutNs, reply);
  }

  /**
   * Sends a request from a pooled buffer and waits for its reply. The buffer moves to the
   * connection when the request is sent; the lease tells: it is empty then, and still the caller's
   * otherwise.
   */
  public Reply request(RegisteredBuffer buffer, long timeoutNs) {
    Reply reply = newReply();
    requester.request(buffer, timeoutNs, reply);
    return reply;
  }

  /** As {@link #request(RegisteredBuffer, long)}, into the caller's own reply. */
  public void request(RegisteredBuffer buffer, long timeoutNs, Reply reply) {
    requester.request(buffer, timeoutNs, reply);
  }

  /** Returns an empty reply, to be filled by requests of this node. */
  public Reply newReply() {
    return new Reply(node.pool());
  }

  /**
   * Sends a request by copy, whose end the handler hears. Never waits, makes no garbage.
   *
   * @param context handed to the handler
   * @return the request's number, which is positive, for {@link #cancel}; 0 when the request has
   *     ended already, which the handler was told; or a negative {@link SendResult}: nothing was
   *     sent and the handler hears nothing
   */
  public long request(
      MemorySegment source,
      long offset,
      int lengthBytes,
      long timeoutNs,
      long context,
      ReplyHandler handler) {
    long deadlineNs = requester.deadline(timeoutNs);
    return requester.send(
        MessageType.REQUEST, source, offset, lengthBytes, deadlineNs, context, handler);
  }

  /**
   * As {@link #request(MemorySegment, long, int, long, long, ReplyHandler)}, from a pooled buffer,
   * which moves to the connection unless the result is negative.
   */
  public long request(RegisteredBuffer buffer, long timeoutNs, long context, ReplyHandler handler) {
    long deadlineNs = requester.deadline(timeoutNs);
    return requester.send(MessageType.REQUEST, buffer, deadlineNs, context, handler);
  }

  /**
   * Sends a request by copy. The stage completes with the reply, which the receiver closes, or with
   * a {@link RequestFailedException}; on the polling thread, at the deadline on the node's
   * background thread, or on this one when the request is refused at once. Long continuations
   * belong on an executor ({@code thenApplyAsync}). Cancelling the stage itself ({@code
   * toCompletableFuture().cancel}) gives the request up and tells the peer.
   */
  public CompletionStage<Reply> requestAsync(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    return requester.requestAsync(source, offset, lengthBytes, timeoutNs);
  }

  /**
   * As {@link #requestAsync(MemorySegment, long, int, long)}, from a pooled buffer; the lease is
   * empty when the request was sent.
   */
  public CompletionStage<Reply> requestAsync(RegisteredBuffer buffer, long timeoutNs) {
    return requester.requestAsync(buffer, timeoutNs);
  }

  /**
   * Sends a request by copy that may be answered in parts. The deadline covers the whole answer.
   *
   * @param parts how many the peer may send before it is {@linkplain #grant granted} more
   * @return as {@link #request(MemorySegment, long, int, long, long, ReplyHandler)}
   */
  public long requestStream(
      MemorySegment source,
      long offset,
      int lengthBytes,
      long timeoutNs,
      int parts,
      long context,
      StreamHandler handler) {
    long deadlineNs = requester.deadline(timeoutNs);
    return requester.stream(source, offset, lengthBytes, deadlineNs, parts, context, handler);
  }

  /**
   * Sends a request by copy whose answer a thread reads part by part.
   *
   * @param window parts that wait in pooled buffers here at most
   * @return to be closed by the caller
   * @throws RequestFailedException when it was not sent within {@code timeoutNs}, which covers the
   *     whole answer as well
   */
  public ReplyParts requestStream(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs, int window) {
    return requester.stream(source, offset, lengthBytes, timeoutNs, window);
  }

  /**
   * Allows the peer to send more parts of an answer; without effect when that has ended.
   *
   * @param requestId from {@link #requestStream} or {@link StreamHandler#onPart}
   * @param parts 1 to 65536
   */
  public void grant(long requestId, int parts) {
    requester.grant(requestId, parts);
  }

  /**
   * Gives a request up: its handler hears CANCELLED, before this returns or right after the part
   * that is being delivered, and the peer is told. Any thread.
   *
   * @return false when it had ended before
   */
  public boolean cancel(long requestId) {
    return requester.cancel(requestId);
  }

  /**
   * Says that a request can not be answered; the requester hears PEER_FAILED with this reason, of
   * which up to 1024 bytes travel.
   */
  public long fail(long correlationId, String reason) {
    return ReplyStream.sendFailure(sender, correlationId, reason);
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
    return current.choice();
  }

  /** Returns how often this connection has moved to another path. */
  public int pathChanges() {
    return current.changes();
  }

  /** Returns the number of this connection within its node. */
  public long id() {
    return id;
  }

  /** Returns the peer's bootstrap address. */
  public InetSocketAddress peerAddress() {
    return control().peerAddress();
  }

  /** Returns true until either side closes or the path fails. */
  public boolean isOpen() {
    return sender.state() == ConnectionState.OPEN;
  }

  /** Returns the counters as they are now. */
  public ConnectionStatus status() {
    return new ConnectionStatus(
        id,
        control().peerAddress(),
        path(),
        endpoint.queuePair(),
        sender.state().name(),
        sender.messagesSent(),
        sender.bytesSent(),
        receiver.messagesReceived(),
        receiver.bytesReceived(),
        sender.backPressured(),
        requests.size(),
        receiver.messagesHandedOver(),
        receiver.messagesCopied(),
        receiver.takesRefused(),
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
    startClosing();
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
    int polled = endpoint.poll(receiver, MESSAGES_PER_POLL);
    int resumed = remoteRequests.device().settle(receiver) + large.doWork();
    remoteKeys.tellLeft();
    resumed += sender.sendKept() + remoteExecutor.answerKept() + room.wake(polled);
    // What this side does by itself is no sign of life of the peer.
    return resumed + life.step(before, suspected, polled);
  }

  /** Prepares for the sleep of the polling thread, which calls it; see {@link Endpoint#arm}. */
  Rest arm() {
    ConnectionState now = sender.state();
    if (now == ConnectionState.CLOSED) {
      return Rest.UNTIL_EVENT;
    }
    Rest rest = endpoint.arm();
    if (rest == Rest.UNTIL_EVENT && control().carriesMessages()) {
      node.conductor().watchOnce(this);
    }
    // A deadline runs while closing, a suspicion is acted on by the next poll, and room in a ring
    // raises no event.
    boolean waitsForNothing =
        now == ConnectionState.OPEN && life.suspicion() == null && !isWaitedFor();
    return waitsForNothing || rest == Rest.NONE ? rest : Rest.BRIEF;
  }

  /** Says that the polling thread is awake, which calls it. */
  void disarm() {
    if (sender.state() != ConnectionState.CLOSED) {
      endpoint.disarm();
    }
  }

  int eventDescriptor() {
    return endpoint.eventDescriptor();
  }

  /** Conductor only: heartbeats, silence, device events, deadlines of requests. */
  void housekeep(long nowNs) {
    if (sender.state() == ConnectionState.CLOSED) {
      return;
    }
    endpoint.housekeep(nowNs);
    requester.expire(nowNs);
    large.housekeep(nowNs);
    Resumption moving = resumption();
    if (moving != null) {
      moving.housekeep(nowNs);
    }
    if (isSuspended()) {
      return;
    }
    liveness.housekeep(nowNs);
  }

  /** Returns how events name this connection and the path it has now. */
  EventSubject subject() {
    return NodeEvents.subject(endpoint.subject(), id, peerAddress());
  }

  void startClosing() {
    life.startClosing();
    poller.wakeUp();
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
    poller.wakeUp();
  }

  /** Gives back what a connection has that nobody gets to see. */
  void discard() {
    sender.close(PathNegotiation.discarding());
    control().close();
  }

  @Nullable Resumption resumption() {
    return current.resumption();
  }

  /**
   * The endpoint has sent by itself, with the senders' lock held, which a peer may sleep through.
   */
  void wakePeer() {
    sender.ringIfPeerSleeps();
  }

  Node node() {
    return node;
  }

  /** Returns when this connection was made, on the node's clock. */
  long madeNs() {
    return madeNs;
  }

  /** Returns whether it has lost its path and waits for another. */
  boolean isSuspended() {
    return endpoint instanceof ResumableEndpoint resumable && resumable.isSuspended();
  }

  Poller poller() {
    return poller;
  }

  ControlSocket control() {
    return current.control();
  }

  CurrentPath current() {
    return current;
  }

  Liveness liveness() {
    return liveness;
  }

  Receiver receiver() {
    return receiver;
  }

  RequestTable requests() {
    return requests;
  }

  Requester requester() {
    return requester;
  }

  ReplyStreams replyStreams() {
    return replyStreams;
  }

  RemoteKeys remoteKeys() {
    return remoteKeys;
  }

  RemoteRequests remoteRequests() {
    return remoteRequests;
  }

  LargeTransfers large() {
    return large;
  }

  RemoteExecutor remoteExecutor() {
    return remoteExecutor;
  }

  Room room() {
    return room;
  }

  /** Returns true while somebody waits for room, which no event of the path may announce. */
  boolean isWaitedFor() {
    return sender.keepsSome()
        || remoteExecutor.keepsSome()
        || remoteRequests.device().keepsSome()
        || large.keepsSome()
        || room.isWaitedFor();
  }

  Life life() {
    return life;
  }

  @Override
  public String toString() {
    return "connection " + id + " to " + peerAddress() + " over " + path().description();
  }
}
