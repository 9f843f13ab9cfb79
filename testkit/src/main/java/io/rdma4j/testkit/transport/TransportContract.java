package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolExhaustedException;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.testkit.LeakCheck;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.MessageTooLargeException;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.Reply;
import io.rdma4j.transport.RequestFailedException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What every connection must do, whichever path carries it. A subclass names the path and the
 * address to run on.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class TransportContract {
  private static final long SECOND_NS = 1_000_000_000L;

  private final List<AutoCloseable> toClose = new ArrayList<>();

  /** Creates the suite. */
  protected TransportContract() {}

  /** Returns the path under test. */
  protected abstract String path();

  /** Returns the local address both nodes use. */
  protected InetAddress address() {
    return InetAddress.getLoopbackAddress();
  }

  /** Lets a subclass add what its path needs. */
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return builder.paths(path());
  }

  /** Closes what a test has opened, last first. */
  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable resource : toClose.reversed()) {
      resource.close();
    }
  }

  private <T extends AutoCloseable> T closeLater(T resource) {
    toClose.add(resource);
    return resource;
  }

  private Node server(ConnectionHandler handler, Threading threading) {
    return Node.start(
        configure(NodeConfig.builder())
            .threading(threading)
            .listen(new InetSocketAddress(address(), 0), (peer, path) -> handler)
            .build());
  }

  private Node client(Threading threading) {
    return Node.start(configure(NodeConfig.builder()).threading(threading).build());
  }

  private static InetSocketAddress at(Node server) {
    return Objects.requireNonNull(server.listenAddress());
  }

  private static MemorySegment text(String text) {
    return MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] pattern(int length, long seed) {
    byte[] bytes = new byte[length];
    new SplittableRandom(seed).nextBytes(bytes);
    return bytes;
  }

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
  void requestsGetTheirReply() {
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  byte[] body = message.payload().toArray(JAVA_BYTE);
                  assertTrue(message.reply(MemorySegment.ofArray(body), 0, body.length) >= 0);
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    for (int i = 0; i < 200; i++) {
      byte[] asked = pattern(i * 7, i);
      try (Reply reply =
          connection.request(MemorySegment.ofArray(asked), 0, asked.length, 5 * SECOND_NS)) {
        assertArrayEquals(asked, reply.payload().toArray(JAVA_BYTE));
      }
    }
    assertEquals(0, client.pool().statistics().usedBytes());
  }

  @Test
  void repliesMayComeLateAndInAnyOrder() {
    List<Long> held = new ArrayList<>();
    Node server =
        closeLater(
            server(
                (connection, message) -> {
                  held.add(message.correlationId());
                  if (held.size() == 3) {
                    for (long id : held.reversed()) {
                      MemorySegment body = text("reply");
                      assertTrue(connection.reply(id, body, 0, body.byteSize() == 5 ? 5 : 0) >= 0);
                    }
                  }
                },
                Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    var first = connection.requestAsync(text("a"), 0, 1, 5 * SECOND_NS).toCompletableFuture();
    var second = connection.requestAsync(text("b"), 0, 1, 5 * SECOND_NS).toCompletableFuture();
    try (Reply third = connection.request(text("c"), 0, 1, 5 * SECOND_NS)) {
      assertEquals(5, third.lengthBytes());
    }
    first.join().close();
    second.join().close();
  }

  @Test
  void aRequestWithoutReplyEndsAtItsDeadline() throws InterruptedException {
    Mailbox silent = new Mailbox();
    Node server = closeLater(server(silent, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RequestFailedException blocking =
        assertThrows(
            RequestFailedException.class, () -> connection.request(text("x"), 0, 1, 50_000_000L));
    assertEquals(RequestFailedException.Cause.DEADLINE, blocking.failure());
    var stage = connection.requestAsync(text("y"), 0, 1, 50_000_000L).toCompletableFuture();
    CompletionException later = assertThrows(CompletionException.class, stage::join);
    assertEquals(
        RequestFailedException.Cause.DEADLINE,
        assertInstanceOf(RequestFailedException.class, later.getCause()).failure());
    assertEquals(0, connection.status().requestsOutstanding());
    // A reply after the deadline is counted and harms nobody.
    silent.take();
    silent.connection().reply(1, text("late"), 0, 4);
    for (int waitMs = 0; client.status().lateReplies() == 0 && waitMs < 10_000; waitMs += 5) {
      Thread.sleep(5);
    }
    assertEquals(1, client.status().lateReplies());
  }

  @Test
  void aReplyThatFindsNoBufferEndsItsRequest() {
    Node server =
        closeLater(
            server(
                (connection, message) -> message.reply(text("reply"), 0, 5), Threading.DEDICATED));
    PoolConfig small = PoolConfig.builder().maxBytes(2 << 20).slabBytes(2 << 20).build();
    Node client = closeLater(Node.start(configure(NodeConfig.builder()).pool(small).build()));
    Connection connection = client.connect(at(server), new Mailbox());
    List<RegisteredBuffer> taken = new ArrayList<>();
    assertThrows(
        PoolExhaustedException.class,
        () -> {
          while (true) {
            taken.add(client.pool().allocate(8192));
          }
        });
    RequestFailedException failure =
        assertThrows(
            RequestFailedException.class,
            () -> connection.request(text("x"), 0, 1, 10 * SECOND_NS));
    assertEquals(RequestFailedException.Cause.NO_BUFFER, failure.failure());
    taken.forEach(RegisteredBuffer::release);
    connection.request(text("x"), 0, 1, 10 * SECOND_NS).close();
  }

  @Test
  void openRequestsFailWhenThePeerCloses() {
    Node server = server((connection, message) -> connection.close(), Threading.DEDICATED);
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RequestFailedException failure =
        assertThrows(
            RequestFailedException.class,
            () -> connection.request(text("x"), 0, 1, 10 * SECOND_NS));
    assertEquals(RequestFailedException.Cause.DISCONNECTED, failure.failure());
    server.close();
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
  void aRequestThatIsRefusedLeavesNoTrace() {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    int tooLong = connection.maxMessageBytes() + 1;
    MemorySegment source = MemorySegment.ofArray(new byte[tooLong]);
    assertThrows(
        MessageTooLargeException.class,
        () -> connection.request(source, 0, tooLong, 10 * SECOND_NS));
    assertThrows(
        MessageTooLargeException.class,
        () -> connection.requestAsync(source, 0, tooLong, 10 * SECOND_NS));
    assertEquals(0, connection.status().requestsOutstanding());
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

  private static void sendWhenPossible(Connection connection, MemorySegment source, int length) {
    long result;
    while ((result = connection.send(source, 0, length)) == SendResult.BACK_PRESSURED) {
      Thread.onSpinWait();
    }
    if (result < 0) {
      throw new AssertionError("send: " + SendResult.nameOf(result));
    }
  }
}
