package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.DeviceAttributes.Atomics;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A device context (struct ibv_context), shared by everyone who opened it and by the rdma_cm
 * identifiers bound to it. Each of them closes it once; the last one closes what was made from it.
 */
final class NativeDevice extends NativeObject implements Device {
  static final int RANK_PROTECTION_DOMAIN = 0;
  static final int RANK_COMPLETION_QUEUE = 1;
  static final int RANK_COMPLETION_CHANNEL = 2;

  private final NativeVerbs verbs;
  private final String name;
  private final boolean ownedByRdmacm;
  private final ContextOps ops;
  private final int asyncDescriptor;
  private final DeviceAttributes attributes;
  private final Map<Long, AutoCloseable> elements = new ConcurrentHashMap<>();
  private int openers = 1;

  /**
   * Wraps an open context.
   *
   * @param context with its size
   * @param ownedByRdmacm true when librdmacm keeps the context open for the life of the process
   */
  NativeDevice(NativeVerbs verbs, String name, MemorySegment context, boolean ownedByRdmacm) {
    super(null, context);
    this.verbs = verbs;
    this.name = name;
    this.ownedByRdmacm = ownedByRdmacm;
    ops = new ContextOps(context);
    asyncDescriptor = context.get(JAVA_INT, Layouts.CONTEXT_ASYNC_FD);
    try (Frame frame = new Frame()) {
      FileDescriptors.setNonBlocking(frame, asyncDescriptor);
      attributes = queryDevice(frame, context.get(JAVA_INT, Layouts.CONTEXT_NUM_COMP_VECTORS));
    }
  }

  NativeVerbs verbs() {
    return verbs;
  }

  ContextOps ops() {
    return ops;
  }

  /** Counts one more opener. Returns false when the last one has just left. */
  synchronized boolean tryOpen() {
    if (openers == 0) {
      return false;
    }
    openers++;
    return true;
  }

  @Override
  public void close() {
    synchronized (this) {
      if (openers > 0 && --openers > 0) {
        return;
      }
    }
    verbs.forget(this);
    super.close();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public DeviceAttributes attributes() {
    return attributes;
  }

  private DeviceAttributes queryDevice(Frame frame, int completionVectors) {
    NativeFunction queryDevice = verbs.ibverbs().queryDevice;
    MemorySegment attr = frame.allocate(Layouts.DEVICE_ATTR_BYTES);
    int errno = queryDevice.status(frame, pointer(), attr);
    if (errno != 0) {
      throw Errno.failure(queryDevice.name(), errno, toString());
    }
    return new DeviceAttributes(
        attr.getString(Layouts.DEVICE_ATTR_FW_VER),
        signed(attr.get(JAVA_LONG, Layouts.DEVICE_ATTR_MAX_MR_SIZE)),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_QP),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_QP_WR),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_SGE),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_CQ),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_CQE),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_MR),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_QP_RD_ATOM),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_QP_INIT_RD_ATOM),
        attr.get(JAVA_INT, Layouts.DEVICE_ATTR_MAX_SRQ),
        Byte.toUnsignedInt(attr.get(JAVA_BYTE, Layouts.DEVICE_ATTR_PHYS_PORT_CNT)),
        completionVectors,
        Atomics.of(attr.get(JAVA_INT, Layouts.DEVICE_ATTR_ATOMIC_CAP)));
  }

  /** Returns an unsigned size, or the largest long when it is beyond (rxe has no limit). */
  private static long signed(long unsignedSize) {
    return unsignedSize < 0 ? Long.MAX_VALUE : unsignedSize;
  }

  @Override
  public PortAttributes port(int port) {
    checkPort(port);
    NativeFunction queryPort = verbs.ibverbs().queryPort;
    try (Frame frame = new Frame()) {
      MemorySegment attr = frame.allocate(Layouts.PORT_ATTR_BYTES);
      int errno = queryPort.status(frame, pointer(), port, attr);
      if (errno != 0) {
        throw Errno.failure(queryPort.name(), errno, "port " + port + " of " + this);
      }
      PortAttributes.State[] states = PortAttributes.State.values();
      PortAttributes.LinkLayer[] linkLayers = PortAttributes.LinkLayer.values();
      int state = attr.get(JAVA_INT, Layouts.PORT_ATTR_STATE);
      int linkLayer = attr.get(JAVA_BYTE, Layouts.PORT_ATTR_LINK_LAYER);
      return new PortAttributes(
          states[state < states.length ? state : 0],
          128 << attr.get(JAVA_INT, Layouts.PORT_ATTR_ACTIVE_MTU),
          Integer.toUnsignedLong(attr.get(JAVA_INT, Layouts.PORT_ATTR_MAX_MSG_SZ)),
          attr.get(JAVA_INT, Layouts.PORT_ATTR_GID_TBL_LEN),
          Short.toUnsignedInt(attr.get(JAVA_SHORT, Layouts.PORT_ATTR_LID)),
          linkLayers[linkLayer < linkLayers.length ? linkLayer : 0]);
    }
  }

  @Override
  public byte[] gid(int port, int index) {
    checkPort(port);
    NativeFunction queryGid = verbs.ibverbs().queryGid;
    try (Frame frame = new Frame()) {
      MemorySegment gid = frame.allocate(Layouts.GID_BYTES);
      int errno = queryGid.status(frame, pointer(), port, index, gid);
      if (errno != 0) {
        throw Errno.failure(
            queryGid.name(), errno, "GID " + index + " of port " + port + " of " + this);
      }
      return gid.toArray(JAVA_BYTE);
    }
  }

  private void checkPort(int port) {
    if (port < 1 || port > attributes.physicalPorts()) {
      throw new IllegalArgumentException(
          "port " + port + " of " + this + " is not in 1 to " + attributes.physicalPorts());
    }
  }

  @Override
  public ProtectionDomain allocateProtectionDomain() {
    return adopt(() -> NativeProtectionDomain.allocate(this));
  }

  @Override
  public CompletionChannel createCompletionChannel() {
    return adopt(() -> NativeCompletionChannel.create(this));
  }

  @Override
  public CompletionQueue createCompletionQueue(
      int entries, @Nullable CompletionChannel channel, int completionVector) {
    return adopt(
        () ->
            NativeCompletionQueue.create(
                this, entries, (NativeCompletionChannel) channel, completionVector));
  }

  /** Makes an object known under the address that asynchronous events name it by. */
  void mapElement(long address, AutoCloseable element) {
    elements.put(address, element);
  }

  /** Forgets an object, unless its address belongs to a younger one already. */
  void unmapElement(long address, AutoCloseable element) {
    elements.remove(address, element);
  }

  @Override
  public synchronized @Nullable AsyncEvent pollAsyncEvent() {
    LibIbverbs ibverbs = verbs.ibverbs();
    try (Frame frame = new Frame()) {
      MemorySegment event = frame.allocate(Layouts.ASYNC_EVENT_BYTES);
      int errno = ibverbs.getAsyncEvent.status(frame, pointer(), event);
      if (errno == Errno.EAGAIN || errno == Errno.EINTR) {
        return null;
      }
      if (errno != 0) {
        throw Errno.failure(ibverbs.getAsyncEvent.name(), errno, toString());
      }
      // Until it is acknowledged its object can not be destroyed, and so keeps its address.
      try {
        return eventOf(event);
      } finally {
        ibverbs.ackAsyncEvent.run(frame, event);
      }
    }
  }

  private AsyncEvent eventOf(MemorySegment event) {
    int rawType = event.get(JAVA_INT, Layouts.ASYNC_EVENT_TYPE);
    AsyncEvent.Type type = AsyncEvent.Type.of(rawType);
    AutoCloseable source = null;
    int port = 0;
    switch (type) {
      case PORT_ACTIVE,
          PORT_ERR,
          LID_CHANGE,
          PKEY_CHANGE,
          SM_CHANGE,
          CLIENT_REREGISTER,
          GID_CHANGE ->
          port = event.get(JAVA_INT, Layouts.ASYNC_EVENT_ELEMENT);
      case DEVICE_FATAL, UNKNOWN -> {
        // Nothing more is known of these.
      }
      default -> source = elements.get(event.get(ADDRESS, Layouts.ASYNC_EVENT_ELEMENT).address());
    }
    return new AsyncEvent(type, rawType, source, port);
  }

  VerbsException creationFailure(NativeFunction call, int errno, String subject) {
    return creationFailure(call.name(), errno, subject);
  }

  /**
   * Returns the failure of a creation; lack of memory is explained with the locked-memory limit.
   */
  VerbsException creationFailure(String call, int errno, String subject) {
    return errno == Errno.ENOMEM
        ? Errno.failure(call, errno, subject, verbs.pinnedMemory().explain(0))
        : Errno.failure(call, errno, subject);
  }

  @Override
  public int closeRank() {
    return 0;
  }

  @Override
  int destroy() {
    if (ownedByRdmacm) {
      return 0;
    }
    try (Frame frame = new Frame()) {
      return verbs.ibverbs().closeDevice.status(frame, pointer());
    }
  }

  @Override
  String destroyCall() {
    return verbs.ibverbs().closeDevice.name();
  }

  @Override
  public String toString() {
    return "device " + name;
  }
}
