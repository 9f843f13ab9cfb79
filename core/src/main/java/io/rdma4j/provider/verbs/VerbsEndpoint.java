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
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
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
  private final EndpointConfig config;
  private final QueuePair queuePair;
  private final SendSide sends;
  private final ReceiveSide receives;
  private final Arrivals arrivals;
  private final CompletionFeed completions;
  private final ResourceStack resources;
  private final Incident incident;
  private final QueuePairFacts facts;
  private final EndpointEvents events;

  private volatile State state = State.OPEN;

  /** Set before the endpoint is handed out. */
  private @Nullable VerbsOneSided oneSided;

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
      QueuePairConfig made,
      QueuePair queuePair,
      SendSide sends,
      ReceiveSide receives,
      ResourceStack resources) {
    this.context = context;
    this.config = config;
    this.queuePair = queuePair;
    this.sends = sends;
    this.receives = receives;
    arrivals = new Arrivals(receives, sends, config);
    this.resources = resources;
    completions = resources.own(new CompletionFeed(made.sendQueue(), channel, arrivals));
    facts = new QueuePairFacts(context.name(), id.devicePort(), queuePair, made, peer);
    events = new EndpointEvents(context, id, facts.subject());
    incident = new Incident(facts);
  }

  @Override
  public String description() {
    return facts.description();
  }

  @Override
  public String device() {
    return facts.device();
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
      case OPEN -> facts.status("RTS");
      case DRAINING, ENDED -> facts.status("ERR");
      case CLOSED -> null;
    };
  }

  @Override
  public EventSubject subject() {
    return facts.subject();
  }

  /** Returns in words what is with the device. */
  String load() {
    return "the completion queue has an entry for each request of the queue pair; %d sends and %d"
            .formatted(sends.outstanding(), receives.withDevice())
        + " receives are outstanding";
  }

  int port() {
    return facts.port();
  }

  @Override
  public @Nullable OneSided oneSided() {
    return oneSided;
  }

  DeviceContext context() {
    return context;
  }

  QueuePair devicesQueuePair() {
    return queuePair;
  }

  QueuePairFacts facts() {
    return facts;
  }

  /** Takes up operations on the peer's memory, once the two devices have agreed on their number. */
  void offerOneSided(int maxReads, long pathId) {
    int maxTransferBytes = context.maxTransferBytes(facts.port());
    if (context.servesPeers() && maxReads > 0) {
      oneSided =
          new VerbsOneSided(
              this, sends, context.device().attributes(), maxTransferBytes, maxReads, pathId);
      if (!oneSided.servesAtomics()) {
        facts.add("the peer's atomics by message: the device's are not atomic towards us");
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
        || (object != null && (completions.isOf(object) || receives.uses(object)));
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
    events.report(e);
    return SendResult.NOT_CONNECTED;
  }

  /** Ends the endpoint at its next poll; the first report is the cause. Any thread. */
  void report(EndpointFailure failure) {
    events.report(failure);
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
    boolean more = true;
    try {
      while (more && messages < messageLimit && tokens < MAX_TOKENS_PER_POLL) {
        if (!completions.hasNext()) {
          empty = true;
          break;
        }
        boolean succeeded = completions.nextSucceeded();
        int i = completions.take();
        long wrId = completions.batch().wrId(i);
        if (!succeeded) {
          tokens += onError(i, listener);
          broken = true;
        } else if (WorkRequestId.isReceive(wrId)) {
          messages += onReceive(i, WorkRequestId.slot(wrId), listener);
        } else {
          tokens += sends.complete(WorkRequestId.sequence(wrId), listener);
        }
        if (state != State.OPEN) {
          return messages + tokens; // the listener has closed this endpoint
        }
        more = !broken && completions.mayHaveNext();
      }
      if (!broken) {
        endBatch(messages, listener);
      }
    } catch (PostRefusedException | VerbsException e) {
      events.report(e);
      broken = true;
    }
    // What others report waits until everything that has arrived is delivered.
    if (broken || (empty && events.trouble() != null)) {
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

  @Override
  public int eventDescriptor() {
    return completions.descriptor();
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
    if (events.trouble() != null || sends.hasUnposted() || sends.owesCredits()) {
      return Rest.NONE;
    }
    try {
      if (completions.armAndLook()) {
        return Rest.NONE;
      }
    } catch (VerbsException e) {
      events.report(e);
      return Rest.NONE;
    }
    return completions.descriptor() < 0 ? Rest.BRIEF : Rest.UNTIL_EVENT;
  }

  /** Returns the messages delivered: 1 or 0. */
  private int onReceive(int i, int slot, EndpointListener listener) {
    Completions batch = completions.batch();
    int messages =
        batch.opcode(i) == Completions.OPCODE_RECEIVE_WRITE_WITH_IMM
            ? arrivals.takeImmediate(slot, batch.immediate(i), batch.lengthBytes(i), listener)
            : arrivals.take(slot, batch.lengthBytes(i), listener);
    EndpointFailure end = arrivals.end();
    if (end != null) {
      events.reportPeersEnd(end);
      broken = true;
      peerDone = true;
    }
    return messages;
  }

  @Override
  public long takeMessage() {
    return arrivals.handOver();
  }

  /** Notes a failed completion; its request and all sends before it are back. */
  private int onError(int i, EndpointListener listener) {
    Completions batch = completions.batch();
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
      events.report(e);
    }
  }

  private int drain(EndpointListener listener) {
    if (receives.areShared()) {
      events.takeOfDevice();
    }
    // Looked at first: what the device has given back by then is taken below.
    boolean receivesBack = receives.isDrained();
    int tokens = takeBackCompleted(listener);
    long elapsedNs = context.clock().nanoTime() - drainStartNs;
    // A tail of unsignaled sends that went out before the error never completes: it comes back when
    // the queue pair is destroyed.
    boolean drained = receivesBack && (sends.outstanding() == 0 || elapsedNs > CAUSE_BOUND_NS);
    boolean causeKnown = incident.hasCause() || events.trouble() != null;
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
      while (!queueLost && completions.hasNext()) {
        boolean succeeded = completions.nextSucceeded();
        int i = completions.take();
        long wrId = completions.batch().wrId(i);
        if (!succeeded) {
          work += onError(i, listener);
        } else if (state == State.DRAINING && !peerDone && WorkRequestId.isReceive(wrId)) {
          work += onReceive(i, WorkRequestId.slot(wrId), listener);
        } else {
          work += takeBack(wrId, listener);
        }
      }
    } catch (PostRefusedException | VerbsException e) {
      queueLost = true;
      events.report(e);
    }
    return work;
  }

  private int end(EndpointListener listener) {
    state = State.ENDED;
    incident.tell(context.events().sink(), facts.subject());
    EndpointFailure reported = events.trouble();
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
    events.take();
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
      if (before == State.OPEN && events.trouble() == null) {
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
      events.report(e);
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
    while (!last && !queueLost && within(startNs, LINGER_BOUND_NS)) {
      events.takeOfDevice();
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
    events.close(resources);
  }
}
