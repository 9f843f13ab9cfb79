package io.rdma4j.monitor;

import static java.util.Objects.requireNonNull;

import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.status.Cause;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.RequestFailedException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A node under a light load with a peer in this process, and a monitor beside it. */
final class ShownNode implements AutoCloseable {
  /** Length of a request that gets no reply. */
  private static final int UNANSWERED = 13;

  private static final int ORDER_BYTES = 200;
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);

  private static final ConnectionHandler ECHO =
      new ConnectionHandler() {
        @Override
        public void onMessage(Connection from, Message message) {
          if (message.isRequest() && message.lengthBytes() != UNANSWERED) {
            message.reply(message.payload(), 0, message.lengthBytes());
          }
        }
      };

  private final Node peer;
  private final Node node;
  private final Monitor monitor;
  private final EventJournal journal = EventJournal.inMemory();
  private final List<Connection> connections = new ArrayList<>();
  private final List<RegisteredBuffer> held = new ArrayList<>();
  private final Thread load;
  private volatile boolean ended;

  /**
   * Starts all of it.
   *
   * @param connectionCount over shm, and the last one over tcp
   */
  ShownNode(MonitorConfig config, int connectionCount) {
    peer = Node.start(NodeConfig.builder().listen(loopback(0), (from, path) -> ECHO).build());
    node =
        Node.start(
            NodeConfig.builder()
                .paths("shm", "tcp")
                .pool(PoolConfig.builder().maxBytes(64L << 20).build())
                .build());
    for (int i = 0; i < connectionCount; i++) {
      connections.add(connect());
    }
    for (int i = 0; i < 300; i++) {
      held.add(node.pool().allocate(8 << 10 << i % 4));
    }
    monitor = Monitor.start(config, node.metrics(), journal);
    load = Thread.ofPlatform().daemon().name("load").start(this::run);
  }

  static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  static MonitorConfig anyPort() {
    return MonitorConfig.defaults().withAddress(loopback(0));
  }

  Connection connect() {
    return node.connect(requireNonNull(peer.listenAddress()), ECHO);
  }

  private void run() {
    MemorySegment order = MemorySegment.ofArray(new byte[ORDER_BYTES]);
    for (int i = 0; !ended; i++) {
      try {
        connections.get(i % connections.size()).request(order, 0, ORDER_BYTES, TIMEOUT_NS).close();
        TimeUnit.MICROSECONDS.sleep(200);
      } catch (RequestFailedException | InterruptedException e) {
        return; // the node is being closed
      }
    }
  }

  /** Sends a request that nobody answers. */
  void failRequest() {
    try {
      connections
          .getFirst()
          .request(MemorySegment.ofArray(new byte[UNANSWERED]), 0, UNANSWERED, 1_000_000)
          .close();
      throw new AssertionError("a request without an answer was answered");
    } catch (RequestFailedException e) {
      if (e.failure() != RequestFailedException.Cause.DEADLINE) {
        throw e;
      }
    }
  }

  /** Closes the latest connection. */
  void closeOne() {
    connections.removeLast().close();
  }

  /** Publishes an incident as the root-cause rules do. */
  void publishIncident() {
    EventSubject subject = new EventSubject("mlx5_0", 1, 71, 3, "192.0.2.7:7400");
    journal.emit(EventKind.PORT_ERR, EventSubject.device("mlx5_0", 1), 10, 0, 0, "link down");
    journal.emit(EventKind.COMPLETION_ERROR, subject, 12, 0x81, 31, "transport retry exceeded");
    journal.publish(
        new Incident(
            1,
            1,
            Incident.State.OPEN,
            journal.events().getFirst().timeNs(),
            journal.events().getLast().timeNs(),
            subject,
            List.of(3L),
            journal.events(),
            0,
            31,
            List.of(
                new Cause(
                    "link-flap",
                    "the link of mlx5_0 port 1 went down",
                    Cause.Confidence.LIKELY,
                    List.of("port down 0.2 s before the first completion error"),
                    List.of("<b>ethtool</b> counters could not be read"),
                    List.of(),
                    "look at the cable and the switch port")),
            List.of()));
  }

  private void joinLoad() {
    try {
      load.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  int port() {
    return monitor.address().getPort();
  }

  @Override
  public void close() {
    ended = true;
    joinLoad();
    held.forEach(RegisteredBuffer::close);
    monitor.close();
    node.close();
    peer.close();
  }
}
