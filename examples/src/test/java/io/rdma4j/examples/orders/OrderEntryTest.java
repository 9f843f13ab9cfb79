package io.rdma4j.examples.orders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
final class OrderEntryTest {
  private static final InetSocketAddress LOCAL =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

  private final OrderBook book = new OrderBook();

  @Test
  void sockets() throws IOException {
    try (var service = new SocketOrderService(book, LOCAL);
        var client = new SocketOrderClient(service.address())) {
      trade(client);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void rdma4j(String path) throws IOException {
    rdma4j(() -> NodeConfig.builder().paths(path));
  }

  @Test
  void rdma4jOverVerbs() throws IOException {
    ScriptedVerbs verbs = new ScriptedVerbs();
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    rdma4j(() -> NodeConfig.builder().paths("verbs").verbs(verbs));
  }

  private void rdma4j(Supplier<NodeConfig.Builder> config) throws IOException {
    try (var service = new RdmaOrderService(book, config.get(), LOCAL);
        var client = new RdmaOrderClient(config.get(), service.address())) {
      trade(client);
    }
  }

  private void trade(OrderEntry entry) throws IOException {
    for (long i = 1; i <= 500; i++) {
      assertEquals(i, entry.submit(1_000 + i, 100, 1));
    }
    assertEquals(OrderBook.REFUSED, entry.submit(7, 100, 0));
    assertEquals(OrderBook.REFUSED, entry.submit(8, -1, 1));
    assertEquals(500, book.accepted());
  }

  @Test
  void theDemoComparesBoth() throws IOException {
    String report = OrderEntryDemo.compare(500, "shm");
    assertTrue(report.contains("socket  500 orders"), report);
    assertTrue(report.contains("path: shm"), report);
  }
}
