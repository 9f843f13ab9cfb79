package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.RemotePath;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.Set;

/** A reliable-connected queue pair (struct ibv_qp). */
final class NativeQueuePair extends NativeObject implements QueuePair {
  private static final long QP_BYTES = 64;

  /** 0.64 ms: how long a peer waits after a receiver-not-ready before it sends again. */
  private static final byte MIN_RNR_TIMER = 12;

  private static final byte HOP_LIMIT = 64;

  /** Outstanding RDMA reads and atomics in each direction, where the device can do as many. */
  private static final int READS_IN_FLIGHT = 16;

  private final NativeDevice device;
  private final ContextOps ops;
  private final QueuePairCalls calls;
  private final Set<UsedObject> uses = new LinkedHashSet<>();
  private final int number;
  private final int maxInlineBytes;

  /** One bad_wr for each direction, as sends and receives may be posted by two threads. */
  private final Arena arena = Arena.ofShared();

  private final MemorySegment badRequests = arena.allocate(ADDRESS, 2);
  private final long badSend = badRequests.address();
  private final long badReceive = badSend + ADDRESS.byteSize();

  @SuppressWarnings("restricted")
  NativeQueuePair(
      NativeProtectionDomain domain,
      MemorySegment pointer,
      QueuePairCalls calls,
      QueuePairConfig config,
      int maxInlineBytes) {
    super(domain, pointer);
    this.device = domain.device();
    this.ops = device.ops();
    this.calls = calls;
    this.maxInlineBytes = maxInlineBytes;
    number = pointer.reinterpret(QP_BYTES).get(JAVA_INT, Layouts.QP_NUM);
    uses.add((UsedObject) config.sendQueue());
    uses.add((UsedObject) config.receiveQueue());
    if (config.sharedReceiveQueue() != null) {
      uses.add((UsedObject) config.sharedReceiveQueue());
    }
  }

  /** Makes it known to what it uses; throws when one of these has been closed meanwhile. */
  void attach() {
    uses.forEach(used -> used.addUser(this));
    device.mapElement(address(), this);
  }

  private void detach() {
    device.unmapElement(address(), this);
    uses.forEach(used -> used.removeUser(this));
    arena.close();
  }

  static NativeQueuePair create(NativeProtectionDomain domain, QueuePairConfig config) {
    QueuePairCalls calls = new QueuePairCalls.Plain(domain.verbs().ibverbs(), domain.pointer());
    return new QueuePairCreation(domain, calls, config).create();
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
  public int postSend(SendList list) {
    if (list.size() == 0) {
      return list.posted(0, 0);
    }
    int errno = ops.postSend(address(), list.address(), badSend);
    return list.posted(errno, errno == 0 ? 0 : BadRequest.take(badRequests, 0, list.address()));
  }

  @Override
  public int postReceive(ReceiveList list) {
    if (list.size() == 0) {
      return list.posted(0, 0);
    }
    int errno = ops.postReceive(address(), list.address(), badReceive);
    return list.posted(errno, errno == 0 ? 0 : BadRequest.take(badRequests, 1, list.address()));
  }

  @Override
  public QueuePairState state() {
    try (Frame frame = new Frame()) {
      MemorySegment attr = query(frame, Layouts.IBV_QP_STATE);
      return QueuePairState.of(attr.get(JAVA_INT, Layouts.QP_ATTR_QP_STATE));
    }
  }

  @Override
  public ConnectedPath path() {
    try (Frame frame = new Frame()) {
      MemorySegment attr = query(frame, Layouts.PATH_MASK);
      boolean global = attr.get(JAVA_BYTE, Layouts.QP_ATTR_AH_IS_GLOBAL) != 0;
      return new ConnectedPath(
          mtuBytes(attr.get(JAVA_INT, Layouts.QP_ATTR_PATH_MTU)),
          global ? unsigned(attr, Layouts.QP_ATTR_AH_SGID_INDEX) : -1,
          unsigned(attr, Layouts.QP_ATTR_MAX_RD_ATOMIC),
          unsigned(attr, Layouts.QP_ATTR_MAX_DEST_RD_ATOMIC));
    }
  }

  private static int unsigned(MemorySegment attr, long offset) {
    return Byte.toUnsignedInt(attr.get(JAVA_BYTE, offset));
  }

  private MemorySegment query(Frame frame, int mask) {
    NativeFunction queryQp = device.verbs().ibverbs().queryQp;
    MemorySegment attr = frame.allocate(Layouts.QP_ATTR_BYTES);
    MemorySegment init = frame.allocate(Layouts.QP_INIT_ATTR_BYTES);
    int errno = queryQp.status(frame, pointer(), attr, mask, init);
    if (errno != 0) {
      throw Errno.failure(queryQp.name(), errno, toString());
    }
    return attr;
  }

  @Override
  public void toInit(int port, int access) {
    try (Frame frame = new Frame()) {
      MemorySegment attr = attributes(frame, Layouts.IBV_QPS_INIT);
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_PORT_NUM, (byte) port);
      attr.set(JAVA_SHORT, Layouts.QP_ATTR_PKEY_INDEX, (short) 0);
      attr.set(JAVA_INT, Layouts.QP_ATTR_QP_ACCESS_FLAGS, access);
      modify(frame, attr, Layouts.TO_INIT_MASK, "to INIT on port " + port);
    }
  }

  @Override
  public void toReadyToReceive(RemotePath path) {
    int mtu = mtu(path.mtuBytes());
    if (path.destinationGid().length != Layouts.GID_BYTES) {
      throw new IllegalArgumentException(
          "destinationGid must have 16 bytes, not " + path.destinationGid().length);
    }
    boolean global = false;
    for (byte b : path.destinationGid()) {
      global |= b != 0;
    }
    try (Frame frame = new Frame()) {
      MemorySegment attr = attributes(frame, Layouts.IBV_QPS_RTR);
      attr.set(JAVA_INT, Layouts.QP_ATTR_PATH_MTU, mtu);
      attr.set(JAVA_INT, Layouts.QP_ATTR_DEST_QP_NUM, path.destinationQueuePair());
      attr.set(JAVA_INT, Layouts.QP_ATTR_RQ_PSN, path.receivePacketNumber());
      attr.set(
          JAVA_BYTE,
          Layouts.QP_ATTR_MAX_DEST_RD_ATOMIC,
          readsInFlight(device.attributes().maxReadAtomicAsTarget()));
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_MIN_RNR_TIMER, MIN_RNR_TIMER);
      MemorySegment.copy(path.destinationGid(), 0, attr, JAVA_BYTE, Layouts.QP_ATTR_AH_DGID, 16);
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_AH_SGID_INDEX, (byte) path.sourceGidIndex());
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_AH_HOP_LIMIT, HOP_LIMIT);
      attr.set(JAVA_SHORT, Layouts.QP_ATTR_AH_DLID, (short) path.destinationLid());
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_AH_IS_GLOBAL, (byte) (global ? 1 : 0));
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_AH_PORT_NUM, (byte) path.port());
      modify(frame, attr, Layouts.TO_RTR_MASK, "to RTR with " + path);
    }
  }

  @Override
  public void toReadyToSend(RemotePath path) {
    try (Frame frame = new Frame()) {
      MemorySegment attr = attributes(frame, Layouts.IBV_QPS_RTS);
      attr.set(JAVA_INT, Layouts.QP_ATTR_SQ_PSN, path.sendPacketNumber());
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_TIMEOUT, (byte) path.timeoutExponent());
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_RETRY_CNT, (byte) path.retryCount());
      attr.set(JAVA_BYTE, Layouts.QP_ATTR_RNR_RETRY, (byte) path.rnrRetryCount());
      attr.set(
          JAVA_BYTE,
          Layouts.QP_ATTR_MAX_RD_ATOMIC,
          readsInFlight(device.attributes().maxReadAtomicAsInitiator()));
      modify(frame, attr, Layouts.TO_RTS_MASK, "to RTS with " + path);
    }
  }

  @Override
  public void toError() {
    try (Frame frame = new Frame()) {
      MemorySegment attr = attributes(frame, Layouts.IBV_QPS_ERR);
      modify(frame, attr, Layouts.IBV_QP_STATE, "to ERR");
    }
  }

  private static MemorySegment attributes(Frame frame, int state) {
    MemorySegment attr = frame.allocate(Layouts.QP_ATTR_BYTES);
    attr.set(JAVA_INT, Layouts.QP_ATTR_QP_STATE, state);
    return attr;
  }

  private void modify(Frame frame, MemorySegment attr, int mask, String change) {
    NativeFunction modifyQp = device.verbs().ibverbs().modifyQp;
    int errno = modifyQp.status(frame, pointer(), attr, mask);
    if (errno != 0) {
      throw Errno.failure(modifyQp.name(), errno, this + " " + change);
    }
  }

  private static byte readsInFlight(int deviceLimit) {
    return (byte) Math.min(deviceLimit, READS_IN_FLIGHT);
  }

  /** Returns the number of enum ibv_mtu. */
  private static int mtu(int bytes) {
    for (int mtu = Layouts.IBV_MTU_256; mtu <= Layouts.IBV_MTU_4096; mtu++) {
      if (bytes == 128 << mtu) {
        return mtu;
      }
    }
    throw new IllegalArgumentException("mtuBytes must be a power of 2, 256 to 4096, not " + bytes);
  }

  /** Returns the bytes that a number of enum ibv_mtu stands for, 0 when it stands for none. */
  private static int mtuBytes(int mtu) {
    return mtu >= Layouts.IBV_MTU_256 && mtu <= Layouts.IBV_MTU_4096 ? 128 << mtu : 0;
  }

  @Override
  public int closeRank() {
    return NativeProtectionDomain.RANK_QUEUE_PAIR;
  }

  @Override
  int destroy() {
    int errno;
    try (Frame frame = new Frame()) {
      errno = calls.destroy(frame, pointer());
    }
    if (errno == 0) {
      detach();
    }
    return errno;
  }

  @Override
  String destroyCall() {
    return calls.destroyCall();
  }

  @Override
  public String toString() {
    return "queue pair " + number + " of " + device.name();
  }
}
