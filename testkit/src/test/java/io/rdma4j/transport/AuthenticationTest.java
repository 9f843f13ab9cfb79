package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import io.rdma4j.testkit.transport.Mailbox;
import io.rdma4j.transport.TamperingProxy.Direction;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who does not know the secret of a cluster does not get in, nor does who listens in between. */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
final class AuthenticationTest {
  private static final SharedSecret SECRET = secret("the secret of this cluster");
  private static final SharedSecret OTHER = secret("the secret of another one");
  private static final Duration PATIENCE = Duration.ofMillis(300);

  /** Hello frame with one path without an offer, then the proof. */
  private static final int HELLO_BYTES = 3 + 79 + 1 + 3 + 2;

  private static final int PROOF_BYTES = 3 + 32;

  private final AtomicInteger handlersMade = new AtomicInteger();

  private static SharedSecret secret(String text) {
    return SharedSecret.of(text.getBytes(StandardCharsets.US_ASCII));
  }

  private static NodeConfig.Builder config(String path) {
    return NodeConfig.builder().paths(path).handshakeTimeout(PATIENCE);
  }

  private Node server(NodeConfig.Builder config, Mailbox inbox) {
    return Node.start(
        config
            .listen(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                (peer, path) -> {
                  handlersMade.incrementAndGet();
                  return inbox;
                })
            .build());
  }

  private static InetSocketAddress at(Node node) {
    return Objects.requireNonNull(node.listenAddress());
  }

  private static void exchange(Node client, InetSocketAddress to, Mailbox inbox)
      throws InterruptedException {
    byte[] order = {1, 2, 3};
    try (Connection connection = client.connect(to, new Mailbox())) {
      assertEquals(0, connection.send(MemorySegment.ofArray(order), 0, 3));
      assertArrayEquals(order, inbox.take());
    }
  }

  private static String refusal(Node client, InetSocketAddress to) {
    return String.valueOf(
        assertThrows(ConnectFailedException.class, () -> client.connect(to, new Mailbox()))
            .getMessage());
  }

  @Test
  void whoKnowsTheSecretGetsIn() throws InterruptedException {
    for (String path : new String[] {"tcp", "shm"}) {
      Mailbox inbox = new Mailbox();
      try (Node server = server(config(path).secret(SECRET), inbox);
          Node client = Node.start(config(path).secret(SECRET).build())) {
        exchange(client, at(server), inbox);
      }
    }
  }

  @Test
  void whoKnowsAnotherSecretDoesNot() {
    try (Node server = server(config("tcp").secret(SECRET), new Mailbox());
        Node client = Node.start(config("tcp").secret(OTHER).build())) {
      String reason = refusal(client, at(server));
      assertTrue(reason.contains("secret"), reason);
      assertEquals(1, server.status().proofsRefused());
      assertEquals(0, handlersMade.get());
    }
  }

  @Test
  void aSecretOnOneSideOnlyIsRefusedByNameOnEitherSide() {
    try (Node with = server(config("tcp").secret(SECRET), new Mailbox());
        Node without = server(config("tcp"), new Mailbox())) {
      String here = refusal(without, at(with));
      assertTrue(here.contains("shared secret"), here);
      String there = refusal(with, at(without));
      assertTrue(there.contains("shared secret"), there);
      assertEquals(0, handlersMade.get());
    }
  }

  @Test
  void aSecretIsChangedWithoutAMomentInWhichNodesDoNotUnderstandEachOther()
      throws InterruptedException {
    NodeConfig.Builder[] steps = {
      config("tcp").secret(SECRET),
      config("tcp").secret(SECRET, OTHER),
      config("tcp").secret(OTHER, SECRET),
      config("tcp").secret(OTHER)
    };
    for (int step = 0; step + 1 < steps.length; step++) {
      Mailbox[] inbox = {new Mailbox(), new Mailbox()};
      try (Node before = server(steps[step], inbox[0]);
          Node after = server(steps[step + 1], inbox[1])) {
        exchange(before, at(after), inbox[1]);
        exchange(after, at(before), inbox[0]);
      }
    }
  }

  /** Every byte of both hellos and both proofs, each with three changes: none gets through. */
  @Test
  void nothingOfTheHandshakeCanBeChangedInBetween() throws Exception {
    Mailbox inbox = new Mailbox();
    try (Node server = server(config("tcp").secret(SECRET), inbox);
        Node client = Node.start(config("tcp").secret(SECRET).build());
        TamperingProxy proxy = new TamperingProxy(at(server))) {
      for (Direction direction : Direction.values()) {
        for (int at = 0; at < HELLO_BYTES + PROOF_BYTES; at++) {
          proxy.change(direction, at, at % 3 == 0 ? 0x80 : at % 3 == 1 ? 1 : 0xff);
          refusal(client, proxy.address());
        }
      }
      assertEquals(0, handlersMade.get());
      proxy.honest();
      exchange(client, proxy.address(), inbox);
    }
  }

  /** Past the proofs a change may go unnoticed; it never hangs a node, and leaves it usable. */
  @Test
  void whateverIsChangedInTheNegotiationBothNodesGoOn() throws Exception {
    for (String path : new String[] {"tcp", "shm"}) {
      Mailbox inbox = new Mailbox();
      try (Node server = server(config(path), inbox);
          Node client = Node.start(config(path).build());
          TamperingProxy proxy = new TamperingProxy(at(server))) {
        for (Direction direction : Direction.values()) {
          for (int at = 0; at < HELLO_BYTES + 60; at++) {
            proxy.change(direction, at, 1 << at % 8);
            try {
              client.connect(proxy.address(), new Mailbox()).close();
            } catch (ConnectFailedException e) {
              assertTrue(String.valueOf(e.getMessage()).contains("no connection to"), e.toString());
            }
          }
        }
        proxy.honest();
        proxy.cut();
        exchange(client, at(server), inbox);
      }
    }
  }

  @Test
  void aHandshakeThatComesByteByByteIsAsGoodAsAnyOther() throws Exception {
    Mailbox inbox = new Mailbox();
    try (Node server = server(config("tcp").secret(SECRET), inbox);
        Node client = Node.start(config("tcp").secret(SECRET).build());
        TamperingProxy proxy = new TamperingProxy(at(server))) {
      proxy.oneByOne();
      exchange(client, proxy.address(), inbox);
    }
  }

  @Test
  void whatSomebodyHasRecordedGetsNobodyIn() throws Exception {
    Mailbox inbox = new Mailbox();
    try (Node server = server(config("tcp").secret(SECRET), inbox);
        Node client = Node.start(config("tcp").secret(SECRET).build());
        TamperingProxy proxy = new TamperingProxy(at(server))) {
      exchange(client, proxy.address(), inbox);
      byte[] recorded = proxy.recorded();
      assertTrue(recorded.length > HELLO_BYTES + PROOF_BYTES, recorded.length + " bytes");
      int made = handlersMade.get();
      try (Socket replay = new Socket(at(server).getAddress(), at(server).getPort())) {
        replay.setSoTimeout(10_000);
        replay.getOutputStream().write(recorded);
        try {
          replay.getInputStream().readAllBytes();
        } catch (SocketException e) {
          assertTrue(String.valueOf(e.getMessage()).contains("reset"), e.toString());
        }
      }
      for (int waitMs = 0; server.status().proofsRefused() == 0 && waitMs < 10_000; waitMs += 5) {
        Thread.sleep(5);
      }
      assertEquals(1, server.status().proofsRefused());
      assertEquals(made, handlersMade.get());
    }
  }

  /** Somebody without the secret sends an initiator's own proof back as the acceptor's. */
  @Test
  void anInitiatorsProofIsNoProofOfTheAcceptor() throws Exception {
    try (java.net.ServerSocket mirror =
            new java.net.ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Node client = Node.start(config("tcp").secret(SECRET).build())) {
      Thread.ofVirtual()
          .start(
              () -> {
                try (Socket socket = mirror.accept()) {
                  socket.getInputStream().transferTo(socket.getOutputStream());
                } catch (IOException e) {
                  // The client hangs up, which is what the test asks for.
                }
              });
      String reason =
          refusal(
              client,
              new InetSocketAddress(InetAddress.getLoopbackAddress(), mirror.getLocalPort()));
      assertTrue(reason.contains("does not know the secret"), reason);
      assertEquals(1, client.status().proofsRefused());
    }
  }

  @Test
  void aSecretShowsNowhereAndIsReadFromAPrivateFileOnly(@TempDir Path directory)
      throws IOException {
    NodeConfig config = config("tcp").secret(SECRET, OTHER).build();
    assertFalse((config + " " + config.secret()).contains("cluster"));
    Path file = Files.writeString(directory.resolve("secret"), "0123456789abcdef\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    assertArrayEquals(
        "0123456789abcdef".getBytes(StandardCharsets.US_ASCII), SharedSecret.read(file).bytes());
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    Rdma4jException open = assertThrows(Rdma4jException.class, () -> SharedSecret.read(file));
    assertTrue(String.valueOf(open.getMessage()).contains("chmod"), open.toString());
    Path absent = directory.resolve("absent");
    assertThrows(Rdma4jException.class, () -> SharedSecret.read(absent));
    for (int length : new int[] {0, 15, 1025}) {
      assertThrows(IllegalArgumentException.class, () -> SharedSecret.of(new byte[length]));
      Path wrong = Files.write(directory.resolve("wrong"), new byte[length]);
      Files.setPosixFilePermissions(wrong, PosixFilePermissions.fromString("rw-------"));
      assertThrows(IllegalArgumentException.class, () -> SharedSecret.read(wrong));
    }
  }
}
