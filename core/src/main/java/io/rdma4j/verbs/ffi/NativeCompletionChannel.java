package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.rdma4j.verbs.CompletionChannel;
import java.lang.foreign.MemorySegment;

/**
 * A completion event channel (struct ibv_comp_channel) whose descriptor never blocks.
 *
 * <p>An event is acknowledged as soon as it is taken, so that destroying a queue never waits. A
 * close waits until the waiting thread is back.
 */
final class NativeCompletionChannel extends UsedObject implements CompletionChannel {
  private static final long CHANNEL_BYTES = 16;

  private final NativeDevice device;
  private final Frame frame;
  private final MemorySegment queue;
  private final MemorySegment queueContext;
  private final FileDescriptors.Wait wait;
  private final int descriptor;

  /** Held while waiting, apart from the object's own lock so that queues come and go meanwhile. */
  private final Object waiting = new Object();

  private NativeCompletionChannel(NativeDevice device, MemorySegment pointer, Frame frame, int fd) {
    super(device, pointer);
    this.device = device;
    this.frame = frame;
    queue = frame.allocate(ADDRESS.byteSize());
    queueContext = frame.allocate(ADDRESS.byteSize());
    wait = new FileDescriptors.Wait(frame, fd);
    descriptor = fd;
  }

  @SuppressWarnings("restricted")
  static NativeCompletionChannel create(NativeDevice device) {
    LibIbverbs ibverbs = device.verbs().ibverbs();
    Frame frame = Frame.shared();
    MemorySegment channel = ibverbs.createCompChannel.pointer(frame, device.pointer());
    try {
      if (channel.address() == 0) {
        throw device.creationFailure(
            ibverbs.createCompChannel, frame.errno(), "completion channel of " + device);
      }
      int fd = channel.reinterpret(CHANNEL_BYTES).get(JAVA_INT, Layouts.COMP_CHANNEL_FD);
      FileDescriptors.setNonBlocking(frame, fd);
      return new NativeCompletionChannel(device, channel, frame, fd);
    } catch (Throwable e) {
      if (channel.address() != 0) {
        ibverbs.destroyCompChannel.status(frame, channel);
      }
      frame.close();
      throw e;
    }
  }

  @Override
  public boolean await(long timeoutNs) {
    synchronized (waiting) {
      return takeEvent(timeoutNs);
    }
  }

  @Override
  public int descriptor() {
    return descriptor;
  }

  private boolean takeEvent(long timeoutNs) {
    LibIbverbs ibverbs = device.verbs().ibverbs();
    while (true) {
      int errno = ibverbs.getCqEvent.status(frame, pointer(), queue, queueContext);
      if (errno == 0) {
        ibverbs.ackCqEvents.run(frame, queue.get(ADDRESS, 0), 1);
        return true;
      }
      if (errno != Errno.EAGAIN && errno != Errno.EINTR) {
        throw Errno.failure(ibverbs.getCqEvent.name(), errno, toString());
      }
      if (errno == Errno.EAGAIN && (timeoutNs <= 0 || !wait.untilReadable(timeoutNs))) {
        return false;
      }
    }
  }

  @Override
  public int closeRank() {
    return NativeDevice.RANK_COMPLETION_CHANNEL;
  }

  @Override
  int destroy() {
    synchronized (waiting) {
      int errno = device.verbs().ibverbs().destroyCompChannel.status(frame, pointer());
      if (errno == 0) {
        frame.close();
      }
      return errno;
    }
  }

  @Override
  String destroyCall() {
    return device.verbs().ibverbs().destroyCompChannel.name();
  }

  @Override
  public String toString() {
    return "completion channel of " + device.name();
  }
}
