package io.rdma4j.monitor;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.Rdma4jException;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.RequestFailedException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Pages of a monitor beside a real node with a connection that carries requests. */
@Timeout(120)
class MonitorTest {
  private static final String TOKEN = "correct-horse-battery-staple";

  /** Length of a request that gets no reply. */
  private static final int UNANSWERED = 13;

  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(60);

  private Node server;
  private Node client;
  private Connection connection;
  private Monitor monitor;
  private Client http;

  private static final ConnectionHandler ECHO =
      new ConnectionHandler() {
        @Override
        public void onMessage(Connection from, Message message) {
          if (message.isRequest() && message.lengthBytes() != UNANSWERED) {
            from.reply(message.correlationId(), message.payload(), 0, message.lengthBytes());
          }
        }
      };

  @BeforeEach
  void start() {
    server =
        Node.start(
            NodeConfig.builder()
                .listen(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                    (peer, path) -> ECHO)
                .paths("tcp")
                .pool(PoolConfig.builder().maxBytes(64 << 20).build())
                .build());
    client = Node.start(NodeConfig.builder().paths("tcp").build());
    connection = client.connect(address(), ECHO);
    startMonitor(config());
  }

  private InetSocketAddress address() {
    return requireNonNull(server.listenAddress());
  }

  private static MonitorConfig config() {
    return MonitorConfig.defaults()
        .withAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  private void startMonitor(MonitorConfig config) {
    monitor = Monitor.start(config, client.metrics());
    http = new Client(monitor);
  }

  private void restart(MonitorConfig config) {
    http.close();
    monitor.close();
    startMonitor(config);
  }

  @AfterEach
  void stop() {
    http.close();
    monitor.close();
    client.close();
    server.close();
  }

  private void exchange(int requests) {
    MemorySegment order = MemorySegment.ofArray(new byte[100]);
    for (int i = 0; i < requests; i++) {
      connection.request(order, 0, 100, TIMEOUT_NS).close();
    }
  }

  @Test
  void varsAreLinesChosenByWildcardsInPathOrQuery() throws Exception {
    exchange(32);
    String all = http.get("/vars").body();
    for (String name :
        List.of(
            "rdma_mem_pool_alloc_latency",
            "rdma_mem_pool_fragmentation",
            "rdma_mem_pool_hit_rate",
            "rdma_mem_pool_fallback_count",
            "rdma_reg_mr_duration")) {
      assertTrue(all.lines().anyMatch(line -> line.startsWith(name + " : ")), name + " in " + all);
    }
    assertTrue(
        all.contains("rdma4j_node_messages_total{path=\"tcp\",direction=\"sent\"} : 32\n"), all);
    String chosen = http.get("/vars/rdma_mem*").body();
    assertEquals(chosen, http.get("/vars?filter=rdma_mem*").body());
    assertTrue(chosen.lines().allMatch(line -> line.startsWith("rdma_mem_")), chosen);
    assertEquals(4, chosen.lines().count(), chosen);
    Map<String, Object> json =
        JSON.std.mapFrom(http.get("/vars/*messages_total", "Accept", "application/json").body());
    assertEquals(1, ((List<?>) requireNonNull(json.get("metrics"))).size(), json.toString());
  }

  @Test
  void metricsComeInBothFormats() throws Exception {
    exchange(32);
    HttpResponse<String> text = http.get("/metrics");
    assertEquals("text/plain; version=0.0.4; charset=utf-8", type(text));
    assertTrue(
        text.body().contains("rdma4j_node_messages_total{direction=\"sent\",path=\"tcp\"} 32.0\n"),
        text.body());
    assertTrue(text.body().contains("rdma4j_node_request_seconds_count 32\n"), text.body());
    HttpResponse<String> open =
        http.get("/metrics", "Accept", "application/openmetrics-text; version=1.0.0");
    assertEquals("application/openmetrics-text; version=1.0.0; charset=utf-8", type(open));
    assertTrue(open.body().endsWith("# EOF\n"), open.body());
    assertTrue(open.body().contains("# UNIT rdma4j_node_request_seconds seconds\n"), open.body());
  }

  private static String type(HttpResponse<String> response) {
    return response.headers().firstValue("Content-Type").orElseThrow();
  }

  @Test
  void tablesAreTextAndJson() throws Exception {
    exchange(3);
    String text = http.get("/connections").body();
    assertTrue(text.startsWith("id  peer"), text);
    assertEquals(2, text.lines().count(), text);
    Map<String, Object> row = rows("/connections").getFirst();
    assertEquals("tcp", row.get("path"));
    assertEquals("OPEN", row.get("state"));
    assertEquals(3, row.get("messages_sent"));
    assertEquals(300, row.get("bytes_sent"));
    assertEquals(3, row.get("messages_received"));
    assertEquals("127.0.0.1:" + address().getPort(), row.get("peer"), row.toString());
    assertTrue(rows("/pool").stream().allMatch(slab -> "ACTIVE".equals(slab.get("state"))));
    assertEquals(List.of("tcp"), rows("/paths").stream().map(p -> p.get("path")).toList());
    assertEquals(200, http.get("/ports").statusCode());
  }

  private List<Map<String, Object>> rows(String page) throws Exception {
    Map<String, Object> json = JSON.std.mapFrom(http.get(page + "?format=json").body());
    List<Map<String, Object>> rows = new ArrayList<>();
    for (Object row : (List<?>) requireNonNull(json.get("rows"))) {
      rows.add(JSON.std.mapFrom(JSON.std.asString(row)));
    }
    return rows;
  }

  @Test
  void aLongTableIsCutAndSaysSo() throws Exception {
    restart(config().withMaxRows(2));
    List<Connection> more = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      more.add(client.connect(address(), ECHO));
    }
    String text = http.get("/connections").body();
    assertTrue(text.endsWith("and 3 more\n"), text);
    assertEquals(4, text.lines().count(), text);
    more.forEach(Connection::close);
  }

  @Test
  void healthSaysWhatIsWrongUntilItIsOver() throws Exception {
    assertEquals("OK\n", http.get("/health").body());
    MemorySegment unanswered = MemorySegment.ofArray(new byte[UNANSWERED]);
    assertThrows(
        RequestFailedException.class,
        () -> connection.request(unanswered, 0, UNANSWERED, 1_000_000).close());
    await("finding", () -> http.get("/health").body().startsWith("DEGRADED"));
    HttpResponse<String> json = http.get("/health?format=json");
    assertEquals(200, json.statusCode());
    assertTrue(json.body().contains("\"requests_deadline\""), json.body());
    await("end of it", () -> http.get("/health").body().equals("OK\n"));
  }

  @Test
  void theStreamBringsEverythingEachSecond() throws Exception {
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(http.open("/stream"), StandardCharsets.UTF_8))) {
      for (int message = 0; message < 3; message++) {
        String line = lines.readLine();
        assertTrue(line.startsWith("data: {"), line);
        Map<String, Object> json = JSON.std.mapFrom(line.substring(6));
        assertEquals(
            List.of("points", "health", "snapshot", "tables", "incidents"),
            List.copyOf(json.keySet()));
        assertTrue(line.contains("\"name\":\"rdma4j_pool_bytes\""), "what is drawn of the pool");
        Map<?, ?> tables = (Map<?, ?>) requireNonNull(json.get("tables"));
        assertTrue(tables.containsKey("connections") && tables.containsKey("pool"));
        assertEquals(message == 0, json.get("points") instanceof List);
        assertEquals("", lines.readLine());
      }
    }
    await("nobody to follow", () -> monitor.followers() == 0);
  }

  /** Between two points, as those mark the seconds. */
  @Test
  void newsOfAnIncidentDoNotWaitForTheNextSecond() throws Exception {
    http.close();
    monitor.close();
    EventJournal journal = client.journal();
    monitor = Monitor.start(config(), client.metrics(), journal);
    http = new Client(monitor);
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(http.open("/stream"), StandardCharsets.UTF_8))) {
      for (int port = 1; ; port++) {
        assertTrue(port <= 100, "no message of 100 incidents came without a point");
        journal.emit(EventKind.PORT_ERR, EventSubject.device("mlx5_0", port), "");
        Map<String, Object> told;
        do {
          told = JSON.std.mapFrom(message(lines));
        } while (!String.valueOf(told.get("incidents")).contains("port=" + port));
        if (!told.containsKey("points")) {
          assertTrue(String.valueOf(told.get("incidents")).contains("port-down"));
          assertTrue(String.valueOf(told.get("health")).contains("DEGRADED"));
          return;
        }
      }
    }
  }

  private static String message(BufferedReader lines) throws IOException {
    for (String line; (line = lines.readLine()) != null; ) {
      if (line.startsWith("data: ")) {
        return line.substring(6);
      }
    }
    throw new AssertionError("the stream ended");
  }

  @Test
  void whoDoesNotBearTheTokenSeesNoData() throws Exception {
    restart(config().withToken(TOKEN));
    for (String page : List.of("/vars", "/metrics", "/health", "/connections", "/stream", "/x")) {
      HttpResponse<String> refused = http.get(page);
      assertEquals(401, refused.statusCode(), page);
      assertEquals("Bearer", refused.headers().firstValue("WWW-Authenticate").orElseThrow());
      assertEquals(401, http.get(page, "Authorization", "Bearer " + TOKEN + "x").statusCode());
    }
    assertEquals(200, http.get("/vars", "Authorization", "Bearer " + TOKEN).statusCode());
    assertEquals(200, http.get("/").statusCode());
    assertFalse(config().withToken(TOKEN).toString().contains(TOKEN));
    assertThrows(IllegalArgumentException.class, () -> config().withToken("short"));
  }

  @Test
  void badRequestsAreToldWhatIsWrong() throws Exception {
    assertEquals(
        405, http.send(http.request("/vars").POST(BodyPublishers.ofString("x"))).statusCode());
    HttpResponse<String> unknown = http.get("/no-such-page");
    assertEquals(404, unknown.statusCode());
    assertTrue(unknown.body().contains("/connections"), unknown.body());
    assertEquals(400, http.get("/vars?format=xml").statusCode());
    assertEquals(400, http.get("/vars?filter=" + "a".repeat(5000)).statusCode());
    HttpResponse<String> head =
        http.send(http.request("/vars").method("HEAD", BodyPublishers.noBody()));
    assertEquals(200, head.statusCode());
    assertEquals("", head.body());
  }

  @Test
  void tooManyRequestsAtOnceAreCutOffAndTheRestGoOn() throws Exception {
    restart(config().withMaxRequests(2));
    // Two clients that never end their request take both places.
    try (Socket first = halfRequest();
        Socket second = halfRequest()) {
      await("both to be read", () -> monitor.running() == 2);
      try (Socket third = halfRequest()) {
        assertTrue(isCutOff(third), "a third one is cut off");
      }
      assertTrue(first.isConnected() && second.isConnected());
    }
    await("places", () -> monitor.running() == 0);
    assertEquals(200, http.get("/vars").statusCode());
  }

  private static boolean isCutOff(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (SocketException e) {
      return true; // what was sent had not been read
    }
  }

  private Socket halfRequest() throws Exception {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), monitor.address().getPort());
    socket.setSoTimeout(60_000);
    socket
        .getOutputStream()
        .write("GET /vars HTTP/1.1\r\nHost: ".getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  @Test
  void aTakenAddressIsSaidAndLeavesNothingBehind() {
    MonitorConfig taken = config().withAddress(monitor.address());
    Rdma4jException failure =
        assertThrows(Rdma4jException.class, () -> Monitor.start(taken, server.metrics()));
    assertTrue(failure.toString().contains("choose another port"), failure.toString());
    Monitor.start(config(), server.metrics()).close();
    assertThrows(IllegalStateException.class, () -> Monitor.start(config(), client.metrics()));
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(String what, Condition condition) throws Exception {
    long endNs = System.nanoTime() + TIMEOUT_NS;
    while (!condition.holds()) {
      assertTrue(System.nanoTime() < endNs, "no " + what + " within 60 s");
      Thread.sleep(20);
    }
  }
}
