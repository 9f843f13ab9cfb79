package io.rdma4j.testkit.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.SendResult;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;

/**
 * Two nodes in one process, joined by the path under test. A subclass names the path and the
 * address to run on.
 */
public abstract class TransportFixture {
  static final long SECOND_NS = 1_000_000_000L;

  private final List<AutoCloseable> toClose = new ArrayList<>();

  /** Creates the fixture. */
  protected TransportFixture() {}

  /** Returns the path under test. */
  protected abstract String path();

  /** Returns the local address both nodes use. */
  protected InetAddress address() {
    return InetAddress.getLoopbackAddress();
  }

  /** Lets a subclass add what its path needs. */
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return builder.paths(path());
  }

  /** Closes what a test has opened, last first. */
  @AfterEach
  void closeAll() throws Exception {
    while (!toClose.isEmpty()) {
      toClose.removeLast().close();
    }
  }

  /** Returns what was opened, by its place. */
  final AutoCloseable opened(int place) {
    return toClose.get(place);
  }

  final <T extends AutoCloseable> T closeLater(T resource) {
    toClose.add(resource);
    return resource;
  }

  final Node server(ConnectionHandler handler, Threading threading) {
    return Node.start(
        configure(NodeConfig.builder())
            .threading(threading)
            .listen(new InetSocketAddress(address(), 0), (peer, path) -> handler)
            .build());
  }

  final Node client(Threading threading) {
    return Node.start(configure(NodeConfig.builder()).threading(threading).build());
  }

  static InetSocketAddress at(Node server) {
    return Objects.requireNonNull(server.listenAddress());
  }

  /**
   * Closes the only connection of a node, whose receives may lie in its pool, and checks that the
   * application has nothing of it either.
   */
  static void assertNothingKept(Connection connection, Node node) {
    connection.close();
    assertEquals(0, node.pool().statistics().usedBytes());
  }

  static MemorySegment text(String text) {
    return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
  }

  static byte[] pattern(int length, long seed) {
    byte[] bytes = new byte[length];
    new SplittableRandom(seed).nextBytes(bytes);
    return bytes;
  }

  static void sendWhenPossible(Connection connection, MemorySegment source, int length) {
    long result;
    while ((result = connection.send(source, 0, length)) == SendResult.BACK_PRESSURED) {
      Thread.onSpinWait();
    }
    if (result < 0) {
      throw new AssertionError("send: " + SendResult.nameOf(result));
    }
  }

  /** Waits up to ten seconds for something to become true. */
  static void eventually(String what, BooleanSupplier condition) throws InterruptedException {
    for (int waitMs = 0; !condition.getAsBoolean(); waitMs += 2) {
      if (waitMs > 10_000) {
        throw new AssertionError("not within 10 s: " + what);
      }
      Thread.sleep(2);
    }
  }
}
