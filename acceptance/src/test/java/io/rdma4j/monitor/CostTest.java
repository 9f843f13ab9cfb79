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
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What a monitor costs the requests of its node: windows with and without one by turns, in one
 * process, while a page follows the stream and Prometheus asks once a second.
 *
 * <p>The ratio is printed and not judged, since other load on the machine moves it by more than a
 * monitor does; that a request makes no garbage is judged.
 */
@Timeout(300)
class CostTest {
  private static final int PAIRS = 10;
  private static final long WINDOW_NS = TimeUnit.MILLISECONDS.toNanos(1000);
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
  private long allocatedBytes;
  private long counted;

  @Test
  void monitoringCostsLittleAndMakesNoGarbage() throws Exception {
    try (Node server =
            Node.start(
                NodeConfig.builder().listen(ShownNode.loopback(0), (peer, path) -> ECHO).build());
        Node client = Node.start(NodeConfig.builder().build());
        Connection connection = client.connect(requireNonNull(server.listenAddress()), ECHO);
        Reply reply = connection.newReply()) {
      window(connection, reply, 3 * WINDOW_NS);
      double[] ratios = new double[PAIRS];
      for (int pair = 0; pair < PAIRS; pair++) {
        // Each order as often as the other, so that a drift of the machine is in neither.
        double without = pair % 2 == 0 ? window(connection, reply, WINDOW_NS) : 0;
        double with = monitored(client, connection, reply);
        without = pair % 2 == 0 ? without : window(connection, reply, WINDOW_NS);
        ratios[pair] = with / without;
      }
      Arrays.sort(ratios);
      System.out.printf(
          "time of a request with a monitor / without: median %.4f, quartiles %.4f and %.4f,"
              + " of %d pairs of windows over %s%n",
          (ratios[PAIRS / 2 - 1] + ratios[PAIRS / 2]) / 2,
          ratios[PAIRS / 4],
          ratios[PAIRS - 1 - PAIRS / 4],
          PAIRS,
          connection.path().name());
      assertTrue(counted > 1000, "requests while monitored: " + counted);
      // A few bytes come from the JVM itself, for thousands of requests.
      assertEquals(0, allocatedBytes / counted, "bytes of garbage for each monitored request");
    }
  }

  private double monitored(Node client, Connection connection, Reply reply) throws Exception {
    MonitorConfig anyPort = ShownNode.anyPort();
    try (Monitor monitor = Monitor.start(anyPort, client.metrics(), client.journal());
        HttpClient http = HttpClient.newHttpClient();
        InputStream stream =
            http.send(request(monitor, "/stream"), HttpResponse.BodyHandlers.ofInputStream())
                .body()) {
      assertTrue(stream.read() >= 0, "the stream has begun");
      assertEquals(
          200,
          http.send(request(monitor, "/metrics"), HttpResponse.BodyHandlers.discarding())
              .statusCode());
      var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
      long before = threads.getCurrentThreadAllocatedBytes();
      double ns = window(connection, reply, WINDOW_NS);
      allocatedBytes += threads.getCurrentThreadAllocatedBytes() - before;
      counted += (long) (WINDOW_NS / ns);
      http.shutdownNow();
      return ns;
    }
  }

  private static HttpRequest request(Monitor monitor, String page) {
    return HttpRequest.newBuilder(
            URI.create("http://127.0.0.1:" + monitor.address().getPort() + page))
        .build();
  }

  /** Returns the nanoseconds of a request, of a window full of them. */
  private double window(Connection connection, Reply reply, long windowNs) {
    long startNs = System.nanoTime();
    long requests = 0;
    while (System.nanoTime() - startNs < windowNs) {
      for (int i = 0; i < 64; i++) {
        connection.request(order, 0, ORDER_BYTES, TIMEOUT_NS, reply);
        reply.close();
      }
      requests += 64;
    }
    return (double) (System.nanoTime() - startNs) / requests;
  }
}
