package io.rdma4j.tools.demo;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The database node over rdma4j: checks each order where it lies and acknowledges it by copy. */
final class NodeService implements OrderService {
  /** How often the node looks for its first connection. */
  private static final long CONNECT_LOOK_NS = 1_000_000;

  private final Node node;
  private final Handler handler = new Handler();
  private volatile boolean stopped;

  NodeService(String path, InetSocketAddress address) {
    node = Node.start(DemoConfig.databaseNode(path, address, (peer, choice) -> handler));
  }

  @Override
  public int port() {
    return Objects.requireNonNull(node.listenAddress()).getPort();
  }

  @Override
  public void serve() throws IOException {
    while (!stopped && handler.ended == null) {
      if (node.poll() == 0) {
        handler.idle();
      }
      handler.flush();
    }
    EndpointFailure ended = handler.ended;
    if (ended != null && ended.kind() != EndpointFailure.Kind.PEER_CLOSED) {
      throw new IOException(ended.message());
    }
  }

  @Override
  public void stop() {
    stopped = true;
  }

  @Override
  public OrderBook.Tally tally() {
    return handler.book.tally();
  }

  @Override
  public void close() {
    node.close();
  }

  private static final class Handler implements ConnectionHandler {
    private final OrderBook book = new OrderBook(DemoConfig.MAX_ORDER_BYTES);
    private final MemorySegment ack = Arena.ofAuto().allocate(OrderBook.ACK_BYTES, 8);
    private @Nullable Connection connection;

    /** Acknowledgements that met back-pressure; the gateway's window bounds them. */
    private final long[] waiting = new long[2 * DemoConfig.WINDOW];

    private int waitingCount;
    private @Nullable EndpointFailure ended;

    @Override
    public void onConnected(Connection connection) {
      this.connection = connection;
    }

    /** Spins for the next order; before there is a connection, its set-up needs the processor. */
    private void idle() {
      if (connection == null) {
        LockSupport.parkNanos(CONNECT_LOOK_NS);
      } else {
        Thread.onSpinWait();
      }
    }

    @Override
    public void onMessage(Connection connection, Message message) {
      int length = message.lengthBytes();
      MemorySegment.copy(message.memory(), JAVA_BYTE, message.offset(), book.scratch(), 0, length);
      long verdict = book.check(length);
      if (waitingCount > 0 || !acknowledge(connection, book.lastSequence(), verdict)) {
        waiting[2 * waitingCount] = book.lastSequence();
        waiting[2 * waitingCount + 1] = verdict;
        waitingCount++;
      }
    }

    private boolean acknowledge(Connection connection, long sequence, long verdict) {
      ack.set(NodeLink.BIG_ENDIAN_LONG, 0, sequence);
      ack.set(NodeLink.BIG_ENDIAN_LONG, 8, verdict);
      return connection.send(ack, 0, OrderBook.ACK_BYTES) != SendResult.BACK_PRESSURED;
    }

    private void flush() {
      Connection to = connection;
      int done = 0;
      while (to != null
          && done < waitingCount
          && acknowledge(to, waiting[2 * done], waiting[2 * done + 1])) {
        done++;
      }
      if (done > 0) {
        waitingCount -= done;
        System.arraycopy(waiting, 2 * done, waiting, 0, 2 * waitingCount);
      }
    }

    @Override
    public void onDisconnected(Connection connection, EndpointFailure reason) {
      ended = reason;
    }
  }
}
