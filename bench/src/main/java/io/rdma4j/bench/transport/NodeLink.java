package io.rdma4j.bench.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.ReplyHandler;
import io.rdma4j.transport.RequestFailedException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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
  private final Arena arena = Arena.ofShared();
  private final MemorySegment out = arena.allocate(MAX_MESSAGE_BYTES, LINE_BYTES);

  /** The request that is being answered. */
  private long answering = NO_REQUEST;

  NodeLink(Node node, Connection connection, Handler handler, boolean requests) {
    this.node = node;
    this.connection = connection;
    this.handler = handler;
    this.requests = requests;
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
  void flush() {
    connection.flush();
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
    node.close();
    arena.close();
  }

  @Override
  public String toString() {
    return connection.toString();
  }

  /** Hands messages to the link; what comes before there is one is an error of the benchmark. */
  static final class Handler implements ConnectionHandler, ReplyHandler {
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
      failed = true;
      ended = cause + ": " + message;
    }

    private void take(Message message, long flags) {
      MemorySegment memory = message.memory();
      long at = message.offset();
      int lengthBytes = message.lengthBytes();
      long touch = 0;
      for (int i = LINE_BYTES; i + Long.BYTES <= lengthBytes; i += LINE_BYTES) {
        touch += memory.get(JAVA_LONG_UNALIGNED, at + i);
      }
      NodeLink to = link;
      try {
        if (to == null) {
          throw new IOException("a message came before the connection was up");
        }
        to.received(message, flags, touch);
      } catch (IOException e) {
        failed = true;
        ended = e.getMessage();
      }
    }

    @Override
    public void onDisconnected(Connection from, EndpointFailure reason) {
      failed = true;
      ended = reason.message();
    }
  }
}
