package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A completion queue (struct ibv_cq). */
final class NativeCompletionQueue extends UsedObject implements CompletionQueue {
  private static final long CQ_BYTES = 32;

  private final NativeDevice device;
  private final ContextOps ops;
  private final @Nullable NativeCompletionChannel channel;
  private final int capacity;

  private NativeCompletionQueue(
      NativeDevice device,
      MemorySegment pointer,
      @Nullable NativeCompletionChannel channel,
      int capacity) {
    super(device, pointer);
    this.device = device;
    this.ops = device.ops();
    this.channel = channel;
    this.capacity = capacity;
  }

  /** Makes it known to what it uses; throws when that has been closed meanwhile. */
  private void attach() {
    if (channel != null) {
      channel.addUser(this);
    }
    device.mapElement(address(), this);
  }

  @SuppressWarnings("restricted")
  static NativeCompletionQueue create(
      NativeDevice device, int entries, @Nullable NativeCompletionChannel channel, int vector) {
    check(device, entries, vector);
    NativeFunction createCq = device.verbs().ibverbs().createCq;
    MemorySegment events = channel == null ? MemorySegment.NULL : channel.pointer();
    try (Frame frame = new Frame()) {
      MemorySegment cq =
          createCq.pointer(frame, device.pointer(), entries, MemorySegment.NULL, events, vector);
      if (cq.address() == 0) {
        throw device.creationFailure(
            createCq, frame.errno(), "completion queue of " + entries + " entries on " + device);
      }
      int capacity = cq.reinterpret(CQ_BYTES).get(JAVA_INT, Layouts.CQ_CQE);
      NativeCompletionQueue queue = new NativeCompletionQueue(device, cq, channel, capacity);
      try {
        queue.attach();
        return queue;
      } catch (RuntimeException e) {
        int errno = queue.destroy();
        if (errno != 0) {
          e.addSuppressed(Errno.failure(queue.destroyCall(), errno, queue.toString()));
        }
        throw e;
      }
    }
  }

  private static void check(NativeDevice device, int entries, int vector) {
    if (entries < 1) {
      throw new IllegalArgumentException("a completion queue needs entries >= 1, not " + entries);
    }
    int limit = device.attributes().maxCompletionQueueEntries();
    if (entries > limit) {
      throw new VerbsException(
          "ibv_create_cq",
          0,
          "ibv_create_cq: completion queue of "
              + entries
              + " entries exceeds the limit of "
              + device
              + ", "
              + limit
              + "; use more queues or shallower queue pairs");
    }
    int vectors = device.attributes().completionVectors();
    if (vector < 0 || vector >= vectors) {
      throw new IllegalArgumentException(
          "completion vector " + vector + " of " + device + " is not below " + vectors);
    }
  }

  @Override
  public int capacity() {
    return capacity;
  }

  @Override
  public int poll(Completions batch) {
    int polled = ops.pollCq(address(), batch.capacity(), batch.address());
    if (polled < 0) {
      throw new VerbsException("ibv_poll_cq", 0, "ibv_poll_cq: " + this + " has failed: " + polled);
    }
    return polled;
  }

  @Override
  public void requestNotification(boolean solicitedOnly) {
    int errno = ops.reqNotifyCq(address(), solicitedOnly ? 1 : 0);
    if (errno != 0) {
      throw Errno.failure("ibv_req_notify_cq", Math.abs(errno), toString());
    }
  }

  @Override
  public boolean moderate(int completions, int periodUs) {
    if ((completions & ~0xffff) != 0 || (periodUs & ~0xffff) != 0) {
      throw new IllegalArgumentException(
          "moderation of "
              + completions
              + " completions and "
              + periodUs
              + " us, allowed: 0 to 65535 each");
    }
    try (Frame frame = new Frame()) {
      MemorySegment attributes = frame.allocate(Layouts.MODIFY_CQ_ATTR_BYTES);
      attributes.set(JAVA_INT, Layouts.MODIFY_CQ_ATTR_MASK, Layouts.IBV_CQ_ATTR_MODERATE);
      attributes.set(JAVA_SHORT, Layouts.MODIFY_CQ_ATTR_COUNT, (short) completions);
      attributes.set(JAVA_SHORT, Layouts.MODIFY_CQ_ATTR_PERIOD, (short) periodUs);
      int errno = ops.modifyCq(address(), attributes.address());
      if (errno == Errno.EOPNOTSUPP || errno == Errno.ENOSYS) {
        return false;
      }
      if (errno != 0) {
        throw Errno.failure("ibv_modify_cq", errno, toString());
      }
      return true;
    }
  }

  @Override
  public int closeRank() {
    return NativeDevice.RANK_COMPLETION_QUEUE;
  }

  @Override
  int destroy() {
    int errno;
    try (Frame frame = new Frame()) {
      errno = device.verbs().ibverbs().destroyCq.status(frame, pointer());
    }
    if (errno == 0) {
      device.unmapElement(address(), this);
      if (channel != null) {
        channel.removeUser(this);
      }
    }
    return errno;
  }

  @Override
  String destroyCall() {
    return device.verbs().ibverbs().destroyCq.name();
  }

  @Override
  public String toString() {
    return "completion queue (" + capacity + ") of " + device.name();
  }
}
