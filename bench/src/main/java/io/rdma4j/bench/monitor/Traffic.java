package io.rdma4j.bench.monitor;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.ReplyHandler;
import io.rdma4j.transport.RequestFailedException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Two nodes of this process, each polled by one thread that never sleeps; 16 requests are under way
 * all the time. One thread runs it; the other node has a thread of its own. Owns the nodes.
 */
final class Traffic implements AutoCloseable {
  private static final int WINDOW = 16;
  private static final int MESSAGE_BYTES = 256;
  private static final int CLOCK_EVERY = 64;
  private static final long DEADLINE_NS = 60_000_000_000L;
  private static final int CONNECTIONS = 8;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment request = arena.allocate(MESSAGE_BYTES, 64);
  private final Node server;
  private final Node client;
  private final Connection connection;
  private final Thread serving;
  private final Replies replies = new Replies();
  private volatile boolean running = true;

  private static final class Replies implements ReplyHandler {
    long count;
    @Nullable String failure;

    @Override
    public void onReply(long context, Message reply) {
      count++;
    }

    @Override
    public void onFailure(long context, RequestFailedException.Cause cause, String message) {
      failure = cause + ": " + message;
    }
  }

  private static final class Echo implements ConnectionHandler {
    @Override
    public void onMessage(Connection from, Message message) {
      if (message.isRequest()) {
        message.reply(message.memory(), message.offset(), message.lengthBytes());
      }
    }

    @Override
    public void onDisconnected(Connection from, EndpointFailure reason) {}
  }

  Traffic(String path) {
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    Echo echo = new Echo();
    server = Node.start(config(path).listen(anyPort, (peer, choice) -> echo).build());
    serving = Thread.ofPlatform().daemon().name("bench-server").start(this::serve);
    client = Node.start(config(path).build());
    InetSocketAddress at = Objects.requireNonNull(server.listenAddress());
    connection = client.connect(at, echo);
    // A page shows all connections, and a node has more than the one that is busy.
    for (int i = 1; i < CONNECTIONS; i++) {
      client.connect(at, echo);
    }
  }

  private static NodeConfig.Builder config(String path) {
    return NodeConfig.builder().paths(path).threading(Threading.INVOKER);
  }

  private void serve() {
    while (running) {
      if (server.poll() == 0) {
        Thread.onSpinWait();
      }
    }
  }

  /** Returns the node that is to be watched. */
  Node node() {
    return client;
  }

  @Override
  public String toString() {
    return connection.toString();
  }

  /**
   * Has requests answered for a while.
   *
   * @return how many
   * @throws IOException when one was not
   */
  long run(long durationNs) throws IOException {
    long before = replies.count;
    long sent = before;
    long endNs = System.nanoTime() + durationNs;
    boolean over = false;
    for (int round = 1; !over || replies.count < sent; round++) {
      while (!over && sent - replies.count < WINDOW) {
        if (connection.request(request, 0, MESSAGE_BYTES, DEADLINE_NS, 0, replies) < 0) {
          break; // no room: polling makes some
        }
        sent++;
      }
      if (client.poll() == 0) {
        Thread.onSpinWait();
      }
      if (round % CLOCK_EVERY == 0) {
        over = System.nanoTime() - endNs >= 0;
        requireAnswers();
      }
    }
    return replies.count - before;
  }

  private void requireAnswers() throws IOException {
    if (replies.failure != null) {
      throw new IOException(connection + ": " + replies.failure);
    }
    if (!connection.isOpen()) {
      throw new IOException(connection + " has ended");
    }
  }

  @Override
  public void close() {
    client.close();
    running = false;
    try {
      serving.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    server.close();
    arena.close();
  }
}
