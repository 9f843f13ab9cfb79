package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.testkit.transport.Mailbox;
import io.rdma4j.transport.TamperingProxy.Direction;
import io.rdma4j.transport.TlsConfig.PeerNames;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Certificates decide who connects, and what goes over the socket can be neither read nor changed.
 */
@Timeout(value = 90, unit = TimeUnit.SECONDS)
final class TlsTest {
  private static final char[] PASSWORD = "changeit".toCharArray();

  /** Of this host; of another host; signed by nobody whom the others trust. */
  private static KeyStore here = emptyStore();

  private static KeyStore elsewhere = emptyStore();
  private static KeyStore stranger = emptyStore();

  private final AtomicInteger handlersMade = new AtomicInteger();

  private static KeyStore emptyStore() {
    try {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      return store;
    } catch (java.security.GeneralSecurityException | java.io.IOException e) {
      throw new AssertionError(e);
    }
  }

  @BeforeAll
  static void makeKeys(@TempDir Path directory) throws Exception {
    here = key(directory.resolve("here"), "ip:127.0.0.1,ip:::1,dns:localhost");
    elsewhere = key(directory.resolve("elsewhere"), "dns:elsewhere.invalid");
    stranger = key(directory.resolve("stranger"), "ip:127.0.0.1,dns:localhost");
  }

  private static KeyStore key(Path file, String names) throws Exception {
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-alias",
                "node",
                "-dname",
                "CN=" + file.getFileName(),
                "-ext",
                "san=" + names,
                "-keystore",
                file.toString(),
                "-storetype",
                "PKCS12",
                "-storepass",
                new String(PASSWORD))
            .redirectErrorStream(true)
            .start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, keytool.waitFor(), said);
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, PASSWORD);
    }
    return store;
  }

  /** A context with the key of {@code own}, which trusts the certificates of this cluster. */
  private static SSLContext context(KeyStore own) throws Exception {
    KeyStore trusted = emptyStore();
    trusted.setCertificateEntry("here", here.getCertificate("node"));
    trusted.setCertificateEntry("elsewhere", elsewhere.getCertificate("node"));
    KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
    keys.init(own, PASSWORD);
    TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
    return context;
  }

  private static NodeConfig.Builder config(String path, KeyStore own) throws Exception {
    return NodeConfig.builder()
        .paths(path)
        .handshakeTimeout(Duration.ofSeconds(5))
        .tls(TlsConfig.of(context(own)));
  }

  private Node server(NodeConfig.Builder config, ConnectionHandler inbox) {
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

  private static String refusal(Node client, InetSocketAddress to) {
    return String.valueOf(
        assertThrows(ConnectFailedException.class, () -> client.connect(to, new Mailbox()))
            .getMessage());
  }

  @Test
  void messagesOfEveryLengthArriveBothWaysAndInOrder() throws Exception {
    for (String path : new String[] {"tcp", "shm"}) {
      Mailbox answers = new Mailbox();
      SplittableRandom random = new SplittableRandom(7);
      try (Node server =
              server(
                  config(path, here).secret(SharedSecret.of(new byte[32])),
                  (connection, message) -> {
                    while (connection.send(
                            message.memory(), message.offset(), message.lengthBytes())
                        == SendResult.BACK_PRESSURED) {
                      Thread.onSpinWait();
                    }
                  });
          Node client =
              Node.start(config(path, here).secret(SharedSecret.of(new byte[32])).build())) {
        Connection connection = client.connect(at(server), answers);
        assertEquals(path.equals("tcp"), connection.path().description().contains("TLS"));
        for (int i = 0; i < 400; i++) {
          byte[] order = new byte[i % 40 == 0 ? 65_536 : random.nextInt(0, 3000)];
          random.nextBytes(order);
          while (connection.send(MemorySegment.ofArray(order), 0, order.length)
              == SendResult.BACK_PRESSURED) {
            Thread.onSpinWait();
          }
          assertArrayEquals(order, answers.take());
        }
      }
    }
  }

  /** A reader that is slow lets records wait half written; nothing of them is lost or doubled. */
  @Test
  void aBurstThatTheSocketDoesNotTakeAtOnceArrivesWhole() throws Exception {
    Mailbox inbox = new Mailbox();
    try (Node server = server(config("tcp", here).threading(NodeConfig.Threading.INVOKER), inbox);
        Node client = Node.start(config("tcp", here).build())) {
      Connection connection = client.connect(at(server), new Mailbox());
      byte[] order = new byte[40_000];
      int sent = 0;
      while (sent < 400) {
        java.util.Arrays.fill(order, (byte) sent);
        if (connection.send(MemorySegment.ofArray(order), 0, order.length) >= 0) {
          sent++;
        } else {
          server.poll();
        }
      }
      for (int i = 0; i < sent; i++) {
        while (inbox.size() == 0) {
          server.poll();
        }
        byte[] taken = inbox.take();
        assertEquals(40_000, taken.length);
        assertEquals((byte) i, taken[0], "message " + i);
        assertEquals((byte) i, taken[39_999], "message " + i);
      }
      Thread closing = Thread.ofVirtual().start(connection::close);
      while (closing.isAlive()) {
        server.poll();
      }
    }
  }

  @Test
  void whoIsNotTrustedDoesNotGetInOnEitherSide() throws Exception {
    try (Node trusted = server(config("tcp", here), new Mailbox());
        Node untrusted = server(config("tcp", stranger), new Mailbox())) {
      refusal(untrusted, at(trusted));
      String reason = refusal(trusted, at(untrusted));
      assertTrue(reason.contains("TLS"), reason);
      assertEquals(0, handlersMade.get());
      assertTrue(trusted.status().proofsRefused() > 0);
    }
  }

  @Test
  void aTrustedCertificateOfAnotherHostIsRefusedUnlessAnyNameWillDo() throws Exception {
    Mailbox inbox = new Mailbox();
    try (Node server = server(config("tcp", elsewhere), inbox);
        Node strict = Node.start(config("tcp", here).build());
        Node lenient =
            Node.start(
                config("tcp", here).tls(new TlsConfig(context(here), PeerNames.ANY)).build())) {
      refusal(strict, at(server));
      Connection connection = lenient.connect(at(server), new Mailbox());
      assertEquals(0, connection.send(MemorySegment.ofArray(new byte[] {5}), 0, 1));
      assertArrayEquals(new byte[] {5}, inbox.take());
    }
  }

  @Test
  void encryptionOnOneSideOnlyIsRefusedOnEitherSide() throws Exception {
    try (Node with = server(config("tcp", here), new Mailbox());
        Node without =
            server(
                NodeConfig.builder().paths("tcp").handshakeTimeout(Duration.ofSeconds(1)),
                new Mailbox())) {
      refusal(without, at(with));
      refusal(with, at(without));
      assertEquals(0, handlersMade.get());
    }
  }

  @Test
  void nothingReadableGoesByAndAChangedByteEndsTheConnection() throws Exception {
    byte[] order = "a message that nobody else may read".getBytes(StandardCharsets.US_ASCII);
    Mailbox inbox = new Mailbox();
    try (Node server = server(config("tcp", here), inbox);
        Node client = Node.start(config("tcp", here).build());
        TamperingProxy proxy = new TamperingProxy(at(server))) {
      Connection connection = client.connect(proxy.address(), new Mailbox());
      assertEquals(0, connection.send(MemorySegment.ofArray(order), 0, order.length));
      assertArrayEquals(order, inbox.take());
      String passed = new String(proxy.recorded(), StandardCharsets.ISO_8859_1);
      assertTrue(passed.length() > 500, passed.length() + " bytes went by");
      assertTrue(!passed.contains("nobody else"), "the message went by in clear");
      assertTrue(!passed.contains("RDMA4J"), "the hello went by in clear");
      proxy.change(Direction.TO_ACCEPTOR, proxy.recorded().length + 40, 1);
      assertEquals(0, connection.send(MemorySegment.ofArray(order), 0, order.length));
      String reason = inbox.ended().message();
      assertTrue(reason.contains("read failed"), reason);
      assertEquals(0, inbox.size());
    }
  }
}
