package io.rdma4j.transport;

import io.rdma4j.pool.RegisteredBuffer;
import java.lang.foreign.MemorySegment;

/**
 * A received message, seen in place: a view that is valid only during the handler's call, on the
 * handler's thread. What must live longer is {@linkplain #tryTake taken}.
 */
public final class Message {
  /** Where the payload is. */
  private enum Payload {
    HERE,
    TAKEN,
    GONE
  }

  private final Connection connection;
  private MemorySegment memory = MemorySegment.NULL;
  private long offset;
  private int lengthBytes;
  private long correlationId;
  private int type;
  private Payload payload = Payload.GONE;

  Message(Connection connection) {
    this.connection = connection;
  }

  Message wrap(int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    this.memory = memory;
    this.offset = offset;
    this.lengthBytes = lengthBytes;
    this.correlationId = correlationId;
    this.type = type;
    payload = Payload.HERE;
    return this;
  }

  int type() {
    return type;
  }

  /** Forgets the memory, so that a view kept too long fails instead of reading the next message. */
  void unwrap() {
    end(Payload.GONE);
    type = MessageType.DATA;
  }

  /** Returns the memory that holds the payload from {@link #offset()} on, beside other data. */
  public MemorySegment memory() {
    return memory;
  }

  /** Returns the start of the payload in {@link #memory()}. */
  public long offset() {
    return offset;
  }

  /** Returns the length of the payload, 0 for an empty message. */
  public int lengthBytes() {
    return lengthBytes;
  }

  /** Returns the payload alone, as a new segment object. */
  public MemorySegment payload() {
    return memory.asSlice(offset, lengthBytes);
  }

  /**
   * Takes the payload, to be kept beyond the handler's call: into a pooled buffer that the caller
   * owns and releases, on any thread. This view of the payload ends; the rest of the message stays.
   *
   * <p>On verbs a message longer than {@link NodeConfig#copyBreakBytes} is handed over as it lies,
   * and the device gets another block for its next receive. A shorter one is copied into the
   * smallest block that holds it, and so is every message on shm and tcp, from ring or socket
   * buffer, and on verbs while no other block is free. {@link ConnectionStatus} counts each.
   *
   * <p>Makes no garbage. May wait as long as {@link
   * io.rdma4j.pool.RegisteredBufferPool#allocate(int, RegisteredBuffer)} does, when it copies.
   *
   * @param lease empty, from the pool of this connection's node; holds the payload afterwards
   * @return false when the pool has no block: nothing was taken, and the view is as before
   * @throws IllegalStateException when the payload was taken before, the call of the handler is
   *     over, or the lease holds a block
   */
  public boolean tryTake(RegisteredBuffer lease) {
    return connection.receiver().tryTake(this, lease);
  }

  /**
   * As {@link #tryTake}, in a new lease.
   *
   * @throws io.rdma4j.pool.PoolExhaustedException when the pool has no block
   */
  public RegisteredBuffer take() {
    RegisteredBuffer lease = connection.node().pool().newLease();
    connection.receiver().take(this, lease);
    return lease;
  }

  /** The payload has found another owner. */
  void taken() {
    end(Payload.TAKEN);
  }

  private void end(Payload as) {
    payload = as;
    memory = MemorySegment.NULL;
    offset = 0;
    lengthBytes = 0;
  }

  /**
   * Checks that there is a payload to be taken.
   *
   * @throws IllegalStateException when there is none
   */
  void requireTakeable() {
    if (payload != Payload.HERE) {
      throw new IllegalStateException(
          payload == Payload.TAKEN
              ? "the payload of this message was taken before"
              : "the call that this message was valid for is over");
    }
  }

  /** Returns true when the sender waits for a reply. */
  public boolean isRequest() {
    return type == MessageType.REQUEST || type == MessageType.STREAM_REQUEST;
  }

  /** Returns true when the sender takes an answer in parts as well. */
  public boolean isStreamRequest() {
    return type == MessageType.STREAM_REQUEST;
  }

  /** Returns the number to give to {@link Connection#reply} when the reply comes later. */
  public long correlationId() {
    return correlationId;
  }

  /** Answers the request by copy; the result is a {@link io.rdma4j.SendResult}. */
  public long reply(MemorySegment source, long sourceOffset, int replyLengthBytes) {
    requireRequest();
    return connection.reply(correlationId, source, sourceOffset, replyLengthBytes);
  }

  /** Answers the request from pooled memory, which moves to the connection on success. */
  public long reply(RegisteredBuffer buffer) {
    requireRequest();
    return connection.reply(correlationId, buffer);
  }

  /**
   * Says that the request can not be answered; the requester hears PEER_FAILED with this reason, of
   * which up to 1024 bytes travel.
   */
  public long fail(String reason) {
    requireRequest();
    return connection.fail(correlationId, reason);
  }

  /**
   * Starts an answer in parts, which may go on after the handler's call.
   *
   * @throws IllegalStateException when the sender takes no parts
   */
  public ReplyStream openReplyStream() {
    if (!isStreamRequest()) {
      throw new IllegalStateException("the sender of this message takes no answer in parts");
    }
    return connection.replyStreams().open(correlationId);
  }

  private void requireRequest() {
    if (!isRequest()) {
      throw new IllegalStateException("this message is no request, its sender expects no reply");
    }
  }
}
