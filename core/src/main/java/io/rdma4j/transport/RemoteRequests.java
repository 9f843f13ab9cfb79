package io.rdma4j.transport;

import static io.rdma4j.transport.RemoteWire.REQUEST_BYTES;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Starts one-sided operations of this side: by its device where there is one and the peer has given
 * a key, else as messages, which the peer carries out in the order they were sent.
 *
 * <p>An operation of the device would overtake one that the peer has yet to take from a message. So
 * the device gets one only when no answer is awaited. The other way round there is nothing to
 * watch: a message follows on the device's queue.
 *
 * <p>Safe for use by several threads. Makes no garbage.
 */
final class RemoteRequests {
  private final Node node;
  private final Sender sender;
  private final RequestTable table;
  private final RemoteKeys keys;
  private final DeviceOperations device;

  /** Serialises those who start, and guards the scratch memory. */
  private final ReentrantLock lock = new ReentrantLock();

  private final MemorySegment scratch;

  /** Polling thread only. */
  private final MemorySegment readScratch = MemorySegment.ofArray(new byte[REQUEST_BYTES]);

  /** Operations sent as messages whose answer has not come. */
  private final AtomicInteger unanswered = new AtomicInteger();

  RemoteRequests(Node node, Sender sender, RequestTable table, RemoteKeys keys) {
    this.node = node;
    this.sender = sender;
    this.table = table;
    this.keys = keys;
    RegisteredBufferPool pool = node.pool();
    device = new DeviceOperations(pool, sender, this, table, keys);
    scratch = MemorySegment.ofArray(new byte[Math.max(REQUEST_BYTES, sender.maxMessageBytes())]);
  }

  DeviceOperations device() {
    return device;
  }

  /** Returns how much one operation may read or write; negative where messages are too short. */
  int maxTransferBytes() {
    return sender.maxMessageBytes() - REQUEST_BYTES;
  }

  /** Returns the request's id, 0 when it has ended already, or a negative {@link SendResult}. */
  long start(
      int opcode,
      RegionDescriptor region,
      long regionOffset,
      long operand,
      long desired,
      MemorySegment source,
      long sourceOffset,
      int lengthBytes,
      long deadlineNs,
      RemoteOperation operation) {
    lock.lock();
    try {
      RemoteKey key = keys.find(region.id());
      if (key != null && key.serves(opcode, regionOffset, lengthBytes)) {
        if (unanswered.get() == 0) {
          long result =
              device.start(
                  opcode,
                  key,
                  regionOffset,
                  operand,
                  desired,
                  source,
                  sourceOffset,
                  lengthBytes,
                  deadlineNs,
                  operation);
          if (result != DeviceOperations.BY_MESSAGE) {
            return result;
          }
        } else if (key.waitsForMessages(node.clockNs())) {
          return SendResult.BACK_PRESSURED;
        }
      }
      boolean wantsKey = key == null && sender.hasDevice();
      RemoteWire.writeRequest(
          scratch, opcode, wantsKey, lengthBytes, region.id(), regionOffset, operand, desired);
      boolean writes = opcode == RemoteWire.WRITE || opcode == RemoteWire.WRITE_IMMEDIATE;
      if (writes) {
        MemorySegment.copy(source, sourceOffset, scratch, REQUEST_BYTES, lengthBytes);
      }
      return send(REQUEST_BYTES + (writes ? lengthBytes : 0), deadlineNs, operation);
    } finally {
      lock.unlock();
    }
  }

  private long send(int messageBytes, long deadlineNs, RemoteOperation operation) {
    operation.readsInPlace(false);
    long id = table.open(deadlineNs, 0, operation.end());
    if (id < 0) {
      return id;
    }
    unanswered.incrementAndGet();
    long result = SendResult.CLOSED;
    try {
      result = sender.sendCopy(MessageType.REMOTE, id, scratch, 0, messageBytes);
    } finally {
      if (result < 0) {
        unanswered.decrementAndGet();
        if (!table.withdraw(id)) {
          result = SendResult.OK; // it has ended meanwhile, which the handler was told
        }
      }
    }
    return result < 0 ? result : id;
  }

  /** Notes an answer of the peer, in time or late. Polling thread. */
  void answered() {
    unanswered.decrementAndGet();
  }

  /**
   * Asks by message for a read whose path has ended, or ends it. Polling thread.
   *
   * @return false when there is no room
   */
  boolean readByMessage(long id, long regionId, long regionOffset, int lengthBytes) {
    RemoteWire.writeRequest(
        readScratch, RemoteWire.READ, false, lengthBytes, regionId, regionOffset, 0, 0);
    unanswered.incrementAndGet();
    long result = sender.sendCopy(MessageType.REMOTE, id, readScratch, 0, REQUEST_BYTES);
    if (result < 0) {
      unanswered.decrementAndGet();
      if (result != SendResult.BACK_PRESSURED) {
        table.fail(id, Cause.DISCONNECTED, "the connection ended before the read did");
      }
    }
    return result != SendResult.BACK_PRESSURED;
  }
}
