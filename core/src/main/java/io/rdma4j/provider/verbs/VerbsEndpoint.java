package io.rdma4j.provider.verbs;

import io.rdma4j.SendResult;
import io.rdma4j.VerbsException;
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
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.QueuePair;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * An endpoint over one queue pair with one completion queue for both directions.
 *
 * <p>States, moved by the polling thread only:
 *
 * <pre>
 *  OPEN --trouble, completion error--&gt; DRAINING --all requests back--&gt; ENDED --close--&gt; CLOSED
 *    \-------------------------------close--------------------------------------------&gt;/
 * </pre>
 *
 * In DRAINING the queue pair is in error and the device hands back every request; the failure is
 * reported when the last one is in, so that its real cause is known even when flushed requests came
 * first.
 */
final class VerbsEndpoint implements Endpoint {
  private static final int BATCH = 32;

  /** Bounds a poll beside a sender that keeps the queue busy. */
  private static final int MAX_TOKENS_PER_POLL = 256;

  /** How long the device may take to hand back what a queue pair in error holds. */
  private static final long DRAIN_BOUND_NS = 1_000_000_000L;

  /** How long the cause of a flush may take to show up as an event of device or rdma_cm. */
  private static final long CAUSE_BOUND_NS = 200_000_000L;

  /** How long close waits for the peer's device to take what was sent. */
  private static final long LINGER_BOUND_NS = 200_000_000L;

  private static final EndpointFailure FLUSHED_WITHOUT_CAUSE =
      new EndpointFailure(
          Kind.PEER_LOST, "all requests were flushed, and no event told why: the peer has gone");

  private enum State {
    OPEN,
    DRAINING,
    ENDED,
    CLOSED
  }

  private final DeviceContext context;
  private final CmId id;
  private final EndpointConfig config;
  private final CompletionChannel channel;
  private final CompletionQueue completionQueue;
  private final QueuePair queuePair;
  private final SendSide sends;
  private final ReceiveSide receives;
  private final Arrivals arrivals;
  private final ResourceStack resources;
  private final Completions batch;
  private final Incident incident;
  private final int port;
  private final int queuePairNumber;
  private final AtomicReference<@Nullable EndpointFailure> trouble = new AtomicReference<>();
  private final Object eventLock = new Object();

  private volatile State state = State.OPEN;

  /** Set before the endpoint is handed out. */
  private @Nullable VerbsOneSided oneSided;

  private String description;

  private boolean eventsClosed;

  /** The completion queue announces its next completion; the set-up has asked for that. */
  private boolean armed = true;

  private int batchCount;
  private int batchCursor;
  private long drainStartNs;
  private boolean queueLost;

  /** Nothing that follows counts: an error, a violation, or the peer's goodbye was seen. */
  private boolean broken;

  /** Nothing more of the peer counts: it said goodbye, or broke the protocol. */
  private boolean peerDone;

  VerbsEndpoint(
      DeviceContext context,
      CmId id,
      String peer,
      EndpointConfig config,
      CompletionChannel channel,
      CompletionQueue completionQueue,
      QueuePair queuePair,
      SendSide sends,
      ReceiveSide receives,
      ResourceStack resources) {
    this.context = context;
    this.id = id;
    this.config = config;
    this.channel = channel;
    this.completionQueue = completionQueue;
    this.queuePair = queuePair;
    this.sends = sends;
    this.receives = receives;
    arrivals = new Arrivals(receives, sends, config);
    this.resources = resources;
    batch = resources.own(new Completions(BATCH));
    port = id.devicePort();
    description = "verbs " + context.name() + " port " + port + " to " + peer;
    queuePairNumber = queuePair.number();
    incident = new Incident("queue pair " + queuePairNumber + ", " + description);
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public String device() {
    return context.name();
  }

  @Override
  public MemoryRegistrar registrar() {
    return context;
  }

  @Override
  public int maxMessageBytes() {
    return config.maxMessageBytes();
  }

  @Override
  public @Nullable QueuePairStatus queuePair() {
    return switch (state) {
      case OPEN -> new QueuePairStatus(queuePairNumber, "RTS");
      case DRAINING, ENDED -> new QueuePairStatus(queuePairNumber, "ERR");
      case CLOSED -> null;
    };
  }

  @Override
  public EventSubject subject() {
    return EventSubject.queuePair(context.name(), port, queuePair.number());
  }

  /** Returns in words what is with the device. */
  String load() {
    return "the completion queue has an entry for each request of the queue pair; %d sends and %d"
            .formatted(sends.outstanding(), receives.withDevice())
        + " receives are outstanding";
  }

  int port() {
    return port;
  }

  @Override
  public @Nullable OneSided oneSided() {
    return oneSided;
  }

  DeviceContext context() {
    return context;
  }

  /** Takes up operations on the peer's memory, once the two devices have agreed on their number. */
  void offerOneSided(int maxReads, long pathId) {
    int maxTransferBytes = context.maxTransferBytes(port);
    if (context.servesPeers() && maxReads > 0) {
      oneSided =
          new VerbsOneSided(
              this, sends, context.device().attributes(), maxTransferBytes, maxReads, pathId);
      if (!oneSided.servesAtomics()) {
        description += ", the peer's atomics by message: the device's are not atomic towards us";
      }
    }
  }

  boolean isOpen() {
    return state == State.OPEN;
  }

  /** Returns why nothing more can be sent. */
  long refusal() {
    return refusal(state);
  }

  /** The peer is about to be told that it may send. */
  void peerMaySend() {
    receives.connected();
  }

  /** Makes the events of the device reach this endpoint. */
  void startWatching() {
    context.add(this);
  }

  /** Returns whether an event of this object concerns this endpoint. */
  @SuppressWarnings("ReferenceEquality") // an event names the very object
  boolean uses(@Nullable AutoCloseable object) {
    return object == queuePair
        || object == completionQueue
        || (object != null && receives.uses(object));
  }

  /** The device has said that the queue pair takes no more of the shared receives. */
  void lastReceiveReached() {
    receives.lastReceiveReached();
  }

  @Override
  public long send(
      int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    checkMessage(type, source, offset, lengthBytes);
    State now = state;
    if (now != State.OPEN) {
      return refusal(now);
    }
    try {
      return sends.sendCopy(type, correlationId, source, offset, lengthBytes);
    } catch (PostRefusedException | VerbsException e) {
      return failSend(e);
    }
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
    checkMessage(type, source, offset, lengthBytes);
    if (token == NO_TOKEN || !source.isNative()) {
      throw new IllegalArgumentException(
          "a registered send needs native memory and a token other than -1, not " + token);
    }
    State now = state;
    if (now != State.OPEN) {
      return refusal(now);
    }
    try {
      return sends.sendRegistered(type, correlationId, source, offset, lengthBytes, lkey, token);
    } catch (PostRefusedException | VerbsException e) {
      return failSend(e);
    }
  }

  @Override
  public boolean hasRoom() {
    return state != State.OPEN || sends.hasRoomOrEnd();
  }

  @Override
  public void flush() {
    if (state != State.OPEN || !sends.hasUnposted()) {
      return;
    }
    try {
      sends.flush();
    } catch (PostRefusedException | VerbsException e) {
      failSend(e);
    }
  }

  @Override
  public boolean isFlushed() {
    return state != State.OPEN || !sends.hasUnposted();
  }

  private void checkMessage(int type, MemorySegment source, long offset, int lengthBytes) {
    if ((type & ~0xff) != 0 || lengthBytes < 0 || lengthBytes > config.maxMessageBytes()) {
      throw new IllegalArgumentException(
          String.format(
              "message of type %d and %d bytes: the type is 0 to 255, the length 0 to %d",
              type, lengthBytes, config.maxMessageBytes()));
    }
    Objects.checkFromIndexSize(offset, lengthBytes, source.byteSize());
  }

  private static long refusal(State now) {
    return now == State.CLOSED ? SendResult.CLOSED : SendResult.NOT_CONNECTED;
  }

  long failSend(RuntimeException e) {
    report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
    return SendResult.NOT_CONNECTED;
  }

  /** Ends the endpoint at its next poll; the first report is the cause. Any thread. */
  void report(EndpointFailure failure) {
    trouble.compareAndSet(null, failure);
  }

  @Override
  public int poll(EndpointListener listener, int messageLimit) {
    return switch (state) {
      case OPEN -> pollOpen(listener, messageLimit);
      case DRAINING -> drain(listener);
      case ENDED, CLOSED -> 0;
    };
  }

  private int pollOpen(EndpointListener listener, int messageLimit) {
    int messages = 0;
    int tokens = 0;
    boolean empty = false;
    try {
      while (messages < messageLimit && tokens < MAX_TOKENS_PER_POLL && !empty && !broken) {
        if (!nextCompletion()) {
          empty = true;
        } else if (batch.status(batchCursor) != Completions.SUCCESS) {
          tokens += onError(batchCursor++, listener);
          broken = true;
        } else {
          int i = batchCursor++;
          long wrId = batch.wrId(i);
          if (WorkRequestId.isReceive(wrId)) {
            messages += onReceive(i, listener);
          } else {
            tokens += sends.complete(WorkRequestId.sequence(wrId), listener);
          }
          if (state != State.OPEN) {
            return messages + tokens; // the listener has closed this endpoint
          }
        }
      }
      if (!broken) {
        endBatch(messages, listener);
      }
    } catch (PostRefusedException | VerbsException e) {
      report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
      broken = true;
    }
    // What others report waits until everything that has arrived is delivered.
    if (broken || (empty && trouble.get() != null)) {
      tokens += beginDraining(listener);
    }
    return messages + tokens;
  }

  /** Posts what the listener has sent, and receives and credits that are due. */
  private void endBatch(int messages, EndpointListener listener) {
    if (messages > 0) {
      listener.onBatchEnd();
    } else {
      receives.flush();
    }
    if (state == State.OPEN) {
      sends.returnCredits();
      sends.flushIfFree();
    }
  }

  /** Moves to the next completion; false when the queue is empty. */
  private boolean nextCompletion() {
    if (batchCursor < batchCount) {
      return true;
    }
    batchCursor = 0;
    batchCount = 0;
    batchCount = completionQueue.poll(batch);
    for (int i = 1; i < batchCount; i++) {
      if (batch.status(i) == Completions.SUCCESS && WorkRequestId.isReceive(batch.wrId(i))) {
        arrivals.touch(WorkRequestId.slot(batch.wrId(i)));
      }
    }
    return batchCount > 0;
  }

  @Override
  public int eventDescriptor() {
    return channel.descriptor();
  }

  /** Poll, arm, poll: a completion that came before the arming raises no event. */
  @Override
  public Rest arm() {
    return switch (state) {
      case OPEN -> armOpen();
      case DRAINING -> Rest.BRIEF;
      case ENDED, CLOSED -> Rest.UNTIL_EVENT;
    };
  }

  private Rest armOpen() {
    if (trouble.get() != null || sends.hasUnposted() || sends.owesCredits()) {
      return Rest.NONE;
    }
    try {
      while (armed && channel.await(0)) {
        armed = false; // an event of the past, and there may be more than one
      }
      if (!armed) {
        completionQueue.requestNotification(false);
        armed = true;
      }
      if (nextCompletion()) {
        return Rest.NONE;
      }
    } catch (VerbsException e) {
      report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
      return Rest.NONE;
    }
    return channel.descriptor() < 0 ? Rest.BRIEF : Rest.UNTIL_EVENT;
  }

  /** Returns the messages delivered: 1 or 0. */
  private int onReceive(int i, EndpointListener listener) {
    int slot = WorkRequestId.slot(batch.wrId(i));
    int messages =
        batch.opcode(i) == Completions.OPCODE_RECEIVE_WRITE_WITH_IMM
            ? arrivals.takeImmediate(slot, batch.immediate(i), batch.lengthBytes(i), listener)
            : arrivals.take(slot, batch.lengthBytes(i), listener);
    EndpointFailure end = arrivals.end();
    if (end != null) {
      onPeersEnd(end);
    }
    return messages;
  }

  /** A goodbye explains a disconnect that was seen before it. */
  private void onPeersEnd(EndpointFailure end) {
    boolean explains = end.kind() == Kind.PEER_CLOSED;
    trouble.updateAndGet(
        before -> before == null || (explains && before.kind() == Kind.PEER_LOST) ? end : before);
    broken = true;
    peerDone = true;
  }

  @Override
  public long takeMessage() {
    return arrivals.handOver();
  }

  /** Notes a failed completion; its request and all sends before it are back. */
  private int onError(int i, EndpointListener listener) {
    long wrId = batch.wrId(i);
    boolean receive = WorkRequestId.isReceive(wrId);
    incident.note(receive, batch.status(i), batch.vendorError(i));
    return receive
        ? takeBack(wrId, listener)
        : sends.failed(WorkRequestId.sequence(wrId), batch.status(i), listener);
  }

  private int takeBack(long wrId, EndpointListener listener) {
    if (WorkRequestId.isReceive(wrId)) {
      arrivals.discard(WorkRequestId.slot(wrId));
      return 0;
    }
    return sends.complete(WorkRequestId.sequence(wrId), listener);
  }

  private int beginDraining(EndpointListener listener) {
    state = State.DRAINING;
    arrivals.stopReposting();
    drainStartNs = context.clock().nanoTime();
    sends.shut();
    moveToError();
    return drain(listener);
  }

  private void moveToError() {
    try {
      queuePair.toError();
    } catch (VerbsException e) {
      // Then only destroying it makes the device let go.
      queueLost = true;
      report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
    }
  }

  private int drain(EndpointListener listener) {
    if (receives.areShared()) {
      drainEvents();
    }
    // Looked at first: what the device has given back by then is taken below.
    boolean receivesBack = receives.isDrained();
    int tokens = takeBackCompleted(listener);
    long elapsedNs = context.clock().nanoTime() - drainStartNs;
    // A tail of unsignaled sends that went out before the error never completes: it comes back when
    // the queue pair is destroyed.
    boolean drained = receivesBack && (sends.outstanding() == 0 || elapsedNs > CAUSE_BOUND_NS);
    boolean causeKnown = incident.hasCause() || trouble.get() != null;
    if (drained && (causeKnown || elapsedNs > CAUSE_BOUND_NS)) {
      return tokens + sends.giveBackUnposted(listener) + end(listener);
    }
    if (queueLost || elapsedNs > DRAIN_BOUND_NS) {
      queuePair.close();
      return tokens + sends.giveBackAll(listener) + end(listener);
    }
    return tokens;
  }

  /**
   * Takes back all requests that have completed, in whatever way. A message that arrived before the
   * trouble is delivered, also when the device shows it later: its sender counts it as arrived.
   *
   * @return tokens and messages
   */
  private int takeBackCompleted(EndpointListener listener) {
    int work = 0;
    try {
      while (!queueLost && nextCompletion()) {
        int i = batchCursor++;
        long wrId = batch.wrId(i);
        if (batch.status(i) != Completions.SUCCESS) {
          work += onError(i, listener);
        } else if (state == State.DRAINING && !peerDone && WorkRequestId.isReceive(wrId)) {
          work += onReceive(i, listener);
        } else {
          work += takeBack(wrId, listener);
        }
      }
    } catch (PostRefusedException | VerbsException e) {
      queueLost = true;
      report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
    }
    return work;
  }

  private int end(EndpointListener listener) {
    state = State.ENDED;
    incident.tell(context.events().sink(), subject());
    EndpointFailure reported = trouble.get();
    EndpointFailure cause;
    if (reported != null && (reported.kind() == Kind.PEER_CLOSED || !incident.hasCause())) {
      cause = incident.withFollowers(reported);
    } else if (incident.hasCause()) {
      cause = incident.failure();
    } else {
      cause = incident.withFollowers(FLUSHED_WITHOUT_CAUSE);
    }
    listener.onFailure(cause);
    return 1;
  }

  @Override
  public void housekeep(long nowNs) {
    synchronized (eventLock) {
      if (eventsClosed) {
        return;
      }
      drainEvents();
      try {
        for (CmEvent event; (event = id.awaitEvent(0)) != null; ) {
          onConnectionEvent(event);
        }
      } catch (VerbsException e) {
        report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
      }
    }
  }

  private void drainEvents() {
    try {
      context.drainEvents();
    } catch (VerbsException e) {
      report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
    }
  }

  private void onConnectionEvent(CmEvent event) {
    context.events().tell(event, subject());
    switch (event.type()) {
      case DISCONNECTED ->
          report(new EndpointFailure(Kind.PEER_LOST, "the peer's end was disconnected"));
      case DEVICE_REMOVAL ->
          report(new EndpointFailure(Kind.DEVICE, "the device is being removed"));
      case ADDR_CHANGE ->
          report(new EndpointFailure(Kind.DEVICE, "the address moved to another device"));
      default -> {
        // Time-wait and the like do not concern an established connection.
      }
    }
  }

  @Override
  public void close(EndpointListener listener) {
    if (state == State.CLOSED) {
      return;
    }
    State before = state;
    state = State.CLOSED;
    arrivals.stopReposting();
    try {
      if (before == State.OPEN && trouble.get() == null) {
        sayGoodbye(listener);
      }
      sends.shut();
      if (before != State.ENDED) {
        moveToError();
        if (receives.areShared()) {
          takeBackShared(listener);
        }
      }
    } finally {
      try {
        // Destroying the queue pair makes the device let go of everything, signaled or not. Waiting
        // for completions would wait for an unsignaled tail, which never completes.
        giveBack();
      } finally {
        sends.giveBackAll(listener);
      }
    }
  }

  /** Waits, within bounds, until the peer's device has taken all there is, a goodbye at its end. */
  private void sayGoodbye(EndpointListener listener) {
    try {
      sends.shutWithGoodbye();
    } catch (PostRefusedException e) {
      report(new EndpointFailure(Kind.DEVICE, String.valueOf(e.getMessage())));
    }
    long startNs = context.clock().nanoTime();
    while (!queueLost
        && sends.outstanding() > 0
        && !incident.hasCause()
        && within(startNs, LINGER_BOUND_NS)) {
      takeBackCompleted(listener);
      Thread.onSpinWait();
    }
  }

  /** Receives that this queue pair has taken from others are theirs again, if found in time. */
  private void takeBackShared(EndpointListener listener) {
    long startNs = context.clock().nanoTime();
    boolean last = false;
    while (!last && !queueLost && within(startNs, DRAIN_BOUND_NS)) {
      drainEvents();
      last = receives.isDrained();
      takeBackCompleted(listener);
      Thread.onSpinWait();
    }
  }

  private boolean within(long startNs, long boundNs) {
    return context.clock().nanoTime() - startNs < boundNs;
  }

  private void giveBack() {
    context.remove(this);
    synchronized (eventLock) {
      eventsClosed = true;
      try (resources) {
        id.disconnect();
      }
    }
  }
}
