package io.rdma4j.monitor;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.Reply;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A request makes no garbage while a monitor is beside its node, a page follows the stream, and
 * Prometheus asks. What monitoring costs in time is measured by {@code ./rdma4j bench monitor}.
 */
@Timeout(300)
class CostTest {
  private static final int REQUESTS = 50_000;
  private static final int ORDER_BYTES = 200;
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);
  private static final ConnectionHandler ECHO =
      new ConnectionHandler() {
        @Override
        public void onMessage(Connection from, Message message) {
          if (message.isRequest()) {
            message.reply(message.memory(), message.offset(), message.lengthBytes());
          }
        }
      };

  private final MemorySegment order = MemorySegment.ofArray(new byte[ORDER_BYTES]);

  @Test
  void aMonitoredRequestMakesNoGarbage() throws Exception {
    MonitorConfig anyPort = ShownNode.anyPort();
    try (Node server =
            Node.start(
                NodeConfig.builder().listen(ShownNode.loopback(0), (peer, path) -> ECHO).build());
        Node client = Node.start(NodeConfig.builder().build());
        Connection connection = client.connect(requireNonNull(server.listenAddress()), ECHO);
        Reply reply = connection.newReply();
        Monitor monitor = Monitor.start(anyPort, client.metrics(), client.journal());
        HttpClient http = HttpClient.newHttpClient();
        InputStream stream =
            http.send(request(monitor, "/stream"), HttpResponse.BodyHandlers.ofInputStream())
                .body()) {
      assertTrue(stream.read() >= 0, "the stream has begun");
      assertEquals(
          200,
          http.send(request(monitor, "/metrics"), HttpResponse.BodyHandlers.discarding())
              .statusCode());
      ask(connection, reply);
      var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
      long before = threads.getCurrentThreadAllocatedBytes();
      ask(connection, reply);
      long allocatedBytes = threads.getCurrentThreadAllocatedBytes() - before;
      http.shutdownNow();
      // A few bytes come from the JVM itself, for thousands of requests.
      assertEquals(0, allocatedBytes / REQUESTS, "bytes of garbage for each monitored request");
    }
  }

  private static HttpRequest request(Monitor monitor, String page) {
    return HttpRequest.newBuilder(
            URI.create("http://127.0.0.1:" + monitor.address().getPort() + page))
        .build();
  }

  private void ask(Connection connection, Reply reply) {
    for (int i = 0; i < REQUESTS; i++) {
      connection.request(order, 0, ORDER_BYTES, TIMEOUT_NS, reply);
      reply.close();
    }
  }
}
