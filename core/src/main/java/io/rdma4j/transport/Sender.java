package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.concurrent.ShortLock;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.pool.RegisteredRange;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import io.rdma4j.provider.OneSided;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The sending half of a connection: it makes one sender of many, checks lengths, and moves pooled
 * buffers to the endpoint and back when they were refused. It keeps the {@link ConnectionState},
 * since that is what a send looks at.
 *
 * <p>Safe for use by several threads. Results are those of {@link SendResult}; sending makes no
 * garbage.
 */
final class Sender {
  static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private static final MemorySegment NO_PAYLOAD = MemorySegment.ofArray(new byte[0]);

  private final Endpoint endpoint;
  private final Poller poller;
  private final RegisteredBufferPool pool;

  /** Serialises senders; also held while the endpoint is closed, so that nobody sends into it. */
  private final ShortLock lock;

  /** Place of the endpoint's registrar in the pool, negative for none; under the lock. */
  private int registrarIndex;

  /** Under the lock. */
  private ControlSocket control;

  /** Written under the lock. */
  private volatile ConnectionState state = ConnectionState.OPEN;

  /** Messages of the connection's own that found no room; under the lock. */
  private final Outbox outbox = new Outbox();

  /** Payload of such a message; under the lock. */
  private final MemorySegment small = MemorySegment.ofArray(new byte[Integer.BYTES]);

  /** Set once this side asked for the end; any thread. */
  private volatile boolean closedHere;

  // Written under the lock, read without it by whoever wants to know.
  private long messagesSent;
  private long bytesSent;
  private long backPressured;

  /**
   * Creates the sending half.
   *
   * @param registrarIndex place of the endpoint's registrar in the pool, negative for none
   */
  Sender(
      Endpoint endpoint,
      ControlSocket control,
      Poller poller,
      RegisteredBufferPool pool,
      int registrarIndex) {
    this.endpoint = endpoint;
    this.control = control;
    this.poller = poller;
    this.pool = pool;
    this.registrarIndex = registrarIndex;
    this.lock = endpoint instanceof ResumableEndpoint r ? r.lock() : new ShortLock();
  }

  /** Sends by copy; the memory is free again on return. */
  long sendCopy(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    checkLength(lengthBytes);
    lock.lock();
    try {
      if (state != ConnectionState.OPEN) {
        return refusal();
      }
      return sent(endpoint.send(type, correlationId, source, offset, lengthBytes), lengthBytes);
    } finally {
      lock.unlock();
    }
  }

  /** Sends a pooled buffer, which moves to the endpoint when the result is not negative. */
  long sendBuffer(int type, long correlationId, RegisteredBuffer buffer) {
    if (buffer.pool() != pool) {
      throw new IllegalArgumentException(
          "the buffer is from another pool; allocate it from the pool of this connection's node");
    }
    int lengthBytes = buffer.lengthBytes();
    checkLength(lengthBytes);
    MemorySegment segment = buffer.segment();
    lock.lock();
    try {
      if (state != ConnectionState.OPEN) {
        return refusal();
      }
      // Under the lock, since the path and its device may change.
      int lkey = registrarIndex < 0 ? 0 : buffer.lkey(registrarIndex);
      // Ownership moves first: the poller may give the block back before this call returns.
      long handle = buffer.detach();
      long result = SendResult.CLOSED;
      try {
        result =
            endpoint.sendRegistered(type, correlationId, segment, 0, lengthBytes, lkey, handle);
      } finally {
        if (result < 0) {
          pool.attach(handle, lengthBytes, buffer);
        }
      }
      return sent(result, lengthBytes);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends a message of the connection's own that is no answer of the application's; not counted.
   */
  long sendOwn(int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
    lock.lock();
    try {
      if (state != ConnectionState.OPEN) {
        return refusal();
      }
      long result = endpoint.send(type, correlationId, source, offset, lengthBytes);
      letGo();
      return result;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Starts an operation of the path's device on the peer's memory.
   *
   * @param local what the device knows the local memory by; null for memory of the pool
   * @param pathId of the path whose device has the key; another one's is not connected
   * @return a {@link SendResult}
   */
  long startRemote(
      @Nullable Registration local,
      long pathId,
      int opcode,
      long remoteAddress,
      int rkey,
      long localAddress,
      int lengthBytes,
      long operand,
      long desired,
      long token) {
    lock.lock();
    try {
      OneSided device = endpoint.oneSided();
      if (state != ConnectionState.OPEN || device == null || device.pathId() != pathId) {
        return state == ConnectionState.OPEN ? SendResult.BACK_PRESSURED : refusal();
      }
      long result =
          device.start(
              opcode,
              remoteAddress,
              rkey,
              localAddress,
              lengthBytes,
              local != null ? local.lkey() : pooledKey(localAddress),
              operand,
              desired,
              token);
      letGo();
      return result;
    } finally {
      lock.unlock();
    }
  }

  private int pooledKey(long address) {
    RegisteredRange range = pool.findAddress(address);
    if (range == null) {
      throw new IllegalArgumentException(
          "0x%x is not memory of this node's pool".formatted(address));
    }
    return range.lkey(registrarIndex);
  }

  /** Returns whether the path has a device that reaches the peer's memory; a hint. */
  boolean hasDevice() {
    return endpoint.oneSided() != null;
  }

  /** Sends a message of the connection's own, without payload; also while closing. */
  long sendControl(int type, long correlationId) {
    lock.lock();
    try {
      if (state == ConnectionState.CLOSED) {
        return SendResult.CLOSED;
      }
      long result = endpoint.send(type, correlationId, NO_PAYLOAD, 0, 0);
      endpoint.flush();
      ringIfPeerSleeps();
      return result;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends a message of the connection's own, or keeps it until the path has room; order among these
   * is kept. Nobody is told when the connection ends before it was sent.
   *
   * @param value payload, 0 for none
   */
  void sendReliably(int type, long correlationId, int value) {
    lock.lock();
    try {
      if (state != ConnectionState.OPEN) {
        return;
      }
      if (!outbox.isEmpty() || !sendSmall(type, correlationId, value)) {
        outbox.add(type, correlationId, value);
        poller.wakeUp(); // it tries again, and no event may tell it when
      }
      letGo();
    } finally {
      lock.unlock();
    }
  }

  /** Sends what was kept for want of room. Polling thread. */
  int sendKept() {
    if (outbox.isEmpty()) {
      return 0;
    }
    lock.lock();
    try {
      int sent = 0;
      while (state != ConnectionState.CLOSED
          && !outbox.isEmpty()
          && sendSmall(outbox.type(), outbox.correlationId(), outbox.value())) {
        outbox.remove();
        sent++;
      }
      letGo();
      return sent;
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether messages of the connection's own wait for room. */
  boolean keepsSome() {
    return !outbox.isEmpty();
  }

  /** Sends or gives up; false when there is no room. Under the lock. */
  private boolean sendSmall(int type, long correlationId, int value) {
    small.set(INT, 0, value);
    int lengthBytes = value == 0 ? 0 : Integer.BYTES;
    if (endpoint.send(type, correlationId, small, 0, lengthBytes) == SendResult.BACK_PRESSURED) {
      return false;
    }
    return true;
  }

  /** Returns whether the path would take a message of any length now. */
  boolean hasRoom() {
    lock.lock();
    try {
      return endpoint.hasRoom();
    } finally {
      lock.unlock();
    }
  }

  private long sent(long result, int lengthBytes) {
    if (result >= 0) {
      messagesSent++;
      bytesSent += lengthBytes;
    } else if (result == SendResult.BACK_PRESSURED) {
      backPressured++;
    }
    letGo();
    return result;
  }

  /**
   * Ends a send, also one that found no room, whose endpoint let go what it had: on the polling
   * thread, and where the application polls, the next duty cycle lets go what waits. With the lock
   * held.
   */
  private void letGo() {
    if (poller.hasThread() && !poller.isPollingThread()) {
      endpoint.flush();
    }
    if (!endpoint.needsFlush()) {
      ringIfPeerSleeps(); // not before the peer would find something
    }
  }

  /** Lets go what waits for company. */
  void flush() {
    lock.lock();
    try {
      endpoint.flush();
      ringIfPeerSleeps();
    } finally {
      lock.unlock();
    }
  }

  /** Lets go what waits, unless a sender is at work; the next duty cycle tries again. Poller. */
  void flushIfFree() {
    if (endpoint.needsFlush() && lock.tryLock()) {
      try {
        endpoint.flush();
        ringIfPeerSleeps();
      } finally {
        lock.unlock();
      }
    }
  }

  /** With the lock held. */
  void ringIfPeerSleeps() {
    if (endpoint.peerSleeps()) {
      control.ring();
    }
  }

  private void checkLength(int lengthBytes) {
    if (lengthBytes < 0 || lengthBytes > endpoint.maxMessageBytes()) {
      throw new MessageTooLargeException(lengthBytes, endpoint.maxMessageBytes());
    }
  }

  int maxMessageBytes() {
    return endpoint.maxMessageBytes();
  }

  private long refusal() {
    return closedHere ? SendResult.CLOSED : SendResult.NOT_CONNECTED;
  }

  /** The endpoint has moved to another path; with the lock held. */
  void moved(int newRegistrarIndex, ControlSocket newControl) {
    registrarIndex = newRegistrarIndex;
    control = newControl;
  }

  ConnectionState state() {
    return state;
  }

  /** Notes that this side asked for the end, which is what later sends are told. */
  void closedHere() {
    closedHere = true;
  }

  /** Refuses messages of the application from now on; false when that was so before. */
  boolean startClosing() {
    lock.lock();
    try {
      if (state != ConnectionState.OPEN) {
        return false;
      }
      state = ConnectionState.CLOSING;
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Closes the endpoint with every sender kept out. Polling thread. */
  void close(EndpointListener listener) {
    lock.lock();
    try {
      state = ConnectionState.CLOSED;
      endpoint.close(listener);
    } finally {
      lock.unlock();
    }
  }

  long messagesSent() {
    return messagesSent;
  }

  long bytesSent() {
    return bytesSent;
  }

  long backPressured() {
    return backPressured;
  }
}
