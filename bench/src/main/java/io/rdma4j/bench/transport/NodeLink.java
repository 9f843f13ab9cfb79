package io.rdma4j.bench.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.LargeHandler;
import io.rdma4j.transport.LargeReceive;
import io.rdma4j.transport.LargeTransfer;
import io.rdma4j.transport.LargeTransferException;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.RegionDescriptor;
import io.rdma4j.transport.RemoteOperation;
import io.rdma4j.transport.ReplyHandler;
import io.rdma4j.transport.RequestFailedException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A connection of the library. What wants an answer is a plain message, which the peer answers with
 * another, or a request with a {@link ReplyHandler}, the way of asking that makes no garbage.
 */
final class NodeLink extends Link {
  private static final long REQUEST_TIMEOUT_NS = 60_000_000_000L;
  private static final long NO_REQUEST = 0;

  private final Node node;
  private final Connection connection;
  private final Handler handler;
  private final boolean requests;
  private final @Nullable RegionDescriptor region;
  private final RemoteOperation reading;
  private final RegisteredBuffer target;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment out = arena.allocate(MAX_MESSAGE_BYTES, LINE_BYTES);

  /** Of a large message: what is sent, or where it comes to; made for the first one. */
  private @Nullable MemorySegment largeMemory;

  /** The request that is being answered. */
  private long answering = NO_REQUEST;

  /**
   * Takes over node and connection.
   *
   * @param region of the peer, to read from; null at the end that exports it
   */
  NodeLink(
      Node node,
      Connection connection,
      Handler handler,
      boolean requests,
      @Nullable RegionDescriptor region) {
    this.node = node;
    this.connection = connection;
    this.handler = handler;
    this.requests = requests;
    this.region = region;
    reading = connection.newRemoteOperation(null);
    target = node.pool().allocate(LINE_BYTES);
    handler.link = this;
  }

  @Override
  boolean offer(long sequence, long flags, int lengthBytes) throws IOException {
    out.set(JAVA_LONG_UNALIGNED, 0, sequence);
    out.set(JAVA_LONG_UNALIGNED, 8, flags);
    if (answering != NO_REQUEST) {
      return reply(lengthBytes);
    }
    long result =
        requests && flags == ANSWER
            ? connection.request(out, 0, lengthBytes, REQUEST_TIMEOUT_NS, 0, handler)
            : connection.send(out, 0, lengthBytes);
    if (result < 0 && result != SendResult.BACK_PRESSURED) {
      throw new IOException("send: " + SendResult.nameOf(result) + ", " + handler.ended);
    }
    return result >= 0;
  }

  private boolean reply(int lengthBytes) throws IOException {
    long result = connection.reply(answering, out, 0, lengthBytes);
    if (result < 0) {
      // The window of requests is far below that of messages.
      throw new IOException("reply: " + SendResult.nameOf(result) + ", " + handler.ended);
    }
    return true;
  }

  /**
   * Into the pool's memory, where a device can put it, as perftest reads into registered memory.
   */
  @Override
  void read(int lengthBytes) throws IOException {
    RegionDescriptor from = region;
    if (from == null) {
      throw new IOException("the peer of " + this + " exports nothing");
    }
    long result = reading.read(from, 0, target.segment(), 0, lengthBytes, REQUEST_TIMEOUT_NS);
    if (result < 0) {
      throw new IOException("read: " + SendResult.nameOf(result) + ", " + handler.ended);
    }
    reading.await();
  }

  @Override
  boolean carriesLarge() {
    return true;
  }

  @Override
  void large(int lengthBytes) {
    connection.sendLarge(largeMemory(lengthBytes), 0, REQUEST_TIMEOUT_NS, null).await();
  }

  private MemorySegment largeMemory(long lengthBytes) {
    MemorySegment memory = largeMemory;
    if (memory == null) {
      memory = arena.allocate(MAX_LARGE_BYTES, 4096);
      largeMemory = memory;
    }
    return memory.asSlice(0, lengthBytes);
  }

  private void received(Message message, long flags, long touch) throws IOException {
    MemorySegment memory = message.memory();
    long at = message.offset();
    answering = message.isRequest() ? message.correlationId() : NO_REQUEST;
    try {
      received(memory.get(JAVA_LONG_UNALIGNED, at), flags, message.lengthBytes(), touch);
    } finally {
      answering = NO_REQUEST;
    }
  }

  @Override
  void flush() {}

  /** What is meant for a device leaves with the next poll, and that of a node does not wait. */
  @Override
  void finish() throws IOException {
    poll();
  }

  @Override
  int poll() throws IOException {
    int work = node.poll();
    if (handler.failed) {
      throw new IOException(String.valueOf(handler.ended));
    }
    return work;
  }

  @Override
  public void close() {
    target.release();
    node.close();
    arena.close();
  }

  @Override
  public String toString() {
    return connection.toString();
  }

  /** Hands messages to the link; what comes before there is one is an error of the benchmark. */
  static final class Handler implements ConnectionHandler, ReplyHandler, LargeHandler {
    @Nullable Connection connection;
    @Nullable NodeLink link;
    boolean failed;
    @Nullable String ended;

    @Override
    public void onConnected(Connection up) {
      connection = up;
    }

    @Override
    public void onMessage(Connection from, Message message) {
      take(message, message.memory().get(JAVA_LONG_UNALIGNED, message.offset() + 8));
    }

    @Override
    public void onReply(long context, Message reply) {
      take(reply, NO_FLAG);
    }

    @Override
    public void onFailure(long context, RequestFailedException.Cause cause, String message) {
      fail(cause + ": " + message);
    }

    private void fail(@Nullable String why) {
      failed = true;
      ended = why;
    }

    private void take(Message message, long flags) {
      MemorySegment memory = message.memory();
      long at = message.offset();
      long touch = readLines(memory, at, LINE_BYTES, message.lengthBytes());
      NodeLink to = link;
      try {
        if (to == null) {
          throw new IOException("a message came before the connection was up");
        }
        to.received(message, flags, touch);
      } catch (IOException e) {
        fail(e.getMessage());
      }
    }

    /** Reads a word of each line from the one that starts at {@code first} on. */
    private static long readLines(MemorySegment memory, long at, int first, int lengthBytes) {
      long sum = 0;
      for (int i = first; i + Long.BYTES <= lengthBytes; i += LINE_BYTES) {
        sum += memory.get(JAVA_LONG_UNALIGNED, at + i);
      }
      return sum;
    }

    @Override
    public void onLarge(Connection from, LargeReceive offer) {
      NodeLink to = Objects.requireNonNull(link, "a link before the first large message");
      offer.accept(to.largeMemory(offer.lengthBytes()), this);
    }

    @Override
    public void onDone(LargeTransfer transfer) {
      NodeLink to = Objects.requireNonNull(link);
      int lengthBytes = (int) transfer.lengthBytes();
      to.touch(readLines(to.largeMemory(lengthBytes), 0, 0, lengthBytes));
    }

    @Override
    public void onFailure(
        LargeTransfer transfer, LargeTransferException.Cause cause, String message) {
      fail(cause + ": " + message);
    }

    @Override
    public void onDisconnected(Connection from, EndpointFailure reason) {
      fail(reason.message());
    }
  }
}
