package io.rdma4j.bench.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A connection of the library. */
final class NodeLink extends Link {
  private final Node node;
  private final Connection connection;
  private final Handler handler;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment out = arena.allocate(MAX_MESSAGE_BYTES, LINE_BYTES);

  NodeLink(Node node, Connection connection, Handler handler) {
    this.node = node;
    this.connection = connection;
    this.handler = handler;
    handler.link = this;
  }

  @Override
  boolean offer(long sequence, long flags, int lengthBytes) throws IOException {
    out.set(JAVA_LONG_UNALIGNED, 0, sequence);
    out.set(JAVA_LONG_UNALIGNED, 8, flags);
    long result = connection.send(out, 0, lengthBytes);
    if (result < 0 && result != SendResult.BACK_PRESSURED) {
      throw new IOException("send: " + SendResult.nameOf(result) + ", " + handler.ended);
    }
    return result >= 0;
  }

  @Override
  void flush() {}

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
  static final class Handler implements ConnectionHandler {
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
        to.received(
            memory.get(JAVA_LONG_UNALIGNED, at),
            memory.get(JAVA_LONG_UNALIGNED, at + 8),
            lengthBytes,
            touch);
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
