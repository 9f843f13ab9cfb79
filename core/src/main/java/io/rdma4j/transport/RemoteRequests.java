package io.rdma4j.transport;

import static io.rdma4j.transport.RemoteWire.REQUEST_BYTES;

import io.rdma4j.SendResult;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Sends one-sided operations of this side as messages, which the peer carries out in the order they
 * were sent.
 *
 * <p>Safe for use by several threads. Makes no garbage.
 */
final class RemoteRequests {
  private final Sender sender;
  private final RequestTable table;

  /** Guards the scratch memory. */
  private final ReentrantLock lock = new ReentrantLock();

  private final MemorySegment scratch;

  RemoteRequests(Sender sender, RequestTable table) {
    this.sender = sender;
    this.table = table;
    scratch = MemorySegment.ofArray(new byte[Math.max(REQUEST_BYTES, sender.maxMessageBytes())]);
  }

  /** Returns how much one operation may read or write; negative where messages are too short. */
  int maxTransferBytes() {
    return sender.maxMessageBytes() - REQUEST_BYTES;
  }

  /** Returns the request's id, 0 when it has ended already, or a negative {@link SendResult}. */
  long send(
      int opcode,
      RegionDescriptor region,
      long regionOffset,
      long operand,
      long desired,
      MemorySegment source,
      long sourceOffset,
      int lengthBytes,
      long deadlineNs,
      ReplyHandler handler) {
    long id = table.open(deadlineNs, 0, handler);
    if (id < 0) {
      return id;
    }
    boolean writes = opcode == RemoteWire.WRITE || opcode == RemoteWire.WRITE_IMMEDIATE;
    long result = SendResult.CLOSED;
    lock.lock();
    try {
      RemoteWire.writeRequest(
          scratch, opcode, lengthBytes, region.id(), regionOffset, operand, desired);
      if (writes) {
        MemorySegment.copy(source, sourceOffset, scratch, REQUEST_BYTES, lengthBytes);
      }
      result =
          sender.sendCopy(
              MessageType.REMOTE, id, scratch, 0, REQUEST_BYTES + (writes ? lengthBytes : 0));
    } finally {
      lock.unlock();
      if (result < 0 && !table.withdraw(id)) {
        result = SendResult.OK; // it has ended meanwhile, which the handler was told
      }
    }
    return result < 0 ? result : id;
  }
}
