package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePairConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Set-up that fails at any step gives everything back, says why, and does not spoil the next. */
@Timeout(60)
final class VerbsSetupFaultTest {
  private static final Duration SOON = Duration.ofMillis(500);

  @ParameterizedTest
  @CsvSource({
    "rdma_create_id, 1, 5",
    "rdma_create_id, 2, 5",
    "rdma_bind_addr, 1, 19",
    "rdma_listen, 1, 22",
    "rdma_resolve_addr, 1, 19",
    "rdma_resolve_route, 1, 110",
    "ibv_reg_mr, 1, 12",
    "ibv_reg_mr, 2, 12",
    "ibv_create_cq, 1, 5",
    "ibv_create_cq, 2, 5",
    "rdma_create_qp, 1, 22",
    "rdma_create_qp, 2, 22",
    "ibv_post_recv, 1, 12",
    "ibv_post_recv, 5, 12",
    "rdma_connect, 1, 22",
    "rdma_accept, 1, 22",
  })
  void everyRefusedCallGivesEverythingBack(String call, int n, int errno) throws IOException {
    try (var link = new ScriptedLink(1000, 16)) {
      link.verbs.faults().refuseNth(call, n, errno);
      IOException failure =
          assertThrows(IOException.class, () -> link.connect(link.initiator()::initiate, SOON));
      String reasons = reasons(failure);
      assertTrue(reasons.contains(call) && reasons.contains("errno " + errno), reasons);
      assertOnlyDevicesLeft(link);
      link.verbs.faults().clear();
      link.connect().close();
    }
  }

  @ParameterizedTest
  @CsvSource({"rdma_bind_addr", "rdma_listen", "rdma_connect"})
  void aPortThatIsTakenIsTriedAgainWithAnother(String call) throws IOException {
    try (var link = new ScriptedLink(1000, 16)) {
      link.verbs.faults().refuseNth(call, 1, Errno.EADDRINUSE);
      link.verbs.faults().refuseNth(call, 2, Errno.EADDRINUSE);
      link.connect().close();
      assertEquals(3, link.verbs.faults().callsMade(call));
      assertOnlyDevicesLeft(link);
      link.verbs.faults().refuseAlways(call, Errno.EADDRINUSE);
      IOException failure =
          assertThrows(IOException.class, () -> link.connect(link.initiator()::initiate, SOON));
      assertTrue(reasons(failure).contains(call), reasons(failure));
      assertEquals(3 + 8, link.verbs.faults().callsMade(call), "not for ever");
      assertOnlyDevicesLeft(link);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "ADDR_RESOLVED, ADDR_ERROR, -19",
    "ROUTE_RESOLVED, ROUTE_ERROR, -110",
    "CONNECT_REQUEST, DEVICE_REMOVAL, 0",
    "ESTABLISHED, UNREACHABLE, -110",
    "ESTABLISHED, REJECTED, 28",
  })
  void everyFailingEventGivesEverythingBack(CmEvent.Type expected, CmEvent.Type instead, int status)
      throws IOException {
    try (var link = new ScriptedLink(1000, 16)) {
      link.verbs.connectionManager().replaceNext(expected, instead, status);
      IOException failure =
          assertThrows(IOException.class, () -> link.connect(link.initiator()::initiate, SOON));
      String reasons = reasons(failure);
      assertTrue(reasons.contains(instead.name()), reasons);
      assertOnlyDevicesLeft(link);
      link.connect().close();
    }
  }

  @ParameterizedTest
  @CsvSource({"ADDR_RESOLVED", "CONNECT_REQUEST", "ESTABLISHED"})
  void anEventThatNeverComesEndsWithTheDeadline(CmEvent.Type lost) throws IOException {
    try (var link = new ScriptedLink(1000, 16)) {
      link.verbs.connectionManager().loseNext(lost);
      assertThrows(IOException.class, () -> link.connect(link.initiator()::initiate, SOON));
      assertOnlyDevicesLeft(link);
      link.connect().close();
    }
  }

  /** Returns what both ends said. */
  private static String reasons(IOException failure) {
    StringBuilder reasons = new StringBuilder(String.valueOf(failure.getMessage()));
    for (Throwable other : failure.getSuppressed()) {
      reasons.append("; ").append(other.getMessage());
    }
    return reasons.toString();
  }

  private static void assertOnlyDevicesLeft(ScriptedLink link) {
    for (Ledger.Kind kind : Ledger.Kind.values()) {
      boolean owned = kind == Ledger.Kind.DEVICE || kind == Ledger.Kind.PROTECTION_DOMAIN;
      assertEquals(owned ? 2 : 0, link.verbs.ledger().live(kind), kind::name);
    }
  }

  @Test
  void anAddressWithoutDeviceIsRefusedAndSaysSo() throws IOException {
    var verbs = new ScriptedVerbs();
    verbs.addDevice("scripted0");
    try (var provider = new VerbsProvider(verbs)) {
      IOException failure =
          assertThrows(
              IOException.class,
              () ->
                  EndpointPair.connect(
                      provider,
                      provider,
                      InetAddress.getLoopbackAddress(),
                      new EndpointConfig(100, 4, 400)));
      assertTrue(reasons(failure).contains("belongs to no RDMA device"), reasons(failure));
    }
    verbs.ledger().assertNothingLeft();
  }

  @Test
  void aStrangersRequestIsRefusedAndTheWaitGoesOn() throws IOException {
    try (var link = new ScriptedLink(1000, 16)) {
      var stranger = new AtomicReference<CmId>();
      EndpointPair.Setup late =
          (handshake, config) -> {
            var spied = new StrangerFirst(handshake, link.verbs, stranger);
            return link.initiator().initiate(spied, config);
          };
      try (EndpointPair pair = link.connect(late, Duration.ofSeconds(5))) {
        assertTrue(pair.acceptor().description().startsWith("verbs scripted0"));
        CmEvent answer = stranger.get().awaitEvent(0);
        assertNotNull(answer);
        assertEquals(CmEvent.Type.REJECTED, answer.type());
      } finally {
        stranger.get().close();
      }
    }
  }

  @Test
  void aWindowBeyondTheDevicesQueuesIsRefusedWithTheLimit() throws IOException {
    try (var link = new ScriptedLink(1000, 64)) {
      link.device.limits().maxQueuePairWorkRequests = 50;
      IOException failure = assertThrows(IOException.class, link::connect);
      assertTrue(reasons(failure).contains("67 receives"), reasons(failure));
      assertTrue(reasons(failure).contains("queues of 50"), reasons(failure));
    }
  }

  @Test
  void aCompletionQueueIsNeverCutToTheDevicesLimit() throws IOException {
    try (var link = new ScriptedLink(1000, 64)) {
      link.device.limits().maxCompletionQueueEntries = 100;
      IOException failure = assertThrows(IOException.class, link::connect);
      assertTrue(reasons(failure).contains("has at most 100"), reasons(failure));
      assertOnlyDevicesLeft(link);
    }
  }

  @Test
  void devicesThatCanNotBeOpenedAreSkippedWithAReasonEach() throws IOException {
    var verbs = new ScriptedVerbs();
    verbs.addDevice("mlx5_0").address(InetAddress.getLoopbackAddress());
    verbs.addDevice("mlx5_1").unusable("/dev/infiniband/uverbs1 is missing");
    verbs.addDevice("mlx5_2");
    verbs.addDevice("mlx5_3");
    verbs.faults().refuseNth("ibv_open_device", 3, Errno.EIO);
    try (var provider = new VerbsProvider(verbs)) {
      assertEquals(2, provider.registrars().size());
      assertTrue(provider.availability().usable());
      String reason = provider.availability().reason();
      assertTrue(reason.contains("devices mlx5_0, mlx5_2"), reason);
      assertTrue(reason.contains("mlx5_1 (/dev/infiniband/uverbs1 is missing)"), reason);
      assertTrue(reason.contains("mlx5_3 (ibv_open_device"), reason);
      EndpointPair.connect(
              provider, provider, InetAddress.getLoopbackAddress(), new EndpointConfig(100, 4, 400))
          .close();
    }
    verbs.ledger().assertNothingLeft();
  }

  @Test
  void noDeviceAndNoProtectionDomainAreExplained() {
    var none = new ScriptedVerbs();
    try (var provider = new VerbsProvider(none)) {
      assertFalse(provider.availability().usable());
      assertEquals(none.availability().reason(), provider.availability().reason());
      assertFalse(provider.judge(new byte[] {1, 2}).usable());
    }
    var broken = new ScriptedVerbs();
    broken.addDevice("mlx5_0");
    broken.faults().refuseAlways("ibv_alloc_pd", Errno.ENOMEM);
    try (var provider = new VerbsProvider(broken)) {
      assertFalse(provider.availability().usable());
      assertTrue(provider.availability().reason().contains("ibv_alloc_pd"));
    }
    broken.ledger().assertNothingLeft();
  }

  /** Lets a stranger connect to the acceptor's port before the initiator hears of it. */
  private record StrangerFirst(
      Handshake actual, ScriptedVerbs verbs, AtomicReference<CmId> stranger) implements Handshake {
    /** The first message of this length is the one that tells the port. */
    private static final int STEP_BYTES = 16;

    @Override
    public byte[] receive() throws IOException {
      byte[] message = actual.receive();
      if (stranger.get() == null && message.length == STEP_BYTES) {
        CmId id = verbs.createCmId();
        stranger.set(id);
        int port = Short.toUnsignedInt(ByteBuffer.wrap(message).getShort(2));
        id.resolveAddress(null, new InetSocketAddress(ScriptedLink.ADDRESS, port), 100);
        id.resolveRoute(100);
        ProtectionDomain domain = id.device().allocateProtectionDomain();
        CompletionQueue queue = id.device().createCompletionQueue(8, null, 0);
        id.createQueuePair(domain, new QueuePairConfig(queue, queue, 4, 4, 1, 1, 0, null));
        id.connect(new CmParameters(new byte[16], 1, 1, 7, 7));
        while (id.awaitEvent(0) != null) {
          // Address and route are resolved at once; the answer to the connect comes later.
        }
      }
      return message;
    }

    @Override
    public byte[] token() {
      return actual.token();
    }

    @Override
    public InetSocketAddress localAddress() {
      return actual.localAddress();
    }

    @Override
    public InetSocketAddress peerAddress() {
      return actual.peerAddress();
    }

    @Override
    public void send(byte[] message) throws IOException {
      actual.send(message);
    }

    @Override
    public long remainingNs() {
      return actual.remainingNs();
    }

    @Override
    public SocketChannel socket() {
      return actual.socket();
    }
  }
}
