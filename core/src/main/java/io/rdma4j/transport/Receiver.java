package io.rdma4j.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.ReceiveMemory;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;

/**
 * The polling half of a connection: it hands on what the endpoint delivers, to the application's
 * handler, to waiting requests, or to the connection's own life. No exception of the handler gets
 * past it.
 *
 * <p>Polling thread only, except the counters.
 */
final class Receiver implements EndpointListener {
  private static final Logger LOG = System.getLogger(Receiver.class.getName());

  private final Connection connection;
  private final Endpoint endpoint;
  private final RegisteredBufferPool pool;
  private final ConnectionHandler handler;
  private final Message message;
  private final int copyBreakBytes;
  private boolean announced;

  /** The handler has had a message since it last heard of a batch's end. */
  private boolean inBatch;

  // Written by the polling thread, read by whoever wants to know.
  private long messagesReceived;
  private long bytesReceived;
  private long handlerErrors;
  private long messagesHandedOver;
  private long messagesCopied;
  private long takesRefused;

  Receiver(
      Connection connection,
      Endpoint endpoint,
      RegisteredBufferPool pool,
      ConnectionHandler handler,
      int copyBreakBytes) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.pool = pool;
    this.handler = handler;
    this.message = new Message(connection);
    this.copyBreakBytes = copyBreakBytes;
  }

  /** Tells the handler that the connection is up, once. */
  void announce() {
    if (announced) {
      return;
    }
    announced = true;
    try {
      handler.onConnected(connection);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  /** Tells the handler that the connection has ended. */
  void announceEnd(EndpointFailure reason) {
    try {
      handler.onDisconnected(connection, reason);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  @Override
  public void onMessage(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    connection.control().heard();
    if (type <= MessageType.LAST_OF_APPLICATION) {
      messagesReceived++;
      bytesReceived += lengthBytes;
    }
    switch (type) {
      case MessageType.DATA, MessageType.REQUEST, MessageType.STREAM_REQUEST ->
          deliver(type, correlationId, memory, offset, lengthBytes);
      case MessageType.REPLY, MessageType.PART, MessageType.FAILED ->
          answered(type, correlationId, memory, offset, lengthBytes);
      case MessageType.REMOTE_DONE -> {
        connection.remoteRequests().answered();
        answered(type, correlationId, memory, offset, lengthBytes);
      }
      default -> control(type, correlationId, memory, offset, lengthBytes);
    }
  }

  private void deliver(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    inBatch = true;
    try {
      handler.onMessage(connection, message.wrap(type, correlationId, memory, offset, lengthBytes));
    } catch (RuntimeException e) {
      handlerFailed(e);
      if (type != MessageType.DATA) {
        // Harmless when the handler had answered before it threw: nobody waits any more then.
        connection.replyStreams().cancel(correlationId);
        connection.fail(correlationId, "the handler threw " + e.getClass().getName());
      }
    } finally {
      message.unwrap();
    }
  }

  @Override
  public void onBatchEnd() {
    if (!inBatch) {
      return;
    }
    inBatch = false;
    try {
      handler.onBatchEnd(connection);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  /** Moves the payload of the present message into a lease; see {@link Message#tryTake}. */
  boolean tryTake(Message from, RegisteredBuffer lease) {
    from.requireTakeable();
    if (handOver(from, lease)) {
      return true;
    }
    if (!pool.tryAllocate(from.lengthBytes(), lease)) {
      takesRefused++;
      return false;
    }
    copy(from, lease);
    return true;
  }

  /** As {@link #tryTake}, but throws when the pool has no block. */
  void take(Message from, RegisteredBuffer lease) {
    from.requireTakeable();
    if (!handOver(from, lease)) {
      pool.allocate(from.lengthBytes(), lease);
      copy(from, lease);
    }
  }

  /** Small messages are copied: they would keep a block that is many times their length. */
  private boolean handOver(Message from, RegisteredBuffer lease) {
    if (from.lengthBytes() <= copyBreakBytes || !lease.isEmpty() || lease.pool() != pool) {
      return false;
    }
    long block = endpoint.takeMessage();
    if (block == ReceiveMemory.NONE) {
      return false;
    }
    pool.attach(block, from.lengthBytes(), lease);
    from.taken();
    messagesHandedOver++;
    return true;
  }

  private void copy(Message from, RegisteredBuffer lease) {
    MemorySegment.copy(from.memory(), from.offset(), lease.segment(), 0, from.lengthBytes());
    from.taken();
    messagesCopied++;
  }

  /** Ends a request, or delivers a part of its answer. */
  void answered(int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    RequestTable requests = connection.requests();
    boolean awaited;
    if (type == MessageType.FAILED) {
      byte[] text = memory.asSlice(offset, lengthBytes).toArray(JAVA_BYTE);
      awaited =
          requests.fail(correlationId, Cause.PEER_FAILED, "the peer: " + new String(text, UTF_8));
    } else {
      message.wrap(type, correlationId, memory, offset, lengthBytes);
      try {
        awaited =
            type == MessageType.PART
                ? requests.deliver(correlationId, message)
                : requests.complete(correlationId, message);
      } finally {
        message.unwrap();
      }
    }
    if (!awaited) {
      connection.node().countLateReply();
      if (type == MessageType.PART) {
        connection.requester().tellCancelled(correlationId);
      }
    }
  }

  private void control(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    switch (type) {
      case MessageType.CANCEL -> cancelled(correlationId);
      case MessageType.GRANT -> {
        int parts = lengthBytes == Integer.BYTES ? memory.get(Sender.INT, offset) : 0;
        if (parts > 0) {
          connection.replyStreams().grant(correlationId, parts);
        } else {
          onFailure(
              new EndpointFailure(
                  Kind.PROTOCOL, "a grant of " + parts + " parts in " + lengthBytes + " bytes"));
        }
      }
      case MessageType.REMOTE -> remote(correlationId, memory, offset, lengthBytes);
      case MessageType.REGION_KEY -> regionKey(correlationId, memory, offset, lengthBytes);
      case MessageType.REGION_CLOSED -> connection.remoteKeys().regionClosed(correlationId);
      case MessageType.REGION_LEFT -> connection.remoteKeys().regionLeft(correlationId);
      case MessageType.LARGE_OFFER,
          MessageType.LARGE_ACCEPT,
          MessageType.LARGE_DATA,
          MessageType.LARGE_KEY,
          MessageType.LARGE_TAKEN,
          MessageType.LARGE_AGAIN,
          MessageType.LARGE_FROM,
          MessageType.LARGE_CANCEL,
          MessageType.LARGE_END ->
          large(type, correlationId, memory, offset, lengthBytes);
      case MessageType.GOODBYE -> connection.life().goodbyeReceived();
      case MessageType.HEARTBEAT -> {}
      default -> onFailure(new EndpointFailure(Kind.PROTOCOL, "unknown message type " + type));
    }
  }

  private void remote(long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    RemoteExecutor executor = connection.remoteExecutor();
    String violation = executor.execute(correlationId, memory, offset, lengthBytes);
    if (violation != null) {
      onFailure(new EndpointFailure(Kind.PROTOCOL, violation));
      return;
    }
    ExportedRegion wanted = executor.wantedRegion(memory, offset);
    if (wanted != null) {
      connection.remoteKeys().lend(wanted);
    }
    if (executor.hasImmediate()) {
      immediate(RemoteWire.immediate(memory, offset), RemoteWire.lengthBytes(memory, offset));
    }
  }

  private void large(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    String violation =
        connection.large().onMessage(type, correlationId, memory, offset, lengthBytes);
    if (violation != null) {
      onFailure(new EndpointFailure(Kind.PROTOCOL, violation));
    }
  }

  /** Asks the application what to do with a large message. */
  void offered(LargeReceive offer) {
    try {
      handler.onLarge(connection, offer);
    } catch (RuntimeException e) {
      handlerFailed(e);
      offer.cancel("the handler threw " + e.getClass().getName());
    }
  }

  private void regionKey(long regionId, MemorySegment memory, long offset, int lengthBytes) {
    if (lengthBytes == RemoteKey.BYTES) {
      connection.remoteKeys().received(regionId, memory, offset);
    } else {
      onFailure(new EndpointFailure(Kind.PROTOCOL, "a key in " + lengthBytes + " bytes"));
    }
  }

  @Override
  public void onImmediate(int immediate, int lengthBytes) {
    connection.control().heard();
    immediate(immediate, lengthBytes);
  }

  private void immediate(int immediate, int lengthBytes) {
    try {
      handler.onImmediate(connection, immediate, lengthBytes);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  @Override
  public void onRemoteEnd(long token, int outcome) {
    if ((token & LargeReceives.TOKEN) != 0) {
      connection.large().receives().readEnded(token, outcome);
    } else {
      connection.remoteRequests().device().ended(token, outcome);
    }
  }

  private void cancelled(long correlationId) {
    connection.replyStreams().cancel(correlationId);
    try {
      handler.onCancelled(connection, correlationId);
    } catch (RuntimeException e) {
      handlerFailed(e);
    }
  }

  @Override
  public void onSent(long token) {
    connection.node().pool().release(token);
  }

  @Override
  public void onFailure(EndpointFailure cause) {
    connection.liveness().noteEndOfSocket(cause);
    connection.life().failed(cause);
  }

  private void handlerFailed(RuntimeException e) {
    handlerErrors++;
    LOG.log(Level.ERROR, "connection " + connection.id() + ": the handler threw", e);
  }

  long messagesReceived() {
    return messagesReceived;
  }

  long bytesReceived() {
    return bytesReceived;
  }

  long messagesHandedOver() {
    return messagesHandedOver;
  }

  long messagesCopied() {
    return messagesCopied;
  }

  long takesRefused() {
    return takesRefused;
  }

  long handlerErrors() {
    return handlerErrors;
  }
}
