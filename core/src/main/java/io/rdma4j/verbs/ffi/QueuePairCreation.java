package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.rdma4j.verbs.QueuePairConfig;
import java.lang.foreign.MemorySegment;

/**
 * Makes a queue pair with the largest inline size up to the wish. Devices that can do less refuse
 * the creation (EINVAL or ENOMEM, by driver) instead of saying what they can, so the limit is found
 * by trying.
 */
final class QueuePairCreation {
  private final NativeProtectionDomain domain;
  private final QueuePairCalls calls;
  private final QueuePairConfig config;

  QueuePairCreation(NativeProtectionDomain domain, QueuePairCalls calls, QueuePairConfig config) {
    this.domain = domain;
    this.calls = calls;
    this.config = config;
    if (config.maxInlineBytes() < 0) {
      throw new IllegalArgumentException(
          "maxInlineBytes must not be negative: " + config.maxInlineBytes());
    }
  }

  NativeQueuePair create() {
    try (Frame frame = new Frame()) {
      MemorySegment init = frame.allocate(Layouts.QP_INIT_ATTR_BYTES);
      MemorySegment made = attempt(frame, init, config.maxInlineBytes());
      if (made.address() == 0) {
        int errno = frame.errno();
        boolean inlineMayBeWhy = errno == Errno.EINVAL || errno == Errno.ENOMEM;
        if (config.maxInlineBytes() > 0 && inlineMayBeWhy) {
          made = withLessInline(frame, init);
        }
        if (made.address() == 0) {
          throw failure(errno);
        }
      }
      int maxInlineBytes = init.get(JAVA_INT, Layouts.QP_INIT_ATTR_MAX_INLINE_DATA);
      NativeQueuePair queuePair = new NativeQueuePair(domain, made, calls, config, maxInlineBytes);
      try {
        queuePair.attach();
        return queuePair;
      } catch (RuntimeException e) {
        int errno = queuePair.destroy();
        if (errno != 0) {
          e.addSuppressed(Errno.failure(calls.destroyCall(), errno, queuePair.toString()));
        }
        throw e;
      }
    }
  }

  /** Bisects between no inline data, which works unless something else is wrong, and the wish. */
  private MemorySegment withLessInline(Frame frame, MemorySegment init) {
    MemorySegment made = attempt(frame, init, 0);
    int works = 0;
    int fails = config.maxInlineBytes();
    while (made.address() != 0 && fails - works > 1) {
      int middle = (works + fails) >>> 1;
      destroy(frame, made);
      made = attempt(frame, init, middle);
      if (made.address() != 0) {
        // A device rounds up; what it reports is good as well.
        works = Math.max(middle, init.get(JAVA_INT, Layouts.QP_INIT_ATTR_MAX_INLINE_DATA));
      } else {
        fails = middle;
        made = attempt(frame, init, works);
      }
    }
    return made;
  }

  private void destroy(Frame frame, MemorySegment made) {
    int errno = calls.destroy(frame, made);
    if (errno != 0) {
      throw Errno.failure(calls.destroyCall(), errno, "trial queue pair in " + domain);
    }
  }

  private MemorySegment attempt(Frame frame, MemorySegment init, int maxInlineBytes) {
    init.fill((byte) 0);
    init.set(ADDRESS, Layouts.QP_INIT_ATTR_SEND_CQ, queue(config.sendQueue()).pointer());
    init.set(ADDRESS, Layouts.QP_INIT_ATTR_RECV_CQ, queue(config.receiveQueue()).pointer());
    if (config.sharedReceiveQueue() != null) {
      NativeSharedReceiveQueue srq = (NativeSharedReceiveQueue) config.sharedReceiveQueue();
      init.set(ADDRESS, Layouts.QP_INIT_ATTR_SRQ, srq.pointer());
    }
    init.set(JAVA_INT, Layouts.QP_INIT_ATTR_MAX_SEND_WR, config.maxSendWorkRequests());
    init.set(JAVA_INT, Layouts.QP_INIT_ATTR_MAX_RECV_WR, config.maxReceiveWorkRequests());
    init.set(JAVA_INT, Layouts.QP_INIT_ATTR_MAX_SEND_SGE, config.maxSendSge());
    init.set(JAVA_INT, Layouts.QP_INIT_ATTR_MAX_RECV_SGE, config.maxReceiveSge());
    init.set(JAVA_INT, Layouts.QP_INIT_ATTR_MAX_INLINE_DATA, maxInlineBytes);
    init.set(JAVA_INT, Layouts.QP_INIT_ATTR_QP_TYPE, Layouts.IBV_QPT_RC);
    init.set(JAVA_INT, Layouts.QP_INIT_ATTR_SQ_SIG_ALL, 0);
    return calls.create(frame, init);
  }

  private static NativeCompletionQueue queue(Object queue) {
    return (NativeCompletionQueue) queue;
  }

  private RuntimeException failure(int errno) {
    NativeDevice device = domain.device();
    String subject =
        "queue pair of %d sends (%d entries each), %d receives (%d entries each), inline %d in %s;"
                .formatted(
                    config.maxSendWorkRequests(),
                    config.maxSendSge(),
                    config.maxReceiveWorkRequests(),
                    config.maxReceiveSge(),
                    config.maxInlineBytes(),
                    domain)
            + " limits: %d work requests, %d entries"
                .formatted(
                    device.attributes().maxQueuePairWorkRequests(), device.attributes().maxSge());
    return device.creationFailure(calls.createCall(), errno, subject);
  }
}
