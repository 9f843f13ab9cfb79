package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.rdma4j.verbs.MemoryRegion;
import java.lang.foreign.MemorySegment;

/** A memory region (struct ibv_mr). */
final class NativeMemoryRegion extends MemoryRegion implements Child {
  private final NativeProtectionDomain domain;
  private final MemorySegment pointer;

  /** Set once the C object is gone; deregistering may still fail behind that and be tried again. */
  private boolean freed;

  NativeMemoryRegion(
      NativeProtectionDomain domain, MemorySegment pointer, long address, long lengthBytes) {
    super(
        address,
        lengthBytes,
        pointer.get(JAVA_INT, Layouts.MR_LKEY),
        pointer.get(JAVA_INT, Layouts.MR_RKEY));
    this.domain = domain;
    this.pointer = pointer;
  }

  @Override
  public int closeRank() {
    return NativeProtectionDomain.RANK_MEMORY_REGION;
  }

  @Override
  protected void deregister() {
    if (!freed) {
      NativeFunction deregMr = domain.verbs().ibverbs().deregMr;
      try (Frame frame = new Frame()) {
        int errno = deregMr.status(frame, pointer);
        if (errno != 0) {
          throw Errno.failure(deregMr.name(), errno, this + " of " + domain);
        }
      }
      freed = true;
      domain.verbs().pinnedMemory().unpinned(address(), lengthBytes());
    }
    domain.childDestroyed(this);
  }
}
