package io.rdma4j.tools.serve;

import io.rdma4j.pool.PoolExhaustedException;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.Node;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Does {@link Fault}s to a serving node. One at a time; some go on in the background. */
final class Faults {
  private final Node node;
  private final Peers peers;
  private final ServeHandler handler;

  Faults(Node node, Peers peers, ServeHandler handler) {
    this.node = node;
    this.peers = peers;
    this.handler = handler;
  }

  /**
   * Does what a line of {@code fault} asks for.
   *
   * @param line name and seconds
   * @return what was done
   */
  String execute(String line) {
    String[] words = line.split(" ", -1);
    Fault fault =
        Fault.of(words[0])
            .orElseThrow(() -> new IllegalArgumentException("no fault '" + words[0] + "'"));
    int seconds = Integer.parseInt(words[1]);
    long ns = TimeUnit.SECONDS.toNanos(seconds);
    return switch (fault) {
      case KILL_PEER -> "killed peer " + peers.kill();
      case STOP_PEER -> "stopped peer " + peers.stop(seconds) + " for " + seconds + " s";
      case CLOSE_CONNECTION -> closeConnection();
      case EXHAUST_POOL -> exhaustPool(ns);
      case STALL_HANDLER -> {
        handler.stallFor(ns);
        yield "the handler stands still for " + seconds + " s";
      }
      case FAIL_HANDLER -> {
        handler.failFor(ns);
        yield "the handler throws for " + seconds + " s";
      }
      case STRANGER -> stranger();
    };
  }

  private String closeConnection() {
    Connection connection =
        handler.anyConnection().orElseThrow(() -> new IllegalStateException("no connection"));
    String which = connection.toString();
    connection.close();
    return "closed " + which;
  }

  private String exhaustPool(long ns) {
    RegisteredBufferPool pool = node.pool();
    List<RegisteredBuffer> taken = new ArrayList<>();
    for (PoolStatistics.SizeClass sizeClass : pool.statistics().classes()) {
      if (!sizeClass.reserve()) {
        takeAll(pool, sizeClass.blockBytes(), taken);
      }
    }
    int count = taken.size();
    Thread.ofVirtual()
        .start(
            () -> {
              LockSupport.parkNanos(ns);
              taken.forEach(RegisteredBuffer::close);
            });
    return "took all buffers, " + count + ", for " + TimeUnit.NANOSECONDS.toSeconds(ns) + " s";
  }

  private static void takeAll(
      RegisteredBufferPool pool, int blockBytes, List<RegisteredBuffer> taken) {
    try {
      while (true) {
        taken.add(pool.allocate(blockBytes));
      }
    } catch (PoolExhaustedException e) {
      // As intended.
      return;
    }
  }

  private String stranger() {
    InetSocketAddress address = Objects.requireNonNull(node.listenAddress(), "no address");
    try (Socket socket = new Socket(address.getAddress(), address.getPort())) {
      socket.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      return "spoke HTTP to " + address;
    } catch (IOException e) {
      throw new IllegalStateException("could not connect to " + address + ": " + e.getMessage(), e);
    }
  }
}
