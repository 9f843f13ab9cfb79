package io.rdma4j.verbs.ffi;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.PinnedMemory;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;

/** A protection domain (struct ibv_pd). */
final class NativeProtectionDomain extends NativeObject implements ProtectionDomain {
  static final int RANK_QUEUE_PAIR = 0;
  static final int RANK_SHARED_RECEIVE_QUEUE = 1;
  static final int RANK_MEMORY_REGION = 2;

  /** Bits that a device may ignore (IBV_ACCESS_OPTIONAL_RANGE). */
  private static final int OPTIONAL_ACCESS = 0x3ff << 20;

  private static final long MR_BYTES = 48;

  private final NativeDevice device;

  NativeProtectionDomain(NativeDevice device, MemorySegment pointer) {
    super(device, pointer);
    this.device = device;
  }

  static NativeProtectionDomain allocate(NativeDevice device) {
    NativeFunction allocPd = device.verbs().ibverbs().allocPd;
    try (Frame frame = new Frame()) {
      MemorySegment pd = allocPd.pointer(frame, device.pointer());
      if (pd.address() == 0) {
        throw device.creationFailure(allocPd, frame.errno(), "protection domain of " + device);
      }
      return new NativeProtectionDomain(device, pd);
    }
  }

  @Override
  public NativeDevice device() {
    return device;
  }

  NativeVerbs verbs() {
    return device.verbs();
  }

  @Override
  public MemoryRegion registerMemory(long address, long lengthBytes, long iova, int access) {
    check(address, lengthBytes, access);
    return adopt(() -> register(address, lengthBytes, iova, access));
  }

  private static void check(long address, long lengthBytes, int access) {
    if (lengthBytes < 1) {
      throw new IllegalArgumentException(
          "a memory region needs lengthBytes >= 1, not " + Long.toUnsignedString(lengthBytes));
    }
    if (address == 0) {
      throw new IllegalArgumentException("a memory region needs an address, not 0");
    }
    int remote = access & (Access.REMOTE_WRITE | Access.REMOTE_ATOMIC);
    if (remote != 0 && (access & Access.LOCAL_WRITE) == 0) {
      throw new IllegalArgumentException(
          String.format(
              "access 0x%x: REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well", access));
    }
  }

  @SuppressWarnings("restricted")
  private NativeMemoryRegion register(long address, long lengthBytes, long iova, int access) {
    LibIbverbs ibverbs = verbs().ibverbs();
    NativeFunction iova2 = ibverbs.regMrIova2;
    boolean plain = iova == address && (access & OPTIONAL_ACCESS) == 0;
    NativeFunction call = plain || iova2 == null ? ibverbs.regMr : iova2;
    if (iova != address && iova2 == null) {
      throw new VerbsException(
          "ibv_reg_mr_iova2",
          Errno.ENOSYS,
          String.format(
              "ibv_reg_mr_iova2: %s is too old to register 0x%x under another address 0x%x",
              verbs().ibverbsName(), address, iova));
    }
    PinnedMemory pinned = verbs().pinnedMemory();
    try (Frame frame = new Frame()) {
      MemorySegment memory = MemorySegment.ofAddress(address);
      // Without iova2 the optional bits are dropped: a device may ignore them anyway.
      MemorySegment mr =
          call == ibverbs.regMr
              ? call.pointer(frame, pointer(), memory, lengthBytes, access & ~OPTIONAL_ACCESS)
              : call.pointer(frame, pointer(), memory, lengthBytes, iova, access);
      if (mr.address() == 0) {
        throw registrationFailure(call, frame.errno(), address, lengthBytes, access);
      }
      pinned.pinned(address, lengthBytes);
      return new NativeMemoryRegion(this, mr.reinterpret(MR_BYTES), address, lengthBytes);
    }
  }

  private VerbsException registrationFailure(
      NativeFunction call, int errno, long address, long lengthBytes, int access) {
    String subject =
        String.format("[0x%x, +%d) access 0x%x in %s", address, lengthBytes, access, this);
    if (errno == Errno.ENOMEM) {
      PinnedMemory pinned = verbs().pinnedMemory();
      return Errno.failure(
          call.name(), errno, subject, pinned.explain(pinned.footprintBytes(address, lengthBytes)));
    }
    return errno == Errno.EFAULT
        ? Errno.failure(
            call.name(), errno, subject, "the range is not mapped, or not with these rights")
        : Errno.failure(call.name(), errno, subject);
  }

  @Override
  public QueuePair createQueuePair(QueuePairConfig config) {
    return adopt(() -> NativeQueuePair.create(this, config));
  }

  @Override
  public SharedReceiveQueue createSharedReceiveQueue(int maxWorkRequests, int maxSge) {
    return adopt(() -> NativeSharedReceiveQueue.create(this, maxWorkRequests, maxSge));
  }

  @Override
  public int closeRank() {
    return NativeDevice.RANK_PROTECTION_DOMAIN;
  }

  @Override
  int destroy() {
    try (Frame frame = new Frame()) {
      return verbs().ibverbs().deallocPd.status(frame, pointer());
    }
  }

  @Override
  String destroyCall() {
    return verbs().ibverbs().deallocPd.name();
  }

  @Override
  public String toString() {
    return "protection domain of " + device.name();
  }
}
