package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.PortAddress;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.Verbs;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Connections through rdma_cm on RoCEv2 (10.9.0.1) and iWARP (10.9.1.1). */
@Tag("lab")
@Timeout(value = 90, unit = TimeUnit.SECONDS)
final class RdmaCmLabTest {
  private static final long STEP_NS = 20_000_000_000L;
  private static final Verbs VERBS = Verbs.system();
  private static final byte[] NONE = {};
  private static final String ROCE = "10.9.0.1";
  private static final String IWARP = "10.9.1.1";

  private String resourcesBefore = "";

  /** librdmacm keeps the contexts, and a domain of each, for the life of the process. */
  @BeforeAll
  static void bindToBothDevices() {
    for (String address : new String[] {ROCE, IWARP}) {
      try (CmId id = VERBS.createCmId()) {
        id.bind(new InetSocketAddress(address, 0));
        assertEquals(1, id.device().attributes().physicalPorts());
      }
    }
  }

  @BeforeEach
  void countBefore() throws Exception {
    resourcesBefore = Tool.run("rdma", "resource", "show");
  }

  /** Every identifier, queue pair, domain, region and queue has been given back to the kernel. */
  @AfterEach
  void countAfter() throws Exception {
    assertEquals(resourcesBefore, Tool.run("rdma", "resource", "show"));
  }

  private static CmParameters parameters(byte[] privateData) {
    return new CmParameters(privateData, 4, 4, 7, 7);
  }

  private static CmEvent await(CmId id, CmEvent.Type type) {
    CmEvent event = id.awaitEvent(STEP_NS);
    assertNotNull(event, () -> "no " + type + " on " + id);
    assertEquals(type, event.type(), () -> "status " + event.status() + " on " + id);
    return event;
  }

  private static CmId listen(String address) {
    CmId listener = VERBS.createCmId();
    listener.bind(new InetSocketAddress(address, 0));
    listener.listen(4);
    return listener;
  }

  private static CmId resolve(InetSocketAddress peer) {
    CmId id = VERBS.createCmId();
    id.resolveAddress(null, peer, 2000);
    await(id, CmEvent.Type.ADDR_RESOLVED);
    id.resolveRoute(2000);
    await(id, CmEvent.Type.ROUTE_RESOLVED);
    return id;
  }

  /** A queue pair on an identifier, with the domain and queue it needs. */
  private record End(CmId id, ProtectionDomain domain, CompletionQueue queue, QueuePair queuePair)
      implements AutoCloseable {
    static End on(CmId id) {
      Device device = id.device();
      ProtectionDomain domain = device.allocateProtectionDomain();
      CompletionQueue queue = device.createCompletionQueue(32, null, 0);
      QueuePair queuePair =
          id.createQueuePair(domain, new QueuePairConfig(queue, queue, 8, 8, 1, 1, 0, null));
      return new End(id, domain, queue, queuePair);
    }

    @Override
    public void close() {
      domain.close();
      queue.close();
    }
  }

  /** siw does not report the state of a queue pair to user space: it reads RESET always. */
  private static void assertState(QueuePairState expected, End end) {
    boolean reported = end.id().device().name().startsWith("rxe");
    assertEquals(reported ? expected : QueuePairState.RESET, end.queuePair().state());
  }

  @Test
  void theAddressesOfPortsAreFound() {
    List<PortAddress> found = VERBS.portAddresses();
    for (String[] expected : new String[][] {{ROCE, "rxe"}, {IWARP, "siw"}}) {
      PortAddress port =
          found.stream()
              .filter(address -> address.address().getHostAddress().equals(expected[0]))
              .findFirst()
              .orElseThrow(() -> new AssertionError(expected[0] + " is not in " + found));
      assertEquals(1, port.port());
      assertTrue(port.device().startsWith(expected[1]), port.toString());
      assertTrue(port.prefixBits() > 0 && port.prefixBits() <= 32, port.toString());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {ROCE, IWARP})
  void connectsExchangesPrivateDataAndDisconnects(String address) {
    byte[] hello = new byte[56];
    Arrays.fill(hello, (byte) 0x5a);
    try (CmId listener = listen(address);
        CmId client = resolve(listener.localAddress());
        End clientEnd = End.on(client)) {
      assertEquals(address, client.localAddress().getAddress().getHostAddress());
      assertEquals(1, client.devicePort());
      client.connect(parameters(hello));
      CmEvent request = await(listener, CmEvent.Type.CONNECT_REQUEST);
      assertArrayEquals(hello, Arrays.copyOf(request.privateData(), 56));
      try (CmId server = Objects.requireNonNull(request.newId());
          End serverEnd = End.on(server)) {
        assertSame(client.device(), server.device());
        server.accept(parameters(new byte[] {1, 2, 3}));
        // The client first: taking its event is what makes librdmacm confirm to the server.
        CmEvent established = await(client, CmEvent.Type.ESTABLISHED);
        await(server, CmEvent.Type.ESTABLISHED);
        assertArrayEquals(new byte[] {1, 2, 3}, Arrays.copyOf(established.privateData(), 3));
        assertState(QueuePairState.RTS, clientEnd);
        assertState(QueuePairState.RTS, serverEnd);
        if (address.equals(ROCE)) {
          int mtuBytes = client.device().port(1).activeMtuBytes();
          for (End end : new End[] {clientEnd, serverEnd}) {
            ConnectedPath path = end.queuePair().path();
            assertEquals(mtuBytes, path.mtuBytes());
            assertTrue(path.gidIndex() >= 0, path.toString());
            assertEquals(4, path.readsStarted());
            assertEquals(4, path.readsServed());
          }
        }
        client.disconnect();
        await(server, CmEvent.Type.DISCONNECTED);
        server.disconnect();
        await(client, CmEvent.Type.DISCONNECTED);
        assertState(QueuePairState.ERR, clientEnd);
        assertState(QueuePairState.ERR, serverEnd);
        client.disconnect();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {ROCE, IWARP})
  void carriesTheReasonOfARejection(String address) {
    try (CmId listener = listen(address);
        CmId client = resolve(listener.localAddress());
        End clientEnd = End.on(client)) {
      client.connect(parameters(NONE));
      CmEvent request = await(listener, CmEvent.Type.CONNECT_REQUEST);
      try (CmId server = Objects.requireNonNull(request.newId())) {
        server.reject(new byte[] {42});
        CmEvent rejected = await(client, CmEvent.Type.REJECTED);
        assertEquals(42, rejected.privateData()[0]);
      }
      assertState(QueuePairState.ERR, clientEnd);
    }
  }

  @Test
  void reportsAPortNobodyListensOn() {
    try (CmId client = resolve(new InetSocketAddress("10.9.0.1", 9));
        End clientEnd = End.on(client)) {
      client.connect(parameters(NONE));
      CmEvent rejected = await(client, CmEvent.Type.REJECTED);
      assertTrue(rejected.status() != 0, clientEnd::toString);
    }
  }

  @Test
  void reportsAnAddressWithoutARoute() {
    try (CmId client = VERBS.createCmId()) {
      VerbsException e =
          assertThrows(
              VerbsException.class,
              () -> {
                client.resolveAddress(null, new InetSocketAddress("203.0.113.1", 1), 500);
                await(client, CmEvent.Type.ADDR_RESOLVED);
              });
      assertTrue(String.valueOf(e.getMessage()).contains("203.0.113.1"), e::toString);
    }
  }

  @Test
  void reportsAPeerThatDoesNotAnswer() {
    try (CmId client = VERBS.createCmId()) {
      client.resolveAddress(null, new InetSocketAddress("10.9.0.77", 1), 1000);
      await(client, CmEvent.Type.ADDR_ERROR);
    }
  }

  @Test
  void waitsNoLongerThanAsked() {
    try (CmId listener = listen("10.9.0.1")) {
      assertNull(listener.awaitEvent(0));
      long startNs = System.nanoTime();
      assertNull(listener.awaitEvent(50_000_000));
      assertTrue(System.nanoTime() - startNs >= 50_000_000);
    }
  }

  @Test
  void refusesWhatDoesNotFit() {
    try (CmId client = resolve(new InetSocketAddress("10.9.0.1", 9))) {
      IllegalArgumentException e =
          assertThrows(
              IllegalArgumentException.class, () -> client.connect(parameters(new byte[57])));
      assertTrue(String.valueOf(e.getMessage()).contains("57 bytes exceeds the 56"), e::toString);
      assertThrows(IllegalArgumentException.class, () -> client.accept(parameters(new byte[197])));
      assertThrows(IllegalArgumentException.class, () -> client.reject(new byte[149]));
    }
  }

  @Test
  void isHarmlessBeforeConnectingAndAfterClosing() {
    CmId id = VERBS.createCmId();
    id.disconnect();
    assertThrows(IllegalStateException.class, id::device);
    id.close();
    id.close();
    id.disconnect();
    assertThrows(IllegalStateException.class, () -> id.awaitEvent(0));
    assertThrows(IllegalStateException.class, id::localAddress);
  }

  @Test
  void namesAnAddressOfNoDevice() {
    try (CmId id = VERBS.createCmId()) {
      VerbsException e =
          assertThrows(
              VerbsException.class, () -> id.bind(new InetSocketAddress("203.0.113.1", 1)));
      assertTrue(String.valueOf(e.getMessage()).contains("203.0.113.1"), e::toString);
    }
  }
}
