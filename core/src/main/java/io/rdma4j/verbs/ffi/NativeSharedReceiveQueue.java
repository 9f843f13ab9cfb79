package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SharedReceiveQueue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A shared receive queue (struct ibv_srq). */
final class NativeSharedReceiveQueue extends UsedObject implements SharedReceiveQueue {
  /** IBV_SRQ_LIMIT of enum ibv_srq_attr_mask. */
  private static final int LIMIT = 1 << 1;

  private final NativeDevice device;
  private final ContextOps ops;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment badRequest = arena.allocate(ADDRESS);
  private final long badRequestAddress = badRequest.address();

  private NativeSharedReceiveQueue(NativeProtectionDomain domain, MemorySegment pointer) {
    super(domain, pointer);
    device = domain.device();
    ops = device.ops();
    device.mapElement(pointer.address(), this);
  }

  static NativeSharedReceiveQueue create(
      NativeProtectionDomain domain, int maxWorkRequests, int maxSge) {
    NativeFunction createSrq = domain.verbs().ibverbs().createSrq;
    try (Frame frame = new Frame()) {
      MemorySegment init = frame.allocate(Layouts.SRQ_INIT_ATTR_BYTES);
      init.set(JAVA_INT, Layouts.SRQ_INIT_ATTR_MAX_WR, maxWorkRequests);
      init.set(JAVA_INT, Layouts.SRQ_INIT_ATTR_MAX_SGE, maxSge);
      MemorySegment srq = createSrq.pointer(frame, domain.pointer(), init);
      if (srq.address() == 0) {
        throw domain
            .device()
            .creationFailure(
                createSrq,
                frame.errno(),
                "shared receive queue of "
                    + maxWorkRequests
                    + " work requests, "
                    + maxSge
                    + " scatter entries in "
                    + domain);
      }
      return new NativeSharedReceiveQueue(domain, srq);
    }
  }

  @Override
  public int postReceive(ReceiveList list) {
    if (list.size() == 0) {
      return list.posted(0, 0);
    }
    int errno = ops.postSharedReceive(address(), list.address(), badRequestAddress);
    return list.posted(errno, errno == 0 ? 0 : BadRequest.take(badRequest, 0, list.address()));
  }

  @Override
  public void arm(int limit) {
    NativeFunction modifySrq = device.verbs().ibverbs().modifySrq;
    try (Frame frame = new Frame()) {
      MemorySegment attr = frame.allocate(Layouts.SRQ_ATTR_BYTES);
      attr.set(JAVA_INT, Layouts.SRQ_ATTR_LIMIT, limit);
      int errno = modifySrq.status(frame, pointer(), attr, LIMIT);
      if (errno != 0) {
        throw Errno.failure(modifySrq.name(), errno, this + ", limit " + limit);
      }
    }
  }

  @Override
  public int closeRank() {
    return NativeProtectionDomain.RANK_SHARED_RECEIVE_QUEUE;
  }

  @Override
  int destroy() {
    int errno;
    try (Frame frame = new Frame()) {
      errno = device.verbs().ibverbs().destroySrq.status(frame, pointer());
    }
    if (errno == 0) {
      device.unmapElement(address(), this);
      arena.close();
    }
    return errno;
  }

  @Override
  String destroyCall() {
    return device.verbs().ibverbs().destroySrq.name();
  }

  @Override
  public String toString() {
    return "shared receive queue of " + device.name();
  }
}
