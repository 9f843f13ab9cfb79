package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.testkit.LeakCheck;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.MessageTooLargeException;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every connection must do with messages, whichever path carries it. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class TransportContract extends TransportFixture {

  /** Creates the suite. */
  protected TransportContract() {}

  @Test
  void saysWhichPathIsUsed() {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    assertEquals(path(), connection.path().name());
    assertTrue(connection.path().description().startsWith(path()), connection.path().toString());
    assertEquals(1, client.status().connections().size());
    assertTrue(Objects.requireNonNull(client.status().paths().get(path())).usable());
  }

  @Test
  void messagesOfEverySizeArriveIntact() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Node server = closeLater(server(inbox, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    int max = connection.maxMessageBytes();
    int[] sizes = {0, 1, 7, 8, 47, 48, 49, 63, 64, 65, 1023, 4096, max / 2, max - 1, max};
    for (int size : sizes) {
      byte[] sent = pattern(size, size);
      sendWhenPossible(connection, MemorySegment.ofArray(sent), size);
      assertArrayEquals(sent, inbox.take(), "by copy, " + size + " bytes");
      RegisteredBuffer buffer = client.pool().allocate(size);
      MemorySegment.copy(sent, 0, buffer.segment(), JAVA_BYTE, 0, size);
      long result;
      while ((result = connection.send(buffer)) == SendResult.BACK_PRESSURED) {
        Thread.onSpinWait();
      }
      assertTrue(result >= 0, SendResult.nameOf(result));
      assertTrue(buffer.isEmpty(), "the buffer moves with the message");
      assertArrayEquals(sent, inbox.take(), "pooled, " + size + " bytes");
    }
    assertThrows(
        MessageTooLargeException.class,
        () -> connection.send(MemorySegment.ofArray(new byte[max + 1]), 0, max + 1));
  }

  @Test
  void everyPooledBufferComesBack() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Node server = closeLater(server(inbox, Threading.DEDICATED));
    Node client = client(Threading.DEDICATED);
    Connection connection = client.connect(at(server), new Mailbox());
    for (int i = 0; i < 1000; i++) {
      RegisteredBuffer buffer = client.pool().allocate(256);
      while (connection.send(buffer) == SendResult.BACK_PRESSURED) {
        Thread.onSpinWait();
      }
      inbox.take();
    }
    connection.close();
    assertEquals(0, client.pool().statistics().usedBytes());
    client.close();
  }

  @Test
  void orderIsKeptWhenThePeerIsSlow() throws InterruptedException {
    int count = 20_000;
    AtomicInteger next = new AtomicInteger();
    List<String> wrong = new ArrayList<>();
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  int got = message.memory().get(JAVA_INT_UNALIGNED, message.offset());
                  int expected = next.getAndIncrement();
                  if (got != expected && wrong.size() < 5) {
                    wrong.add("expected " + expected + ", got " + got);
                  }
                  if (expected % 5000 == 0) {
                    java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
                  }
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    byte[] bytes = new byte[512];
    MemorySegment source = MemorySegment.ofArray(bytes);
    for (int i = 0; i < count; i++) {
      source.set(JAVA_INT_UNALIGNED, 0, i);
      sendWhenPossible(connection, source, 4 + i % 508);
    }
    for (int waitMs = 0; next.get() < count && waitMs < 20_000; waitMs += 5) {
      Thread.sleep(5);
    }
    assertEquals(count, next.get());
    assertEquals(List.of(), wrong);
  }

  @Test
  void backPressureIsTyped() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Node server = closeLater(server(inbox, Threading.INVOKER));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    byte[] block = new byte[8192];
    long result = SendResult.OK;
    int taken = 0;
    for (int i = 0; i < 100_000 && result >= 0; i++) {
      result = connection.send(MemorySegment.ofArray(block), 0, block.length);
      if (result >= 0) {
        taken++;
      }
    }
    assertEquals(
        SendResult.BACK_PRESSURED, result, "a peer that does not read must stop the sender");
    int waitMs = 0;
    while (inbox.size() < taken && waitMs++ < 10_000) {
      if (server.poll() == 0) {
        Thread.sleep(1);
      }
    }
    assertEquals(taken, inbox.size(), "nothing that was taken is lost");
  }

  @Test
  void aSenderMayWaitForRoom() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Node server = closeLater(server(inbox, Threading.INVOKER));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    MemorySegment block = MemorySegment.ofArray(new byte[8192]);
    int taken = 0;
    // A socket takes on for a while what this side has buffered.
    long result;
    while ((result = connection.send(block, 0, 8192, 200_000_000L)) >= 0) {
      taken++;
    }
    assertEquals(SendResult.BACK_PRESSURED, result, "there is no room before the peer polls");
    RegisteredBuffer buffer = client.pool().allocate(8192);
    while ((result = connection.send(buffer, 200_000_000L)) >= 0) {
      taken++;
      buffer = client.pool().allocate(8192);
    }
    assertEquals(SendResult.BACK_PRESSURED, result);
    assertFalse(buffer.isEmpty(), "what was not sent is still the caller's");
    AtomicInteger ready = new AtomicInteger();
    assertTrue(connection.whenReady(ready::incrementAndGet));
    List<Thread> waiting = new ArrayList<>();
    AtomicInteger sent = new AtomicInteger();
    for (int i = 0; i < 50; i++) {
      waiting.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    if (connection.send(block, 0, 8192, 30 * SECOND_NS) >= 0) {
                      sent.incrementAndGet();
                    }
                  }));
    }
    Thread.sleep(20);
    assertEquals(0, ready.get(), "called without room");
    for (int waitMs = 0; inbox.size() < taken + 50 && waitMs < 20_000; waitMs++) {
      if (server.poll() == 0) {
        Thread.sleep(1);
      }
    }
    for (Thread thread : waiting) {
      thread.join();
    }
    assertEquals(50, sent.get());
    assertEquals(taken + 50, inbox.size(), "nothing is lost and nothing comes twice");
    eventually("the callback", () -> ready.get() > 0);
    assertEquals(1, ready.get());
    buffer.release();
  }

  @Test
  void whoWaitsForRoomHearsOfTheEnd() throws InterruptedException {
    Node server = closeLater(server(new Mailbox(), Threading.INVOKER));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    MemorySegment block = MemorySegment.ofArray(new byte[8192]);
    long result;
    do {
      result = connection.send(block, 0, 8192);
    } while (result >= 0);
    assertEquals(SendResult.BACK_PRESSURED, result);
    AtomicInteger ready = new AtomicInteger();
    assertTrue(connection.whenReady(ready::incrementAndGet));
    AtomicLong waited = new AtomicLong();
    Runnable sends =
        () -> {
          // A socket's buffers may move on for a while after the first refusal.
          do {
            waited.set(connection.send(block, 0, 8192, 60 * SECOND_NS));
          } while (waited.get() >= 0);
        };
    Thread waiter = Thread.ofVirtual().start(sends);
    Thread.sleep(20);
    connection.close();
    assertTrue(waiter.join(Duration.ofSeconds(60)));
    assertEquals(SendResult.CLOSED, waited.get());
    assertEquals(1, ready.get());
    assertFalse(connection.whenReady(ready::incrementAndGet));
    assertEquals(1, ready.get(), "no call when the answer was no");
  }

  @Test
  void closeDeliversWhatWasSentBefore() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Node server = closeLater(server(inbox, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    int taken = 0;
    while (taken < 500) {
      if (connection.send(MemorySegment.ofArray(new byte[1000]), 0, 1000) >= 0) {
        taken++;
      }
    }
    connection.close();
    connection.close();
    assertEquals(SendResult.CLOSED, connection.send(text("x"), 0, 1));
    assertEquals(EndpointFailure.Kind.PEER_CLOSED, inbox.ended().kind());
    assertEquals(500, inbox.size());
    assertFalse(connection.isOpen());
  }

  @Test
  void aPeerThatClosesIsNoticed() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Mailbox accepted = new Mailbox();
    Node server = server(accepted, Threading.DEDICATED);
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), inbox);
    accepted.connection();
    server.close();
    assertEquals(EndpointFailure.Kind.PEER_CLOSED, inbox.ended().kind());
    assertEquals(SendResult.NOT_CONNECTED, connection.send(text("x"), 0, 1));
    assertEquals(0, client.status().connections().size());
  }

  @Test
  void aHandlerThatThrowsHarmsNobody() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  if (message.lengthBytes() == 3) {
                    throw new IllegalStateException("thrown on purpose by this test");
                  }
                  inbox.onMessage(connection, message);
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    sendWhenPossible(connection, text("bad"), 3);
    sendWhenPossible(connection, text("good"), 4);
    assertEquals(4, inbox.take().length);
    assertEquals(1, server.status().connections().getFirst().handlerErrors());
  }

  @Test
  void manyThreadsMaySendAtOnce() throws InterruptedException {
    int threads = 4;
    int each = 2_000;
    AtomicInteger[] next = new AtomicInteger[threads];
    AtomicInteger wrong = new AtomicInteger();
    AtomicInteger received = new AtomicInteger();
    for (int i = 0; i < threads; i++) {
      next[i] = new AtomicInteger();
    }
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  int sender = message.memory().get(JAVA_INT_UNALIGNED, message.offset());
                  int number = message.memory().get(JAVA_INT_UNALIGNED, message.offset() + 4);
                  if (next[sender].getAndIncrement() != number) {
                    wrong.incrementAndGet();
                  }
                  received.incrementAndGet();
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    List<Thread> senders = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int sender = t;
      senders.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    MemorySegment source = MemorySegment.ofArray(new byte[64]);
                    source.set(JAVA_INT_UNALIGNED, 0, sender);
                    for (int i = 0; i < each; i++) {
                      source.set(JAVA_INT_UNALIGNED, 4, i);
                      sendWhenPossible(connection, source, 8 + i % 56);
                    }
                  }));
    }
    for (Thread thread : senders) {
      thread.join();
    }
    for (int waitMs = 0; received.get() < threads * each && waitMs < 20_000; waitMs += 5) {
      Thread.sleep(5);
    }
    assertEquals(threads * each, received.get());
    assertEquals(0, wrong.get());
  }

  /** Echo in one thread: the client sends, both nodes are polled, the server answers. */
  @Test
  void noGarbagePerMessage() {
    long[] echoed = new long[1];
    Node server =
        closeLater(
            server(
                (connection, message) ->
                    connection.send(message.memory(), message.offset(), message.lengthBytes()),
                Threading.INVOKER));
    Node client = closeLater(client(Threading.INVOKER));
    Connection connection =
        client.connect(
            at(server),
            (from, message) ->
                echoed[0] += message.memory().get(JAVA_LONG_UNALIGNED, message.offset()));
    RegisteredBuffer lease = client.pool().newLease();
    Runnable echo =
        () -> {
          client.pool().allocate(256, lease);
          lease.segment().set(JAVA_LONG_UNALIGNED, 0, 1L);
          long before = echoed[0];
          while (connection.send(lease) < 0) {
            client.poll();
            server.poll();
          }
          while (echoed[0] == before) {
            server.poll();
            client.poll();
          }
        };
    double perEcho = AllocationMeter.bytesPerOperation(50_000, 100_000, echo);
    System.out.printf("%s: %.4f bytes of garbage per echo (two messages)%n", path(), perEcho);
    assertTrue(perEcho < 2 * AllocationMeter.NONE, perEcho + " bytes per echo");
  }

  @Test
  void connectAndCloseLeavesNothing() throws InterruptedException {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    cycle(client, server, 20);
    LeakCheck before = LeakCheck.now();
    cycle(client, server, 100);
    before.assertBackToBase(16);
    assertEquals(0, client.status().connections().size());
    assertEquals(0, client.pool().statistics().usedBytes());
  }

  @Test
  void anInterruptedThreadClosesItsNodeInOrder() throws InterruptedException {
    Mailbox inbox = new Mailbox();
    Node server = closeLater(server(inbox, Threading.DEDICATED));
    Mailbox own = new Mailbox();
    Node client = client(Threading.DEDICATED);
    Connection connection = client.connect(at(server), own);
    sendWhenPossible(connection, text("last"), 4);
    inbox.connection();
    Thread.currentThread().interrupt();
    client.close();
    assertTrue(Thread.interrupted(), "the interrupt is kept for the caller");
    assertEquals(EndpointFailure.Kind.PEER_CLOSED, own.ended().kind());
    assertEquals(4, inbox.take().length);
  }

  @Test
  void anAcceptorThatThrowsCostsOneConnection() throws InterruptedException {
    AtomicInteger asked = new AtomicInteger();
    Node server =
        closeLater(
            Node.start(
                configure(NodeConfig.builder())
                    .listen(
                        new InetSocketAddress(address(), 0),
                        (peer, path) -> {
                          if (asked.incrementAndGet() == 1) {
                            throw new IllegalStateException("thrown on purpose by this test");
                          }
                          return new Mailbox();
                        })
                    .build()));
    Node client = closeLater(client(Threading.DEDICATED));
    Mailbox refused = new Mailbox();
    client.connect(at(server), refused);
    refused.ended();
    assertTrue(client.connect(at(server), new Mailbox()).isOpen());
    assertEquals(1, server.status().handshakesFailed());
  }

  private static void cycle(Node client, Node server, int rounds) throws InterruptedException {
    for (int i = 0; i < rounds; i++) {
      try (Connection connection = client.connect(at(server), new Mailbox())) {
        sendWhenPossible(connection, text("hello"), 5);
      }
    }
    for (int waitMs = 0; !server.status().connections().isEmpty() && waitMs < 10_000; waitMs += 5) {
      Thread.sleep(5);
    }
  }

  @Test
  void aBufferOfAnotherPoolIsRefused() {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    try (RegisteredBuffer foreign = server.pool().allocate(10)) {
      assertThrows(IllegalArgumentException.class, () -> connection.send(foreign));
      assertFalse(foreign.isEmpty());
    }
  }

  @Test
  void aSilentListenerEndsTheConnectAtItsDeadline() throws Exception {
    try (java.net.ServerSocket deaf = new java.net.ServerSocket(0, 5, address())) {
      Node client =
          closeLater(
              Node.start(
                  configure(NodeConfig.builder())
                      .handshakeTimeout(Duration.ofMillis(300))
                      .build()));
      assertThrows(
          io.rdma4j.transport.ConnectFailedException.class,
          () ->
              client.connect(new InetSocketAddress(address(), deaf.getLocalPort()), new Mailbox()));
    }
  }
}
