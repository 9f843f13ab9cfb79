package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.MemorySegment;

/** How a queue pair is made and destroyed: by itself, or on an rdma_cm identifier. */
sealed interface QueuePairCalls {
  String createCall();

  String destroyCall();

  /** Returns the queue pair, or null with errno in the frame; writes the sizes got to init. */
  MemorySegment create(Frame frame, MemorySegment init);

  /** Returns 0 or an errno. */
  int destroy(Frame frame, MemorySegment queuePair);

  /** By itself; its owner changes its state. */
  record Plain(LibIbverbs ibverbs, MemorySegment domain) implements QueuePairCalls {
    @Override
    public String createCall() {
      return ibverbs.createQp.name();
    }

    @Override
    public String destroyCall() {
      return ibverbs.destroyQp.name();
    }

    @Override
    public MemorySegment create(Frame frame, MemorySegment init) {
      return ibverbs.createQp.pointer(frame, domain, init);
    }

    @Override
    public int destroy(Frame frame, MemorySegment queuePair) {
      return ibverbs.destroyQp.status(frame, queuePair);
    }
  }

  /**
   * On an identifier; librdmacm changes its state as the connection is made.
   *
   * @param id struct rdma_cm_id, with its size
   */
  record Connected(LibRdmacm rdmacm, MemorySegment id, MemorySegment domain)
      implements QueuePairCalls {
    @Override
    public String createCall() {
      return rdmacm.createQp.name();
    }

    @Override
    public String destroyCall() {
      return rdmacm.destroyQp.name();
    }

    @Override
    public MemorySegment create(Frame frame, MemorySegment init) {
      return rdmacm.createQp.status(frame, id, domain, init) == 0
          ? id.get(ADDRESS, Layouts.CM_ID_QP)
          : MemorySegment.NULL;
    }

    @Override
    public int destroy(Frame frame, MemorySegment queuePair) {
      rdmacm.destroyQp.run(frame, id);
      return 0;
    }
  }
}
