package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.EndpointListener;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A connection to another node: ordered messages that keep their boundaries, and requests with
 * replies.
 *
 * <p>Sends may come from any thread. Messages are handed to the {@link ConnectionHandler} on the
 * thread that polls: the node's poller, or the caller of {@link Node#poll()}. Whoever got the
 * connection closes it; the node closes what is left.
 *
 * <pre>
 *  state      left when                                        who moves it
 *  OPEN       close() is called                                any thread -> CLOSING
 *             the peer says goodbye                            poller -> CLOSING
 *             the path fails or the peer is silent too long    poller -> CLOSED
 *  CLOSING    both goodbyes are through, or the deadline       poller -> CLOSED
 *  CLOSED     -
 * </pre>
 */
public final class Connection implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Connection.class.getName());
  private static final MemorySegment NO_PAYLOAD = MemorySegment.ofArray(new byte[0]);
  private static final int MESSAGES_PER_POLL = 64;

  private enum State {
    OPEN,
    CLOSING,
    CLOSED
  }

  private final Node node;
  private final Poller poller;
  private final long id;
  private final Endpoint endpoint;
  private final ControlSocket control;
  private final PathChoice path;
  private final int registrarIndex;
  private final ConnectionHandler handler;
  private final Message message = new Message(this);
  private final Events events = new Events();
  private final PendingRequests pending;
  private final CountDownLatch closed = new CountDownLatch(1);

  /** Serialises senders; also held while the endpoint is closed, so that nobody sends into it. */
  private final ReentrantLock sendLock = new ReentrantLock();

  private volatile State state = State.OPEN;

  /** Set once this side asked for the end; any thread. */
  private volatile boolean closedHere;

  /**
   * Set by the conductor when the peer seems gone; the poller acts once nothing is left to read.
   */
  private volatile @Nullable EndpointFailure suspicion;

  // Written by senders under the lock.
  private long messagesSent;
  private long bytesSent;
  private long backPressured;

  // Written by the polling thread.
  private @Nullable EndpointFailure failure;
  private boolean announced;
  private boolean goodbyeSent;
  private boolean goodbyeReceived;
  private long messagesReceived;
  private long bytesReceived;
  private long handlerErrors;

  /** Written under the lock by whoever starts to close. */
  private long closeDeadlineNs;

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
    this.registrarIndex = node.registrarIndex(endpoint.registrar());
    this.handler = handler;
    this.pending = new PendingRequests(node);
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
    return sendBuffer(MessageType.DATA, 0, buffer);
  }

  /**
   * Sends a message by copy; the memory is free again on return.
   *
   * @param source heap or native memory
   * @return {@link SendResult}
   * @throws MessageTooLargeException when it is longer than {@link #maxMessageBytes()}
   */
  public long send(MemorySegment source, long offset, int lengthBytes) {
    return sendCopy(MessageType.DATA, 0, source, offset, lengthBytes);
  }

  /**
   * Sends a request by copy and waits for its reply. On a node without pollers of its own the
   * caller polls while it waits.
   *
   * @return the reply, which the caller closes
   * @throws RequestFailedException when there is no reply within {@code timeoutNs}
   */
  public Reply request(MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    PendingRequests.Pending request = pending.add(node.clockNs() + timeoutNs);
    return await(
        request, () -> sendCopy(MessageType.REQUEST, request.id, source, offset, lengthBytes));
  }

  /**
   * Sends a request from a pooled buffer and waits for its reply. The buffer moves to the
   * connection when the request is sent; the lease tells: it is empty then, and still the caller's
   * otherwise.
   */
  public Reply request(RegisteredBuffer buffer, long timeoutNs) {
    PendingRequests.Pending request = pending.add(node.clockNs() + timeoutNs);
    return await(request, () -> sendBuffer(MessageType.REQUEST, request.id, buffer));
  }

  /**
   * Sends a request by copy. The stage completes with the reply, which the receiver closes, or with
   * a {@link RequestFailedException}; on the polling thread, at the deadline on the node's
   * background thread, or on this one when the request is refused at once. Long continuations
   * belong on an executor ({@code thenApplyAsync}).
   */
  public CompletionStage<Reply> requestAsync(
      MemorySegment source, long offset, int lengthBytes, long timeoutNs) {
    PendingRequests.Pending request = pending.add(node.clockNs() + timeoutNs);
    long result = SendResult.CLOSED;
    try {
      result = sendCopy(MessageType.REQUEST, request.id, source, offset, lengthBytes);
    } finally {
      if (result < 0) {
        pending.take(request.id);
      }
    }
    if (result < 0) {
      request.reply.completeExceptionally(notSent(result));
    }
    return request.reply;
  }

  /** Answers a request by copy; {@code correlationId} is that of the {@link Message}. */
  public long reply(long correlationId, MemorySegment source, long offset, int lengthBytes) {
    return sendCopy(MessageType.REPLY, correlationId, source, offset, lengthBytes);
  }

  /** Answers a request from a pooled buffer, which moves to the connection on success. */
  public long reply(long correlationId, RegisteredBuffer buffer) {
    return sendBuffer(MessageType.REPLY, correlationId, buffer);
  }

  /** Returns the largest payload of one message. */
  public int maxMessageBytes() {
    return endpoint.maxMessageBytes();
  }

  /** Returns the path used, and why the others are not. */
  public PathChoice path() {
    return path;
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
    return state == State.OPEN;
  }

  /** Returns the counters as they are now. */
  public ConnectionStatus status() {
    return new ConnectionStatus(
        id,
        control.peerAddress(),
        path,
        state.name(),
        messagesSent,
        bytesSent,
        messagesReceived,
        bytesReceived,
        backPressured,
        pending.size(),
        handlerErrors);
  }

  /**
   * Closes in good order: what was sent before arrives, then both sides say goodbye. Waits for that
   * up to the node's close timeout; afterwards everything is given back in any case. Idempotent;
   * from a handler it only starts the closing.
   */
  @Override
  public void close() {
    closedHere = true;
    startClosing();
    if (!node.isPollingThread()) {
      awaitClosed(false);
    }
  }

  private long sendCopy(
      int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    checkLength(lengthBytes);
    sendLock.lock();
    try {
      if (state != State.OPEN) {
        return refusal();
      }
      return sent(endpoint.send(type, correlationId, source, offset, lengthBytes), lengthBytes);
    } finally {
      sendLock.unlock();
    }
  }

  private long sendBuffer(int type, long correlationId, RegisteredBuffer buffer) {
    if (buffer.pool() != node.pool()) {
      throw new IllegalArgumentException(
          "the buffer is from another pool; allocate it from the pool of this connection's node");
    }
    int lengthBytes = buffer.lengthBytes();
    checkLength(lengthBytes);
    MemorySegment segment = buffer.segment();
    int lkey = registrarIndex < 0 ? 0 : buffer.lkey(registrarIndex);
    sendLock.lock();
    try {
      if (state != State.OPEN) {
        return refusal();
      }
      // Ownership moves first: the poller may give the block back before this call returns.
      long handle = buffer.detach();
      long result = SendResult.CLOSED;
      try {
        result =
            endpoint.sendRegistered(type, correlationId, segment, 0, lengthBytes, lkey, handle);
      } finally {
        if (result < 0) {
          node.pool().attach(handle, lengthBytes, buffer);
        }
      }
      return sent(result, lengthBytes);
    } finally {
      sendLock.unlock();
    }
  }

  private long sent(long result, int lengthBytes) {
    if (result >= 0) {
      messagesSent++;
      bytesSent += lengthBytes;
      flushUnlessPolledSoon();
    } else if (result == SendResult.BACK_PRESSURED) {
      backPressured++;
    }
    return result;
  }

  /**
   * On the polling thread, and where the application polls, the next duty cycle sends what waits.
   */
  private void flushUnlessPolledSoon() {
    if (poller.hasThread() && !poller.isPollingThread()) {
      endpoint.flush();
    }
  }

  private void checkLength(int lengthBytes) {
    if (lengthBytes < 0 || lengthBytes > endpoint.maxMessageBytes()) {
      throw new MessageTooLargeException(lengthBytes, endpoint.maxMessageBytes());
    }
  }

  private long refusal() {
    return closedHere ? SendResult.CLOSED : SendResult.NOT_CONNECTED;
  }

  private Reply await(PendingRequests.Pending request, LongSupplier send) {
    long result = SendResult.CLOSED;
    try {
      result = send.getAsLong();
      while (result == SendResult.BACK_PRESSURED && node.clockNs() - request.deadlineNs < 0) {
        node.idleWhileWaiting();
        result = send.getAsLong();
      }
    } finally {
      if (result < 0) {
        pending.take(request.id);
      }
    }
    if (result < 0) {
      throw notSent(result);
    }
    return pending.await(request);
  }

  private RequestFailedException notSent(long result) {
    return result == SendResult.BACK_PRESSURED
        ? new RequestFailedException(
            RequestFailedException.Cause.BACK_PRESSURED,
            "the request was not sent: the peer left no room on " + path.description())
        : new RequestFailedException(
            RequestFailedException.Cause.DISCONNECTED,
            "the request was not sent: connection " + id + " is " + SendResult.nameOf(result));
  }

  /** One duty cycle. Polling thread only. Returns the work done. */
  int doWork() {
    State now = state;
    if (now == State.CLOSED) {
      return 0;
    }
    if (!announced) {
      announce();
    }
    // Read before the poll: what the peer sent before it went is there by now, and goes first.
    EndpointFailure suspected = suspicion;
    int work = endpoint.poll(events, MESSAGES_PER_POLL);
    if (suspected != null) {
      judge(suspected, work);
    }
    if (failure != null) {
      finish(failure);
      return work + 1;
    }
    return now == State.CLOSING ? work + closeStep() : work;
  }

  private void judge(EndpointFailure suspected, int work) {
    if (work == 0 && failure == null) {
      failure =
          goodbyeReceived
              ? new EndpointFailure(Kind.PEER_CLOSED, "the peer has closed the connection")
              : suspected;
    } else if (work > 0 && control.carriesMessages()) {
      // The peer had spoken; it was this side that did not listen for a while.
      suspicion = null;
    }
  }

  private void announce() {
    announced = true;
    try {
      handler.onConnected(this);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  private int closeStep() {
    if (!goodbyeSent && control(MessageType.GOODBYE) >= 0) {
      goodbyeSent = true;
    }
    if (goodbyeSent && goodbyeReceived && endpoint.isFlushed()) {
      finish(new EndpointFailure(Kind.PEER_CLOSED, "closed in good order"));
      return 1;
    }
    if (node.clockNs() - closeDeadlineNs >= 0) {
      finish(new EndpointFailure(Kind.PEER_LOST, "the peer did not answer the goodbye in time"));
      return 1;
    }
    return 0;
  }

  private long control(int type) {
    sendLock.lock();
    try {
      if (state == State.CLOSED) {
        return SendResult.CLOSED;
      }
      long result = endpoint.send(type, 0, NO_PAYLOAD, 0, 0);
      endpoint.flush();
      return result;
    } finally {
      sendLock.unlock();
    }
  }

  private void finish(EndpointFailure reason) {
    sendLock.lock();
    try {
      state = State.CLOSED;
      endpoint.close(events);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "connection " + id + ": closing " + path.description() + " failed", e);
    } finally {
      sendLock.unlock();
    }
    control.close();
    pending.failAll(reason);
    node.forget(this);
    try {
      handler.onDisconnected(this, reason);
    } catch (RuntimeException e) {
      handlerFailed(e);
    } finally {
      closed.countDown();
    }
  }

  private void handlerFailed(RuntimeException e) {
    handlerErrors++;
    LOG.log(Level.ERROR, "connection " + id + ": the handler threw", e);
  }

  private final class Events implements EndpointListener {
    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      control.heard();
      if (type <= MessageType.REPLY) {
        messagesReceived++;
        bytesReceived += lengthBytes;
      }
      switch (type) {
        case MessageType.DATA, MessageType.REQUEST ->
            deliver(type, correlationId, memory, offset, lengthBytes);
        case MessageType.REPLY -> pending.complete(correlationId, memory, offset, lengthBytes);
        case MessageType.GOODBYE -> {
          goodbyeReceived = true;
          startClosing();
        }
        case MessageType.HEARTBEAT -> {}
        default -> failure = new EndpointFailure(Kind.PROTOCOL, "unknown message type " + type);
      }
    }

    private void deliver(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      try {
        handler.onMessage(
            Connection.this,
            message.wrap(memory, offset, lengthBytes, correlationId, type == MessageType.REQUEST));
      } catch (RuntimeException e) {
        handlerFailed(e);
      } finally {
        message.unwrap();
      }
    }

    @Override
    public void onSent(long token) {
      node.pool().release(token);
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      if (failure == null) {
        failure = cause;
      }
    }
  }

  void startClosing() {
    sendLock.lock();
    try {
      if (state == State.OPEN) {
        closeDeadlineNs = node.clockNs() + node.config().closeTimeoutNs();
        state = State.CLOSING;
      }
    } finally {
      sendLock.unlock();
    }
  }

  /** Waits for the end through interrupts, for a node that is about to free what this uses. */
  void awaitClosedInAnyCase() {
    awaitClosed(true);
  }

  /** Waits for the end; an interrupt may leave it to the poller to finish without this caller. */
  private void awaitClosed(boolean throughInterrupts) {
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
          "connection "
              + id
              + " is still closing: its poller is stuck in a handler, or nobody polls");
    }
  }

  /** Ends a connection that no poller looks after any more. */
  void abandon(EndpointFailure reason) {
    if (state != State.CLOSED) {
      finish(reason);
    }
  }

  /** Polls when the node has no pollers of its own; false when they do it. */
  private boolean pollUnlessPolled() {
    if (poller.hasThread()) {
      return false;
    }
    if (poller.poll() == 0) {
      Thread.onSpinWait();
    }
    return true;
  }

  Poller poller() {
    return poller;
  }

  /** Conductor only: heartbeats, silence, device events, deadlines of requests. */
  void housekeep(long nowNs) {
    if (state == State.CLOSED) {
      return;
    }
    endpoint.housekeep(nowNs);
    pending.expire(nowNs);
    if (state == State.OPEN && control.heartbeatDue(nowNs) && !control.sendHeartbeat()) {
      control(MessageType.HEARTBEAT);
    }
    long silentNs = control.silentNs(nowNs);
    if (silentNs > node.config().livenessTimeoutNs()) {
      suspect(
          new EndpointFailure(
              Kind.PEER_LOST,
              "nothing heard from " + peerAddress() + " for " + silentNs / 1_000_000 + " ms"));
    }
  }

  void suspect(EndpointFailure reason) {
    if (suspicion == null) {
      suspicion = reason;
    }
  }

  ControlSocket control() {
    return control;
  }

  @Override
  public String toString() {
    return "connection " + id + " to " + peerAddress() + " over " + path.description();
  }
}
