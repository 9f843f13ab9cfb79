package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.transport.Mailbox;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Browsers, scanners and broken peers meet the bootstrap port; nobody else notices. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class StrangerTest {
  private final Mailbox inbox = new Mailbox();
  private volatile boolean handshakeIsVirtual = true;
  private final Node server =
      Node.start(
          NodeConfig.builder()
              .paths("tcp")
              .handshakeTimeout(Duration.ofSeconds(1))
              .listen(
                  new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                  (peer, path) -> {
                    handshakeIsVirtual = Thread.currentThread().isVirtual();
                    return inbox;
                  })
              .build());

  @AfterEach
  void close() {
    server.close();
  }

  private InetSocketAddress at() {
    return Objects.requireNonNull(server.listenAddress());
  }

  /** Sends bytes and waits for the server to hang up. */
  private void strange(byte[] bytes, boolean closeAfter) throws IOException {
    try (Socket socket = new Socket(at().getAddress(), at().getPort())) {
      socket.setSoTimeout(10_000);
      socket.getOutputStream().write(bytes);
      if (closeAfter) {
        return;
      }
      try {
        socket.getInputStream().readAllBytes();
      } catch (java.net.SocketException e) {
        // A reset is as good an end as any for a stranger.
        assertTrue(String.valueOf(e.getMessage()).contains("reset"), e.toString());
      }
    }
  }

  private void awaitFailures(long count) throws InterruptedException {
    for (int waitMs = 0;
        server.status().handshakesFailed() < count && waitMs < 10_000;
        waitMs += 5) {
      Thread.sleep(5);
    }
    assertEquals(count, server.status().handshakesFailed());
  }

  @Test
  void strangersAreShownOutAndCountedWhileAConnectionGoesOn() throws Exception {
    try (Node client = Node.start(NodeConfig.builder().paths("tcp").build())) {
      Connection connection = client.connect(at(), new Mailbox());
      strange("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII), false);
      awaitFailures(1);
      strange(new byte[] {0, 100, 0x52}, true);
      awaitFailures(2);
      strange(new byte[] {0}, true);
      awaitFailures(3);
      strange(new byte[] {(byte) 0xff, (byte) 0xff, 0x52}, false);
      awaitFailures(4);
      strange(new byte[0], false); // says nothing until the deadline
      awaitFailures(5);
      byte[] order = {1, 2, 3, 4};
      assertTrue(connection.send(MemorySegment.ofArray(order), 0, 4) >= 0);
      assertArrayEquals(order, inbox.take());
    }
  }

  /** A wait for rdma_cm is native: on a virtual thread it would hold a carrier. */
  @Test
  void aHandshakeHoldsNoCarrierOfTheApplication() throws InterruptedException {
    try (Node client = Node.start(NodeConfig.builder().paths("tcp").build())) {
      client.connect(at(), new Mailbox());
      inbox.connection();
      assertFalse(handshakeIsVirtual);
    }
  }

  @Test
  void randomBytesNeverGetThrough() throws Exception {
    long seed = Long.getLong("seed", System.nanoTime());
    System.out.println("seed " + seed);
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 1; i <= 100; i++) {
      byte[] noise = new byte[random.nextInt(1, 200)];
      random.nextBytes(noise);
      noise[0] = (byte) random.nextInt(0, 16); // plausible lengths now and then
      strange(noise, true);
    }
    awaitFailures(100);
  }
}
