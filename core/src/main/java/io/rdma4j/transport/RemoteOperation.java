package io.rdma4j.transport;

import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.pool.RegisteredRange;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * An operation on memory that the peer exports: read, write, write with immediate data,
 * fetch-and-add and compare-and-swap. One at a time; used again and again, it makes no garbage.
 *
 * <p>The operations of one connection take effect in the order in which they were started, except
 * that a read may see later ones too, as on a queue pair without fence. Atomics are atomic against
 * everybody in the peer's process who uses atomic access, and work on words in the peer's byte
 * order.
 *
 * <p>The peer's polling thread carries them out. Where the path has a device that can, this side's
 * device does, without the peer's processors: on {@code verbs} except iWARP, from the second
 * operation on a region on, when the peer has sent a key for its device; atomics only where the
 * peer's device says that its atomics are atomic towards processors as well, and nothing of 0
 * bytes. What an operation means is the same. Of the device these are different:
 *
 * <ul>
 *   <li>A read into memory of the node's pool goes there without a copy. It ends when the device
 *       has let go of the target, which after a lost packet may be later than the deadline or a
 *       cancel.
 *   <li>When the path ends under a write or an atomic, it ends with OUTCOME_UNKNOWN. A read is
 *       asked again over the next path, if there is one.
 *   <li>A peer that gives memory up under an operation in spite of its promise to wait ends the
 *       path ({@link ExportedRegion#close}).
 * </ul>
 *
 * <p>One thread at a time starts and waits. Each method that starts returns a positive number on
 * success, 0 when the operation has ended already, or a negative {@link io.rdma4j.SendResult}:
 * nothing was started. What is asked beyond the region's bounds or rights is refused with a {@link
 * RequestFailedException} of cause REMOTE_ACCESS before anything is sent. The target of a read
 * belongs to the operation until its end; after that nothing is written into it any more.
 */
public final class RemoteOperation {
  private final Connection connection;
  private final RemoteRequests requests;
  private final @Nullable RemoteHandler handler;
  private final End end = new End();
  private final Sleeper sleeper = new Sleeper(this::isDone);

  // Written by the starting thread before the request is sent.
  private MemorySegment target = MemorySegment.NULL;
  private long targetOffset;
  private int expectedBytes;
  private boolean readsInPlace;
  private long requestId;
  private long deadlineNs;

  // Written by whoever ends it, before `done`.
  private @Nullable Cause cause;
  private String message = "";
  private long value;
  private volatile boolean done = true;

  RemoteOperation(Connection connection, RemoteRequests requests, @Nullable RemoteHandler handler) {
    this.connection = connection;
    this.requests = requests;
    this.handler = handler;
  }

  /** Returns how much one operation may read or write. */
  public int maxTransferBytes() {
    return requests.maxTransferBytes();
  }

  /** Reads from the peer's memory into this side's. */
  public long read(
      RegionDescriptor region,
      long regionOffset,
      MemorySegment into,
      long intoOffset,
      int lengthBytes,
      long timeoutNs) {
    check(region, regionOffset, lengthBytes, MemoryAccess.REMOTE_READ);
    Objects.checkFromIndexSize(intoOffset, lengthBytes, into.byteSize());
    if (into.isReadOnly()) {
      throw new IllegalArgumentException("the target of a read is read-only: " + into);
    }
    expect(timeoutNs);
    target = into;
    targetOffset = intoOffset;
    expectedBytes = lengthBytes;
    return start(RemoteWire.READ, region, regionOffset, 0, 0, MemorySegment.NULL, 0, lengthBytes);
  }

  /** Writes into the peer's memory; the source is free again on return. */
  public long write(
      RegionDescriptor region,
      long regionOffset,
      MemorySegment source,
      long sourceOffset,
      int lengthBytes,
      long timeoutNs) {
    check(region, regionOffset, lengthBytes, MemoryAccess.REMOTE_WRITE);
    expect(timeoutNs);
    return start(RemoteWire.WRITE, region, regionOffset, 0, 0, source, sourceOffset, lengthBytes);
  }

  /** Writes, and lets the peer's {@link ConnectionHandler#onImmediate} know with 32 bits. */
  public long writeImmediate(
      RegionDescriptor region,
      long regionOffset,
      MemorySegment source,
      long sourceOffset,
      int lengthBytes,
      int immediate,
      long timeoutNs) {
    check(region, regionOffset, lengthBytes, MemoryAccess.REMOTE_WRITE);
    expect(timeoutNs);
    return start(
        RemoteWire.WRITE_IMMEDIATE,
        region,
        regionOffset,
        immediate,
        0,
        source,
        sourceOffset,
        lengthBytes);
  }

  /** Adds to a word of the peer's memory; its value is the word before. */
  public long fetchAdd(RegionDescriptor region, long regionOffset, long addend, long timeoutNs) {
    check(region, regionOffset, RemoteWire.WORD_BYTES, MemoryAccess.REMOTE_ATOMIC);
    expect(timeoutNs);
    return start(
        RemoteWire.FETCH_ADD,
        region,
        regionOffset,
        addend,
        0,
        MemorySegment.NULL,
        0,
        RemoteWire.WORD_BYTES);
  }

  /**
   * Replaces a word of the peer's memory if it is as expected; its value is the word before, which
   * is the expected one exactly when it was replaced.
   */
  public long compareAndSwap(
      RegionDescriptor region, long regionOffset, long expected, long desired, long timeoutNs) {
    check(region, regionOffset, RemoteWire.WORD_BYTES, MemoryAccess.REMOTE_ATOMIC);
    expect(timeoutNs);
    return start(
        RemoteWire.COMPARE_AND_SWAP,
        region,
        regionOffset,
        expected,
        desired,
        MemorySegment.NULL,
        0,
        RemoteWire.WORD_BYTES);
  }

  private void check(RegionDescriptor region, long offset, int lengthBytes, int right) {
    if (lengthBytes < 0 || lengthBytes > maxTransferBytes()) {
      throw new IllegalArgumentException(
          "one operation moves 0 to "
              + maxTransferBytes()
              + " bytes on this connection, not "
              + lengthBytes
              + "; use several, or raise NodeConfig.maxMessageBytes on both ends");
    }
    if (offset < 0 || offset > region.lengthBytes() - lengthBytes) {
      throw refused(
          "offset %d and %d bytes of a region of %d bytes"
              .formatted(offset, lengthBytes, region.lengthBytes()));
    }
    if (!MemoryAccess.includes(region.access(), right)) {
      throw refused(
          "%s of a region exported for %s"
              .formatted(MemoryAccess.toString(right), MemoryAccess.toString(region.access())));
    }
  }

  private static RequestFailedException refused(String what) {
    return new RequestFailedException(Cause.REMOTE_ACCESS, "refused before it was sent: " + what);
  }

  private void expect(long timeoutNs) {
    if (!done) {
      throw new IllegalStateException("this operation is under way; wait for its end");
    }
    deadlineNs = connection.node().clockNs() + timeoutNs;
    target = MemorySegment.NULL;
    targetOffset = 0;
    expectedBytes = 0;
    cause = null;
    done = false;
  }

  private long start(
      int opcode,
      RegionDescriptor region,
      long regionOffset,
      long operand,
      long desired,
      MemorySegment source,
      long sourceOffset,
      int lengthBytes) {
    requestId = -1;
    try {
      requestId =
          requests.start(
              opcode,
              region,
              regionOffset,
              operand,
              desired,
              source,
              sourceOffset,
              lengthBytes,
              deadlineNs,
              this);
    } finally {
      if (requestId < 0) {
        done = true;
      }
    }
    return requestId;
  }

  /** Returns the address of a read's target when all of it is memory of a pool, else 0. */
  long pooledTarget(RegisteredBufferPool pool, int lengthBytes) {
    if (!target.isNative()) {
      return 0;
    }
    long address = target.address() + targetOffset;
    RegisteredRange range = pool.findAddress(address);
    return range != null && range.contains(address, lengthBytes) ? address : 0;
  }

  /** Says whether what is read comes by the device straight into the target. */
  void readsInPlace(boolean inPlace) {
    readsInPlace = inPlace;
  }

  ReplyHandler end() {
    return end;
  }

  /** Returns true when nothing is under way. */
  public boolean isDone() {
    return done;
  }

  /**
   * Waits for the end of what was started last. On a node without pollers of its own the caller
   * polls while it waits.
   *
   * @return the word before the operation, for atomics; else 0
   * @throws RequestFailedException when it failed or its deadline has passed, or the thread was
   *     interrupted
   * @throws IllegalStateException in a handler, which would wait for its own poller
   */
  public long await() {
    boolean interrupted = false;
    while (!done) {
      if (connection.room().poll()) {
        interrupted |= cancelIfInterrupted();
        continue;
      }
      // The node's background thread ends it at its deadline.
      sleeper.sleep();
      interrupted |= cancelIfInterrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    Cause failed = cause;
    if (failed != null) {
      throw new RequestFailedException(failed, message);
    }
    return value;
  }

  private boolean cancelIfInterrupted() {
    if (!Thread.interrupted()) {
      return false;
    }
    connection.requests().giveUp(requestId, Cause.CANCELLED);
    return true;
  }

  /** Ends the operation. Polling thread, or whoever gives it up. */
  private final class End implements ReplyHandler {
    @Override
    public void onReply(long context, Message reply) {
      int lengthBytes = reply.lengthBytes() - RemoteWire.DONE_BYTES;
      int status = lengthBytes < 0 ? -1 : RemoteWire.status(reply.memory(), reply.offset());
      if (reply.type() != MessageType.REMOTE_DONE || status < 0) {
        end(Cause.PEER_FAILED, "the peer answered an operation on its memory with something else");
      } else if (status != RemoteWire.DONE) {
        end(Cause.REMOTE_ACCESS, "the peer refused: " + RemoteWire.statusText(status));
      } else if (lengthBytes != (readsInPlace ? 0 : expectedBytes)) {
        end(
            Cause.PEER_FAILED,
            "the peer sent " + lengthBytes + " bytes for a read of " + expectedBytes);
      } else {
        succeed(reply, lengthBytes);
      }
    }

    private void succeed(Message reply, int lengthBytes) {
      try {
        MemorySegment.copy(
            reply.memory(),
            reply.offset() + RemoteWire.DONE_BYTES,
            target,
            targetOffset,
            lengthBytes);
      } catch (RuntimeException e) { // its arena is closed, or another thread's
        end(Cause.CANCELLED, "the target of the read can not be written any more: " + e);
        return;
      }
      value = RemoteWire.value(reply.memory(), reply.offset());
      wake();
      if (handler != null) {
        handler.onDone(RemoteOperation.this, value);
      }
    }

    @Override
    public void onFailure(long context, Cause failed, String text) {
      end(failed, text);
    }

    private void end(Cause failed, String text) {
      cause = failed;
      message = text;
      wake();
      if (handler != null) {
        handler.onFailure(RemoteOperation.this, failed, text);
      }
    }

    private void wake() {
      target = MemorySegment.NULL;
      done = true;
      sleeper.wake();
    }
  }
}
