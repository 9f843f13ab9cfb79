package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.RemotePath;
import io.rdma4j.verbs.SendList;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair of a scripted device: a posted send is executed at once against the peer's posted
 * receive or registered memory, unless the test stalls it, cuts its cable, or scripts its status.
 */
public final class ScriptedQueuePair implements QueuePair {
  /** Status of a request whose peer does not answer (IBV_WC_RETRY_EXC_ERR). */
  public static final int RETRY_EXCEEDED = 12;

  private static final int LOCAL_PROTECTION_ERROR = 4;
  private static final int REMOTE_INVALID_REQUEST = 9;
  private static final int REMOTE_ACCESS_ERROR = 10;
  private static final int RNR_RETRY_EXCEEDED = 13;
  private static final int ENDLESS_RNR_RETRY = 7;

  /** Outcome of an execution that has to wait; not a status. */
  private static final int WAIT = -1;

  final ScriptedProtectionDomain domain;
  private final Wire wire;
  private final LocalMemory memory;
  private final int number;
  private final ScriptedCompletionQueue sendCompletions;
  private final ScriptedCompletionQueue receiveCompletions;
  private final SendQueue sends;
  private final ReceiveQueue receives;
  private final @Nullable ScriptedSharedReceiveQueue shared;
  private final int maxInlineBytes;
  private QueuePairState state = QueuePairState.RESET;
  private @Nullable ScriptedQueuePair peer;
  private int rnrRetryCount = ENDLESS_RNR_RETRY;
  private boolean stalled;
  private boolean cut;
  private boolean closed;
  private boolean losesAcknowledgement;
  private boolean owesLastReceive;
  private int nextStatus;
  private int nextVendorError;
  private ConnectedPath path = new ConnectedPath(0, -1, 0, 0);

  /** Packets beyond get lost. */
  private int mostPacketBytes = Integer.MAX_VALUE;

  ScriptedQueuePair(ScriptedProtectionDomain domain, QueuePairConfig config) {
    this.domain = domain;
    wire = domain.device.wire;
    memory = new LocalMemory(domain);
    number = wire.nextNumber();
    sendCompletions = (ScriptedCompletionQueue) config.sendQueue();
    receiveCompletions = (ScriptedCompletionQueue) config.receiveQueue();
    maxInlineBytes = Math.min(config.maxInlineBytes(), domain.device.limits().maxInlineBytes);
    sends = new SendQueue(wire, config.maxSendWorkRequests(), config.maxSendSge(), maxInlineBytes);
    shared = (ScriptedSharedReceiveQueue) config.sharedReceiveQueue();
    if (shared == null) {
      receives = new ReceiveQueue(wire, config.maxReceiveWorkRequests(), config.maxReceiveSge());
    } else {
      receives = shared.queue;
      shared.attach();
    }
    sendCompletions.attach();
    receiveCompletions.attach();
    stalled = wire.stepped;
    wire.attach(this);
    wire.ledger.created(Ledger.Kind.QUEUE_PAIR);
  }

  /** Executes nothing from now on: posted sends stay on the send queue. */
  public void stall() {
    synchronized (wire) {
      stalled = true;
    }
  }

  /** Executes what has been stalled, and whatever comes. */
  public void resume() {
    synchronized (wire) {
      stalled = false;
      progress();
    }
  }

  /**
   * Executes the oldest send of a stalled queue pair.
   *
   * @return false when there is none, or none that can be executed now
   */
  public boolean executeNext() {
    synchronized (wire) {
      return executeOldest();
    }
  }

  /**
   * Lets the acknowledgement of the next executed send get lost: the message arrives, and the send
   * fails with {@link #RETRY_EXCEEDED}.
   */
  public void loseNextAcknowledgement() {
    synchronized (wire) {
      losesAcknowledgement = true;
    }
  }

  /** Makes the peer unreachable: sends in both directions fail with {@link #RETRY_EXCEEDED}. */
  public void cut() {
    synchronized (wire) {
      cut = true;
      if (peer != null) {
        peer.cut = true;
      }
    }
  }

  /** Lets the next executed send fail with a status instead of being carried out. */
  public void failNext(int status, int vendorError) {
    synchronized (wire) {
      nextStatus = status;
      nextVendorError = vendorError;
    }
  }

  /** Returns the completion queue of the sends. */
  public ScriptedCompletionQueue sendCompletions() {
    return sendCompletions;
  }

  /** Returns the completion queue of the receives. */
  public ScriptedCompletionQueue receiveCompletions() {
    return receiveCompletions;
  }

  @Override
  public int number() {
    return number;
  }

  @Override
  public int maxInlineBytes() {
    return maxInlineBytes;
  }

  @Override
  public QueuePairState state() {
    synchronized (wire) {
      return state;
    }
  }

  @Override
  public ConnectedPath path() {
    synchronized (wire) {
      wire.faults.enter("ibv_query_qp", this);
      return path;
    }
  }

  @Override
  public void toInit(int port, int access) {
    synchronized (wire) {
      wire.faults.enter("ibv_modify_qp", this);
      state = QueuePairState.INIT;
    }
  }

  @Override
  public void toReadyToReceive(RemotePath remote) {
    synchronized (wire) {
      wire.faults.enter("ibv_modify_qp", this);
      path = new ConnectedPath(remote.mtuBytes(), remote.sourceGidIndex(), 0, 0);
      peer = wire.queuePair(remote.destinationQueuePair());
      state = QueuePairState.RTR;
    }
  }

  @Override
  public void toReadyToSend(RemotePath remote) {
    synchronized (wire) {
      wire.faults.enter("ibv_modify_qp", this);
      rnrRetryCount = remote.rnrRetryCount();
      state = QueuePairState.RTS;
      progress();
    }
  }

  boolean isClosed() {
    return closed;
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /**
   * Connects by rdma_cm: INIT, RTR and RTS in one step.
   *
   * @param carriedBytes largest packet that reaches the peer
   */
  void connect(ScriptedQueuePair to, int rnrRetries, ConnectedPath with, int carriedBytes) {
    peer = to;
    path = with;
    mostPacketBytes = carriedBytes;
    rnrRetryCount = rnrRetries;
    state = QueuePairState.RTS;
    progress();
  }

  /** Puts a queue pair made by rdma_cm where receives may be posted. */
  void initialise() {
    state = QueuePairState.INIT;
  }

  @Override
  public void toError() {
    synchronized (wire) {
      requireOpen();
      wire.faults.enter("ibv_modify_qp", this);
      fail();
    }
  }

  @Override
  public int postSend(SendList list) {
    synchronized (wire) {
      requireOpen();
      if (state != QueuePairState.RTS && state != QueuePairState.ERR) {
        return list.posted(Errno.EINVAL, list.address());
      }
      int taken = sends.post(list);
      wire.ledger.readsUnderWay(sends.readsUnderWay());
      progress();
      return taken;
    }
  }

  @Override
  public int postReceive(ReceiveList list) {
    synchronized (wire) {
      requireOpen();
      if (state == QueuePairState.RESET || shared != null) {
        return list.posted(Errno.EINVAL, list.address());
      }
      int taken = receives.post("ibv_post_recv", list);
      if (state == QueuePairState.ERR) {
        flushReceives();
      } else if (peer != null) {
        peer.progress();
      }
      return taken;
    }
  }

  void progress() {
    if (state == QueuePairState.ERR) {
      flushSends();
      return;
    }
    while (!stalled && executeOldest()) {
      // On to the next one.
    }
  }

  private boolean executeOldest() {
    SendQueue.Entry entry = state == QueuePairState.RTS ? sends.peek() : null;
    if (entry == null) {
      return false;
    }
    int status = wire.defect == Defect.NONE ? execute(entry) : executeBadly(entry);
    if (status == WAIT) {
      return false;
    }
    if (status == Completions.SUCCESS && losesAcknowledgement) {
      losesAcknowledgement = false;
      status = RETRY_EXCEEDED;
    }
    sends.take();
    completeSend(entry, status);
    if (status != Completions.SUCCESS) {
      fail();
    }
    return true;
  }

  /** Executes a request as a device would that breaks its promises. */
  private int executeBadly(SendQueue.Entry entry) {
    SendQueue.Entry second = sends.peekSecond();
    if (second != null && wire.strikes(Defect.REORDERS)) {
      int status = execute(second);
      if (status == Completions.SUCCESS) {
        entry.swapMessage(second);
      }
      return status;
    }
    if (entry.isSignaled() && !entry.isInline() && wire.strikes(Defect.COMPLETES_EARLY)) {
      completeSend(entry, Completions.SUCCESS);
      entry.flags &= ~SendList.SIGNALED;
      return WAIT;
    }
    if (wire.strikes(Defect.LOSES)) {
      return Completions.SUCCESS;
    }
    int status = execute(entry);
    if (status == Completions.SUCCESS && wire.strikes(Defect.DUPLICATES)) {
      return execute(entry);
    }
    return status;
  }

  private int execute(SendQueue.Entry entry) {
    if (nextStatus != 0) {
      int status = nextStatus;
      nextStatus = 0;
      return status;
    }
    ScriptedQueuePair to = peer;
    if (cut || to == null || (to.state != QueuePairState.RTR && to.state != QueuePairState.RTS)) {
      return RETRY_EXCEEDED;
    }
    if (Math.min(entry.lengthBytes, path.mtuBytes()) > mostPacketBytes) {
      return RETRY_EXCEEDED;
    }
    return switch (entry.opcode) {
      case SendList.OP_SEND, SendList.OP_SEND_WITH_IMM -> deliver(entry, to);
      case SendList.OP_RDMA_WRITE, SendList.OP_RDMA_WRITE_WITH_IMM -> write(entry, to);
      case SendList.OP_RDMA_READ -> read(entry, to);
      case SendList.OP_COMPARE_AND_SWAP, SendList.OP_FETCH_AND_ADD -> atomic(entry, to);
      default -> REMOTE_INVALID_REQUEST;
    };
  }

  private int deliver(SendQueue.Entry entry, ScriptedQueuePair to) {
    if (!memory.keysGrant(entry, 0)) {
      return LOCAL_PROTECTION_ERROR;
    }
    ReceiveQueue.Entry receive = to.receives.peek();
    if (receive == null) {
      wire.ledger.receiverWasNotReady();
      return rnrRetryCount == ENDLESS_RNR_RETRY ? WAIT : RNR_RETRY_EXCEEDED;
    }
    to.takeReceive();
    int status = to.memory.scatter(entry, memory, receive);
    boolean immediate = entry.opcode == SendList.OP_SEND_WITH_IMM;
    to.completeReceive(receive.wrId, status, Completions.OPCODE_RECEIVE, entry, immediate);
    if (status != Completions.SUCCESS) {
      to.fail();
      return REMOTE_INVALID_REQUEST;
    }
    return Completions.SUCCESS;
  }

  private void takeReceive() {
    receives.take();
    if (shared != null) {
      shared.taken();
    }
  }

  private int write(SendQueue.Entry entry, ScriptedQueuePair to) {
    if (!memory.keysGrant(entry, 0)) {
      return LOCAL_PROTECTION_ERROR;
    }
    boolean immediate = entry.opcode == SendList.OP_RDMA_WRITE_WITH_IMM;
    ReceiveQueue.Entry receive = to.receives.peek();
    if (immediate && receive == null) {
      wire.ledger.receiverWasNotReady();
      return rnrRetryCount == ENDLESS_RNR_RETRY ? WAIT : RNR_RETRY_EXCEEDED;
    }
    if (entry.lengthBytes > 0) {
      long target = to.remote(entry, Access.REMOTE_WRITE);
      if (target < 0) {
        return to.denied();
      }
      memory.gather(entry, 0, target, entry.lengthBytes);
    }
    if (immediate && receive != null) {
      to.takeReceive();
      to.completeReceive(
          receive.wrId,
          Completions.SUCCESS,
          Completions.OPCODE_RECEIVE_WRITE_WITH_IMM,
          entry,
          true);
    }
    return Completions.SUCCESS;
  }

  private int read(SendQueue.Entry entry, ScriptedQueuePair to) {
    if (!memory.keysGrant(entry, Access.LOCAL_WRITE)) {
      return LOCAL_PROTECTION_ERROR;
    }
    if (entry.lengthBytes == 0) {
      return Completions.SUCCESS;
    }
    long source = to.remote(entry, Access.REMOTE_READ);
    if (source < 0) {
      return to.denied();
    }
    for (int j = 0; j < entry.sgeCount; j++) {
      long target =
          memory.at(entry.keys[j], entry.addresses[j], entry.lengths[j], Access.LOCAL_WRITE);
      NativeMemory.copy(source, target, entry.lengths[j]);
      source += entry.lengths[j];
    }
    return Completions.SUCCESS;
  }

  private int atomic(SendQueue.Entry entry, ScriptedQueuePair to) {
    if (entry.lengthBytes != Long.BYTES || !memory.keysGrant(entry, Access.LOCAL_WRITE)) {
      return LOCAL_PROTECTION_ERROR;
    }
    long word = to.remote(entry, Access.REMOTE_ATOMIC);
    if (word < 0 || word % Long.BYTES != 0) {
      return to.denied();
    }
    long before =
        entry.opcode == SendList.OP_FETCH_AND_ADD
            ? NativeMemory.getAndAdd(word, entry.compareOrAdd)
            : NativeMemory.compareAndExchange(word, entry.compareOrAdd, entry.swap);
    NativeMemory.putLong(
        memory.at(entry.keys[0], entry.addresses[0], Long.BYTES, Access.LOCAL_WRITE), before);
    return Completions.SUCCESS;
  }

  private long remote(SendQueue.Entry entry, int accessBit) {
    return domain.device.regions.translate(
        domain, entry.rkey, entry.remoteAddress, entry.lengthBytes, accessBit);
  }

  /** A peer asked for what its key does not grant: this side is in error too. */
  private int denied() {
    domain.device.raise(AsyncEvent.Type.QP_ACCESS_ERR, this, 0);
    fail();
    return REMOTE_ACCESS_ERROR;
  }

  private void completeSend(SendQueue.Entry entry, int status) {
    if (status == Completions.SUCCESS && !entry.isSignaled()) {
      return;
    }
    Completion completion = sendCompletions.scratch();
    completion.wrId = entry.wrId;
    completion.status = status;
    completion.opcode = status == Completions.SUCCESS ? entry.opcode : -1;
    completion.vendorError = nextVendorErrorFor(status);
    completion.lengthBytes = entry.lengthBytes;
    completion.immediate = 0;
    completion.flags = 0;
    completion.queuePairNumber = number;
    completion.queuePair = this;
    completion.sendSequence = entry.sequence;
    sendCompletions.push();
  }

  private int nextVendorErrorFor(int status) {
    if (status == Completions.SUCCESS || status == Completions.FLUSHED) {
      return 0;
    }
    int vendorError = nextVendorError;
    nextVendorError = 0;
    return vendorError;
  }

  private void completeReceive(
      long wrId, int status, int opcode, SendQueue.@Nullable Entry from, boolean immediate) {
    Completion completion = receiveCompletions.scratch();
    completion.wrId = wrId;
    completion.status = status;
    completion.opcode = status == Completions.SUCCESS ? opcode : -1;
    completion.vendorError = 0;
    completion.lengthBytes = from == null ? 0 : from.lengthBytes;
    completion.immediate = from == null ? 0 : from.immediate;
    completion.flags = immediate ? Completions.FLAG_WITH_IMM : 0;
    completion.queuePairNumber = number;
    completion.queuePair = this;
    completion.sendSequence = -1;
    receiveCompletions.push();
  }

  private void fail() {
    if (state != QueuePairState.ERR) {
      state = QueuePairState.ERR;
      flushSends();
      if (shared == null) {
        flushReceives();
      } else {
        owesLastReceive = true;
        tellLastReceive();
      }
    }
  }

  /** Tells that this queue pair takes no more shared receives, behind its last completion. */
  void tellLastReceive() {
    if (owesLastReceive
        && !domain.device.keepsLastReceive()
        && !receiveCompletions.holdsReceiveOf(this)) {
      owesLastReceive = false;
      domain.device.raise(AsyncEvent.Type.QP_LAST_WQE_REACHED, this, 0);
    }
  }

  private void flushSends() {
    for (SendQueue.Entry entry; (entry = sends.peek()) != null; ) {
      sends.take();
      completeSend(entry, Completions.FLUSHED);
    }
  }

  private void flushReceives() {
    for (ReceiveQueue.Entry entry; (entry = receives.peek()) != null; ) {
      receives.take();
      completeReceive(entry.wrId, Completions.FLUSHED, 0, null, false);
    }
  }

  /** Frees the place of a request whose completion has been polled. */
  void retire(long sendSequence) {
    if (sendSequence < 0) {
      receives.retire();
    } else {
      sends.retire(sendSequence);
    }
  }

  @Override
  public void close() {
    synchronized (wire) {
      if (closed) {
        return;
      }
      closed = true;
      state = QueuePairState.ERR;
      wire.detach(this);
      sendCompletions.detach(this);
      receiveCompletions.detach(this);
      if (shared != null) {
        shared.detach();
      }
      domain.forget(this);
      wire.ledger.destroyed(Ledger.Kind.QUEUE_PAIR);
    }
  }

  @Override
  public String toString() {
    return "queue pair " + number + " of " + domain.device;
  }
}
