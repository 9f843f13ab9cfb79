package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * An rdma_cm identifier (struct rdma_cm_id) on an event channel of its own, whose descriptor never
 * blocks.
 *
 * <p>{@code lifetime} is held while the C object is used by {@link #disconnect()} or destroyed, as
 * these may meet; everything else is the owner's thread.
 */
final class NativeCmId implements CmId {
  private static final int MAX_CONNECT_PRIVATE_DATA = 56;
  private static final int MAX_ACCEPT_PRIVATE_DATA = 196;
  private static final int MAX_REJECT_PRIVATE_DATA = 148;

  private final NativeVerbs verbs;
  private final LibRdmacm rdmacm;
  private final Frame frame = Frame.shared();
  private final MemorySegment eventPointer = frame.allocate(ADDRESS.byteSize());
  private final Object lifetime = new Object();
  private final MemorySegment channel;
  private final FileDescriptors.Wait wait;

  /** With its size; null once destroyed. */
  private @Nullable MemorySegment id;

  private boolean closed;
  private @Nullable NativeDevice device;
  private @Nullable QueuePair queuePair;

  /** Makes the channel; {@link #adopt} or {@link #make} gives it its identifier. */
  @SuppressWarnings("restricted")
  private NativeCmId(NativeVerbs verbs) {
    this.verbs = verbs;
    rdmacm = verbs.rdmacm();
    MemorySegment made = rdmacm.createEventChannel.pointer(frame);
    if (made.address() == 0) {
      int errno = frame.errno();
      frame.close();
      throw Errno.failure(
          rdmacm.createEventChannel.name(),
          errno,
          "event channel",
          "modprobe rdma_ucm; /dev/infiniband/rdma_cm must be there and open to this user"
              + " (container: --device=/dev/infiniband)");
    }
    channel = made;
    int fd = made.reinterpret(Integer.BYTES).get(JAVA_INT, Layouts.EVENT_CHANNEL_FD);
    wait = new FileDescriptors.Wait(frame, fd);
    try {
      FileDescriptors.setNonBlocking(frame, fd);
    } catch (Throwable e) {
      rdmacm.destroyEventChannel.run(frame, channel);
      frame.close();
      throw e;
    }
  }

  static NativeCmId create(NativeVerbs verbs) {
    NativeCmId cmId = new NativeCmId(verbs);
    try {
      cmId.make();
      return cmId;
    } catch (Throwable e) {
      cmId.close();
      throw e;
    }
  }

  private void make() {
    MemorySegment out = frame.allocate(ADDRESS.byteSize());
    int errno =
        rdmacm.createId.status(frame, channel, out, MemorySegment.NULL, Layouts.RDMA_PS_TCP);
    check(rdmacm.createId, errno, "identifier");
    id = sized(out.get(ADDRESS, 0));
  }

  /** Takes over the identifier of a connect request and moves it to a channel of its own. */
  private static NativeCmId adopt(NativeVerbs verbs, MemorySegment newId) {
    NativeCmId cmId;
    try {
      cmId = new NativeCmId(verbs);
    } catch (Throwable e) {
      try (Frame call = new Frame()) {
        verbs.rdmacm().destroyId.status(call, newId);
      }
      throw e;
    }
    try {
      int errno = cmId.rdmacm.migrateId.status(cmId.frame, newId, cmId.channel);
      cmId.check(cmId.rdmacm.migrateId, errno, "identifier of a connect request");
      cmId.id = sized(newId);
      return cmId;
    } catch (Throwable e) {
      try (Frame call = new Frame()) {
        cmId.rdmacm.destroyId.status(call, newId);
      }
      cmId.close();
      throw e;
    }
  }

  @SuppressWarnings("restricted")
  private static MemorySegment sized(MemorySegment id) {
    return id.reinterpret(Layouts.CM_ID_BYTES);
  }

  private MemorySegment id() {
    MemorySegment now = id;
    if (now == null) {
      throw new IllegalStateException("rdma_cm identifier is closed");
    }
    return now;
  }

  private void check(NativeFunction call, int errno, String subject) {
    if (errno != 0) {
      throw Errno.failure(call.name(), errno, subject);
    }
  }

  @Override
  public void bind(InetSocketAddress local) {
    try (Frame call = new Frame()) {
      int errno = rdmacm.bindAddr.status(call, id(), SocketAddresses.toC(call, local));
      check(rdmacm.bindAddr, errno, "local address " + local);
    }
  }

  @Override
  public void listen(int backlog) {
    try (Frame call = new Frame()) {
      check(rdmacm.listen, rdmacm.listen.status(call, id(), backlog), "on " + localAddress());
    }
  }

  @Override
  public void resolveAddress(
      @Nullable InetSocketAddress local, InetSocketAddress peer, int timeoutMs) {
    try (Frame call = new Frame()) {
      MemorySegment from = local == null ? MemorySegment.NULL : SocketAddresses.toC(call, local);
      int errno =
          rdmacm.resolveAddr.status(call, id(), from, SocketAddresses.toC(call, peer), timeoutMs);
      check(rdmacm.resolveAddr, errno, "peer " + peer + (local == null ? "" : " from " + local));
    }
  }

  @Override
  public void resolveRoute(int timeoutMs) {
    try (Frame call = new Frame()) {
      int errno = rdmacm.resolveRoute.status(call, id(), timeoutMs);
      check(rdmacm.resolveRoute, errno, "from " + localAddress());
    }
  }

  @Override
  public @Nullable CmEvent awaitEvent(long timeoutNs) {
    id();
    while (true) {
      int errno = rdmacm.getCmEvent.status(frame, channel, eventPointer);
      if (errno == 0) {
        return take(eventPointer.get(ADDRESS, 0));
      }
      if (errno != Errno.EAGAIN && errno != Errno.EINTR) {
        throw Errno.failure(rdmacm.getCmEvent.name(), errno, toString());
      }
      if (errno == Errno.EAGAIN && (timeoutNs <= 0 || !wait.untilReadable(timeoutNs))) {
        return null;
      }
    }
  }

  /** Copies an event, then gives it back. */
  @SuppressWarnings("restricted")
  private CmEvent take(MemorySegment pointer) {
    MemorySegment event = pointer.reinterpret(Layouts.CM_EVENT_BYTES);
    try {
      CmEvent.Type type = CmEvent.Type.of(event.get(JAVA_INT, Layouts.CM_EVENT_TYPE));
      // A connect request's identifier moves before the event is given back: until then nothing
      // else can arrive for it on this channel.
      NativeCmId newId =
          type == CmEvent.Type.CONNECT_REQUEST
              ? adopt(verbs, event.get(ADDRESS, Layouts.CM_EVENT_ID))
              : null;
      return copy(event, type, newId);
    } finally {
      // Fails only for an event that is none.
      rdmacm.ackCmEvent.status(frame, event);
    }
  }

  @SuppressWarnings("restricted")
  private static CmEvent copy(MemorySegment event, CmEvent.Type type, @Nullable NativeCmId newId) {
    MemorySegment param = event.asSlice(Layouts.CM_EVENT_CONN_PARAM, Layouts.CONN_PARAM_BYTES);
    MemorySegment data = param.get(ADDRESS, Layouts.CONN_PARAM_PRIVATE_DATA);
    int length = unsigned(param, Layouts.CONN_PARAM_PRIVATE_DATA_LEN);
    return new CmEvent(
        type,
        event.get(JAVA_INT, Layouts.CM_EVENT_STATUS),
        data.address() == 0 ? new byte[0] : data.reinterpret(length).toArray(JAVA_BYTE),
        unsigned(param, Layouts.CONN_PARAM_RESPONDER_RESOURCES),
        unsigned(param, Layouts.CONN_PARAM_INITIATOR_DEPTH),
        newId);
  }

  private static int unsigned(MemorySegment struct, long offset) {
    return Byte.toUnsignedInt(struct.get(JAVA_BYTE, offset));
  }

  @Override
  public NativeDevice device() {
    NativeDevice known = device;
    if (known != null) {
      return known;
    }
    MemorySegment context = id().get(ADDRESS, Layouts.CM_ID_VERBS);
    if (context.address() == 0) {
      throw new IllegalStateException(
          this + " is not bound to a device yet: bind to a device's address, or resolve a peer");
    }
    NativeDevice opened = verbs.openContext(context);
    device = opened;
    return opened;
  }

  /** Returns the name of the device it is bound to, null when it is bound to none. */
  @Nullable String deviceName() {
    MemorySegment context = id().get(ADDRESS, Layouts.CM_ID_VERBS);
    return context.address() == 0 ? null : verbs.nameOfContext(context);
  }

  @Override
  public int devicePort() {
    return unsigned(id(), Layouts.CM_ID_PORT_NUM);
  }

  @Override
  public InetSocketAddress localAddress() {
    return SocketAddresses.toJava(id().asSlice(Layouts.CM_ID_SRC_ADDR, Layouts.SOCKADDR_BYTES));
  }

  @Override
  public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config) {
    if (domain.device() != device()) {
      throw new IllegalArgumentException(
          domain + " belongs to " + domain.device() + ", but " + this + " is bound to " + device());
    }
    NativeProtectionDomain pd = (NativeProtectionDomain) domain;
    QueuePairCalls calls = new QueuePairCalls.Connected(rdmacm, id(), pd.pointer());
    QueuePair made = pd.adopt(() -> new QueuePairCreation(pd, calls, config).create());
    queuePair = made;
    return made;
  }

  @Override
  public void connect(CmParameters parameters) {
    try (Frame call = new Frame()) {
      int errno =
          rdmacm.connect.status(call, id(), toC(call, parameters, MAX_CONNECT_PRIVATE_DATA));
      check(rdmacm.connect, errno, "from " + localAddress());
    }
  }

  @Override
  public void accept(CmParameters parameters) {
    try (Frame call = new Frame()) {
      int errno = rdmacm.accept.status(call, id(), toC(call, parameters, MAX_ACCEPT_PRIVATE_DATA));
      check(rdmacm.accept, errno, "on " + localAddress());
    }
  }

  private static MemorySegment toC(Frame call, CmParameters parameters, int maxPrivateData) {
    byte[] data = parameters.privateData();
    MemorySegment c = call.allocate(Layouts.CONN_PARAM_BYTES);
    c.set(ADDRESS, Layouts.CONN_PARAM_PRIVATE_DATA, privateData(call, data, maxPrivateData));
    c.set(JAVA_BYTE, Layouts.CONN_PARAM_PRIVATE_DATA_LEN, (byte) data.length);
    c.set(
        JAVA_BYTE,
        Layouts.CONN_PARAM_RESPONDER_RESOURCES,
        (byte) ranged("responderResources", parameters.responderResources(), 255));
    c.set(
        JAVA_BYTE,
        Layouts.CONN_PARAM_INITIATOR_DEPTH,
        (byte) ranged("initiatorDepth", parameters.initiatorDepth(), 255));
    c.set(
        JAVA_BYTE,
        Layouts.CONN_PARAM_RETRY_COUNT,
        (byte) ranged("retryCount", parameters.retryCount(), 7));
    c.set(
        JAVA_BYTE,
        Layouts.CONN_PARAM_RNR_RETRY_COUNT,
        (byte) ranged("rnrRetryCount", parameters.rnrRetryCount(), 7));
    return c;
  }

  private static int ranged(String name, int value, int max) {
    if (value < 0 || value > max) {
      throw new IllegalArgumentException(name + " must be 0 to " + max + ", not " + value);
    }
    return value;
  }

  private static MemorySegment privateData(Frame call, byte[] data, int max) {
    if (data.length > max) {
      throw new IllegalArgumentException(
          "private data of " + data.length + " bytes exceeds the " + max + " that fit here");
    }
    if (data.length == 0) {
      return MemorySegment.NULL;
    }
    return call.allocate(data.length).copyFrom(MemorySegment.ofArray(data));
  }

  @Override
  public void reject(byte[] privateData) {
    try (Frame call = new Frame()) {
      MemorySegment data = privateData(call, privateData, MAX_REJECT_PRIVATE_DATA);
      int errno = rdmacm.reject.status(call, id(), data, privateData.length);
      check(rdmacm.reject, errno, "on " + localAddress());
    }
  }

  @Override
  public void disconnect() {
    synchronized (lifetime) {
      MemorySegment now = id;
      if (now == null) {
        return;
      }
      try (Frame call = new Frame()) {
        int errno = rdmacm.disconnect.status(call, now);
        // Not connected, never or no longer: nothing to do.
        if (errno != 0 && errno != Errno.EINVAL && errno != Errno.ENOTCONN) {
          throw Errno.failure(rdmacm.disconnect.name(), errno, toString());
        }
      }
    }
  }

  @Override
  public void close() {
    Failures failures = new Failures();
    synchronized (lifetime) {
      if (closed) {
        return;
      }
      QueuePair made = queuePair;
      if (made != null) {
        failures.attempt(made::close);
      }
      MemorySegment now = id;
      if (now != null) {
        String name = toString(); // reads the C object, so before that goes
        failures.attempt(() -> check(rdmacm.destroyId, rdmacm.destroyId.status(frame, now), name));
      }
      id = null;
      closed = true;
      rdmacm.destroyEventChannel.run(frame, channel);
      frame.close();
    }
    NativeDevice opened = device;
    if (opened != null) {
      failures.attempt(opened::close);
    }
    failures.throwIfAny();
  }

  @Override
  public String toString() {
    return id == null ? "closed rdma_cm identifier" : "rdma_cm identifier " + localAddress();
  }
}
