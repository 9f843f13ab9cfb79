package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.concurrent.ShortLock;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.OneSided;
import io.rdma4j.provider.QueuePairStatus;
import io.rdma4j.provider.Rest;
import io.rdma4j.status.EventSubject;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * An endpoint that outlives the path below it. Both ends count what they send and what they have
 * delivered; a path keeps order and loses nothing while it lives, so the counts alone say what the
 * other end has had. What it has not acknowledged is kept. When a path ends, the two tell each
 * other their counts over the bootstrap connection of the next one, and each sends again what the
 * other one has not had. So every message is delivered once, in order, whatever the paths do.
 *
 * <pre>
 *  state       means                                        left when
 *  ACTIVE      a path carries messages                      it ends, or is to be replaced -> SUSPENDED
 *  SUSPENDED   no path; sends are back-pressured            a path is attached -> REPLAYING
 *                                                           none came in time -> ENDED
 *  REPLAYING   what the peer has not had goes out again     all of it has gone -> ACTIVE
 *  ENDED       the failure was reported, or it is closed    -
 * </pre>
 *
 * The poller moves the states, with senders kept out. Threads are those of {@link Endpoint}; {@link
 * #requestSuspension}, {@link #attach} and {@link Suspension#giveUp} may be called by any.
 */
final class ResumableEndpoint implements Endpoint {
  /** Learns on the polling thread that a path has ended and was closed. */
  interface SuspensionListener {
    void suspended(EndpointFailure cause);
  }

  /** A path that is set up, and what the peer had delivered when the one before had ended. */
  private record NextPath(Endpoint endpoint, long peerDelivered, Runnable onTaken) {}

  private enum State {
    ACTIVE,
    SUSPENDED,
    REPLAYING,
    ENDED
  }

  private static final VarHandle DELIVERED;

  static {
    try {
      DELIVERED =
          MethodHandles.lookup().findVarHandle(ResumableEndpoint.class, "delivered", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final MemorySegment NO_PAYLOAD = MemorySegment.ofArray(new byte[0]);

  private final ShortLock lock = new ShortLock();
  private final RetainedMessages retained;
  private final Relay relay = new Relay();
  private final int maxMessageBytes;
  private final Suspension suspension;
  private final int acknowledgeEachMessages;
  private final int acknowledgeEachBytes;
  private final SuspensionListener onSuspended;
  private final Runnable onSent;

  private volatile Endpoint path;
  private volatile State state = State.ACTIVE;
  private volatile @Nullable NextPath next;
  private volatile @Nullable EndpointFailure suspensionRequested;

  /** Set once a goodbye went either way: from then on the end of the path is the end of all. */
  private volatile boolean ending;

  /** Written by the poller, with release: a message costs no fence. Stable while suspended. */
  private volatile long delivered;

  private volatile boolean acknowledgementDue;
  private long acknowledged;
  private int bytesSinceAcknowledged;
  private long replayNumber;
  private boolean closed;

  /**
   * Starts over a first path.
   *
   * @param onSuspended told by the poller when a path has ended and was closed
   * @param onSent run by the poller, senders kept out, when this endpoint has sent by itself, which
   *     a sleeping peer has to be told
   */
  ResumableEndpoint(
      Endpoint path,
      EndpointConfig config,
      long resumeTimeoutNs,
      SuspensionListener onSuspended,
      Runnable onSent) {
    this.path = path;
    this.onSent = onSent;
    this.maxMessageBytes = path.maxMessageBytes();
    this.suspension = new Suspension(resumeTimeoutNs);
    this.onSuspended = onSuspended;
    this.acknowledgeEachMessages = config.window();
    this.acknowledgeEachBytes = config.ringBytes() / 2;
    int messages = Integer.highestOneBit(4 * config.window() - 1) << 1;
    this.retained = new RetainedMessages(messages, 2L * config.ringBytes());
  }

  // ---- any thread ------------------------------------------------------------------------------

  /** Asks for the end of the path; false when the connection is ending anyway. */
  boolean requestSuspension(EndpointFailure reason) {
    // Under the lock, so that a request never outlives the path that it is about.
    lock.lock();
    try {
      if (ending || state == State.ENDED) {
        return false;
      }
      if (state != State.SUSPENDED && suspensionRequested == null) {
        suspensionRequested = reason;
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the lock of the connection's senders, held here while the path changes. */
  ShortLock lock() {
    return lock;
  }

  boolean isSuspended() {
    return state == State.SUSPENDED && next == null;
  }

  /** Returns whether there is a path, and no end in sight. */
  boolean isActive() {
    return state == State.ACTIVE && !ending && suspensionRequested == null;
  }

  boolean isEnding() {
    return ending || state == State.ENDED;
  }

  /** Returns how many messages were delivered here; final while suspended. */
  long delivered() {
    return delivered;
  }

  /**
   * Hands over a path for the poller to take up. The caller still owns it when this returns false.
   *
   * @param peerDelivered what the peer has delivered of what was sent here
   * @param onTaken run by the poller when the path is the present one, senders kept out
   */
  boolean attach(Endpoint endpoint, long peerDelivered, Runnable onTaken) {
    lock.lock();
    try {
      if (state != State.SUSPENDED || next != null) {
        return false;
      }
      next = new NextPath(endpoint, peerDelivered, onTaken);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the wait for another path, which has an end by itself. */
  Suspension suspension() {
    return suspension;
  }

  // ---- sending, under the lock -----------------------------------------------------------------

  @Override
  public long send(
      int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    long refusal = refusal(lengthBytes);
    if (refusal != SendResult.OK) {
      return refusal;
    }
    long result = onPath(path.send(type, correlationId, source, offset, lengthBytes));
    if (result >= 0) {
      retained.addCopy(type, correlationId, source, offset, lengthBytes);
      noteGoodbye(type);
    }
    return result;
  }

  @Override
  public long sendRegistered(
      int type,
      long correlationId,
      MemorySegment source,
      long offset,
      int lengthBytes,
      int lkey,
      long token) {
    long refusal = refusal(0);
    if (refusal != SendResult.OK) {
      return refusal;
    }
    // Kept first: the path may give the token back before this call returns.
    retained.addRegistered(type, correlationId, source, offset, lengthBytes, token);
    long result = SendResult.CLOSED;
    try {
      result =
          onPath(
              path.sendRegistered(type, correlationId, source, offset, lengthBytes, lkey, token));
    } finally {
      if (result < 0) {
        retained.undoRegistered();
      }
    }
    return result;
  }

  private void noteGoodbye(int type) {
    if (type == MessageType.GOODBYE) {
      ending = true;
    }
  }

  private long refusal(int copiedBytes) {
    if (state == State.ENDED) {
      return SendResult.CLOSED;
    }
    return state == State.ACTIVE && retained.hasRoom(copiedBytes)
        ? SendResult.OK
        : SendResult.BACK_PRESSURED;
  }

  /** A path that has just ended takes nothing; the next one will. */
  private long onPath(long result) {
    return result == SendResult.NOT_CONNECTED && !ending ? SendResult.BACK_PRESSURED : result;
  }

  @Override
  public boolean hasRoom() {
    return state == State.ENDED
        || (state == State.ACTIVE && retained.hasRoom(maxMessageBytes) && path.hasRoom());
  }

  @Override
  public void flush() {
    if (state == State.ACTIVE) {
      path.flush();
    }
  }

  @Override
  public boolean peerSleeps() {
    return (state == State.ACTIVE || state == State.REPLAYING) && path.peerSleeps();
  }

  @Override
  public boolean isFlushed() {
    return state != State.ACTIVE || path.isFlushed();
  }

  // ---- polling ---------------------------------------------------------------------------------

  @Override
  public int poll(EndpointListener listener, int messageLimit) {
    relay.to = listener;
    State now = state;
    if (now == State.SUSPENDED) {
      return next != null ? takeUp(listener) : waitOn(listener);
    }
    if (now == State.ENDED) {
      return 0;
    }
    EndpointFailure requested = suspensionRequested;
    if (now == State.REPLAYING) {
      replay();
    }
    int work = path.poll(relay, messageLimit);
    EndpointFailure failure = relay.failure;
    if (failure != null) {
      relay.failure = null;
      pathEnded(failure, listener);
      return work + 1;
    }
    if (requested != null && work == 0) {
      // What had arrived before has been delivered.
      pathEnded(requested, listener);
      return 1;
    }
    acknowledge();
    return work;
  }

  @Override
  public long takeMessage() {
    return path.takeMessage();
  }

  private void pathEnded(EndpointFailure failure, EndpointListener listener) {
    if (ending || failure.kind() == Kind.PROTOCOL) {
      end(failure, listener);
      return;
    }
    lock.lock();
    try {
      path.close(relay);
      retained.pathClosed();
      suspension.begin(failure);
      suspensionRequested = null;
      state = State.SUSPENDED;
    } finally {
      lock.unlock();
    }
    onSuspended.suspended(failure);
  }

  private int waitOn(EndpointListener listener) {
    EndpointFailure reason = suspension.end();
    if (reason == null) {
      return 0;
    }
    end(reason, listener);
    return 1;
  }

  private void end(EndpointFailure failure, EndpointListener listener) {
    state = State.ENDED;
    listener.onFailure(failure);
  }

  private int takeUp(EndpointListener listener) {
    lock.lock();
    try {
      NextPath taken = next;
      if (taken == null) {
        return 0;
      }
      next = null;
      path = taken.endpoint;
      if (!retained.mayHaveHad(taken.peerDelivered)) {
        end(
            new EndpointFailure(
                Kind.PROTOCOL,
                "the peer says it has had %d messages; %d were sent and %d acknowledged"
                    .formatted(taken.peerDelivered, retained.sent(), retained.oldest())),
            listener);
        return 1;
      }
      retained.acknowledge(taken.peerDelivered, listener::onSent);
      replayNumber = taken.peerDelivered;
      acknowledged = delivered;
      bytesSinceAcknowledged = 0;
      state = State.REPLAYING;
      taken.onTaken.run();
      return 1;
    } finally {
      lock.unlock();
    }
  }

  private void replay() {
    lock.lock();
    try {
      long first = replayNumber;
      while (replayNumber < retained.sent() && retained.sendAgain(replayNumber, path) >= 0) {
        replayNumber++;
      }
      if (replayNumber == retained.sent()) {
        state = State.ACTIVE;
      }
      if (replayNumber != first) {
        onSent.run();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Tells the peer what it need not keep any longer. */
  private void acknowledge() {
    long count = delivered;
    if (count == acknowledged
        || (!acknowledgementDue
            && count - acknowledged < acknowledgeEachMessages
            && bytesSinceAcknowledged < acknowledgeEachBytes)
        || !lock.tryLock()) {
      return;
    }
    try {
      if (path.send(MessageType.ACKNOWLEDGEMENT, count, NO_PAYLOAD, 0, 0) >= 0) {
        path.flush();
        acknowledged = count;
        bytesSinceAcknowledged = 0;
        acknowledgementDue = false;
        onSent.run();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Between the path and the connection: counts, and keeps tokens until they are acknowledged. */
  private final class Relay implements EndpointListener {
    private @Nullable EndpointListener to;
    private @Nullable EndpointFailure failure;
    private final RetainedMessages.Tokens back = this::giveBack;

    private EndpointListener to() {
      return java.util.Objects.requireNonNull(to);
    }

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      if (type == MessageType.ACKNOWLEDGEMENT) {
        onAcknowledgement(correlationId);
        return;
      }
      noteGoodbye(type);
      to().onMessage(type, correlationId, memory, offset, lengthBytes);
      bytesSinceAcknowledged += lengthBytes;
      DELIVERED.setRelease(ResumableEndpoint.this, delivered + 1);
    }

    private void onAcknowledgement(long count) {
      if (!mayHaveHad(count)) {
        onFailure(
            new EndpointFailure(
                Kind.PROTOCOL,
                "the peer acknowledges %d messages of %d".formatted(count, retained.sent())));
        return;
      }
      retained.acknowledge(count, back);
    }

    /** A sender that is just at it notes its message behind the send, so it may be one short. */
    private boolean mayHaveHad(long count) {
      if (retained.mayHaveHad(count)) {
        return true;
      }
      lock.lock();
      try {
        return retained.mayHaveHad(count);
      } finally {
        lock.unlock();
      }
    }

    @Override
    public void onBatchEnd() {
      to().onBatchEnd();
    }

    private void giveBack(long token) {
      to().onSent(token);
    }

    @Override
    public void onSent(long token) {
      retained.deviceDone(back);
    }

    @Override
    public void onRemoteEnd(long token, int outcome) {
      to().onRemoteEnd(token, outcome);
    }

    @Override
    public void onImmediate(int immediate, int lengthBytes) {
      to().onImmediate(immediate, lengthBytes);
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      if (failure == null) {
        failure = cause;
      }
    }
  }

  // ---- sleeping --------------------------------------------------------------------------------

  /** Returns that of the present path. */
  @Override
  public int eventDescriptor() {
    return path.eventDescriptor();
  }

  @Override
  public Rest arm() {
    return switch (state) {
      case ACTIVE -> {
        Rest rest = path.arm();
        // What the peer waits to hear, and an end that was asked for, raise no event.
        boolean waitsForNothing = delivered == acknowledged && suspensionRequested == null;
        yield waitsForNothing || rest == Rest.NONE ? rest : Rest.BRIEF;
      }
      case SUSPENDED, REPLAYING -> Rest.BRIEF;
      case ENDED -> Rest.UNTIL_EVENT;
    };
  }

  @Override
  public void disarm() {
    if (state == State.ACTIVE) {
      path.disarm();
    }
  }

  // ---- the rest of an endpoint -----------------------------------------------------------------

  @Override
  public void housekeep(long nowNs) {
    acknowledgementDue = true;
    if (state == State.ACTIVE || state == State.REPLAYING) {
      path.housekeep(nowNs);
    }
  }

  @Override
  public String description() {
    return path.description();
  }

  @Override
  public EventSubject subject() {
    return path.subject();
  }

  @Override
  public String device() {
    return path.device();
  }

  @Override
  public @Nullable QueuePairStatus queuePair() {
    return path.queuePair();
  }

  @Override
  public @Nullable MemoryRegistrar registrar() {
    return path.registrar();
  }

  @Override
  public int maxMessageBytes() {
    return maxMessageBytes;
  }

  /** Returns that of the present path, while there is one. */
  @Override
  public @Nullable OneSided oneSided() {
    return state == State.ACTIVE ? path.oneSided() : null;
  }

  /** Under the lock, as sends are. */
  @Override
  public void close(EndpointListener listener) {
    relay.to = listener;
    if (closed) {
      return;
    }
    closed = true;
    state = State.ENDED;
    path.close(relay);
    NextPath waiting = next;
    next = null;
    if (waiting != null) {
      waiting.endpoint.close(relay);
    }
    retained.close(listener::onSent);
  }
}
