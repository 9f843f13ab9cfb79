package io.rdma4j.testkit.provider;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdma4j.SendResult;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.testkit.LeakCheck;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What every {@link Provider} must do, on pairs of endpoints connected through a real socket. An
 * implementation's test is a subclass that says how to make a provider.
 */
@Timeout(300)
public abstract class ProviderContract {
  private static final int REGISTERED_BYTES = 1 << 16;

  private @Nullable Provider initiatorProvider;
  private @Nullable Provider acceptorProvider;
  private @Nullable EndpointPair pair;

  /** Makes a provider; called once for each end. The suite closes it. */
  protected abstract Provider createProvider() throws IOException;

  /** Returns the local address that carries the bootstrap connection. */
  protected InetAddress address() {
    return InetAddress.getLoopbackAddress();
  }

  /** Returns the sizes the endpoints agree on. */
  protected EndpointConfig config() {
    return new EndpointConfig(4096, 64, 1 << 18);
  }

  /** Returns how long the suite waits for anything before it fails. */
  protected Duration patience() {
    return Duration.ofSeconds(20);
  }

  /** Returns how many connections are made and closed in the search for leaks. */
  protected int manyConnections() {
    return 200;
  }

  /** Returns how many messages make a load; fewer where each takes long. */
  protected int manyMessages() {
    return 100_000;
  }

  /**
   * Returns a class whose public constructor without arguments makes what supplies a provider in a
   * child process, or null when the provider works within one process only.
   */
  protected @Nullable Class<? extends Supplier<Provider>> childProvider() {
    return null;
  }

  /** Called after both providers are closed; a subclass checks that nothing is left. */
  protected void assertNothingLeft() {}

  @BeforeEach
  final void openProviders() throws IOException {
    initiatorProvider = createProvider();
    acceptorProvider = createProvider();
  }

  @AfterEach
  final void closeEverything() throws IOException {
    if (pair != null) {
      pair.close();
    }
    if (initiatorProvider != null) {
      initiatorProvider.close();
    }
    if (acceptorProvider != null) {
      acceptorProvider.close();
    }
    assertNothingLeft();
  }

  private Provider initiatorProvider() {
    return assertPresent(initiatorProvider);
  }

  private static <T> T assertPresent(@Nullable T value) {
    if (value == null) {
      throw new AssertionError("not set up");
    }
    return value;
  }

  private EndpointPair connect() throws IOException {
    pair = openPair();
    return pair;
  }

  private EndpointPair openPair() throws IOException {
    return EndpointPair.connect(
        initiatorProvider()::initiate,
        assertPresent(acceptorProvider),
        address(),
        config(),
        patience());
  }

  @Test
  void isUsableAndAcceptsItsOwnOffer() {
    Provider provider = initiatorProvider();
    assertTrue(provider.availability().usable(), () -> provider.availability().reason());
    assertTrue(provider.offer().length <= 256);
    assertTrue(provider.judge(assertPresent(acceptorProvider).offer()).usable());
  }

  @Test
  void connectsAndDescribesItself() throws IOException {
    EndpointPair connected = connect();
    for (Endpoint endpoint : List.of(connected.initiator(), connected.acceptor())) {
      assertTrue(endpoint.description().startsWith(initiatorProvider().name()));
      assertEquals(config().maxMessageBytes(), endpoint.maxMessageBytes());
      MemoryRegistrar registrar = endpoint.registrar();
      if (registrar != null) {
        assertEquals(registrar.name(), endpoint.device());
      }
    }
  }

  @Test
  void deliversMessagesOfEverySizeUnchanged() throws IOException {
    EndpointPair connected = connect();
    int max = config().maxMessageBytes();
    Inbox inbox = new Inbox();
    MemorySegment heap = MemorySegment.ofArray(new byte[max + 3]);
    int number = 0;
    for (int lengthBytes : sizes(max)) {
      int offset = number % 4;
      Payload.fill(heap, offset, lengthBytes, 1, number);
      int type = number & 0xff;
      long correlationId = number * 0x0123_4567_89AB_CDEFL - 1;
      sendFully(connected.initiator(), type, correlationId, heap, offset, lengthBytes);
      heap.fill((byte) 0xEE);
      int expected = ++number;
      pollUntil(connected.acceptor(), inbox, () -> inbox.messages().size() == expected);
      Inbox.Message message = inbox.messages().getLast();
      assertEquals(type, message.type());
      assertEquals(correlationId, message.correlationId());
      byte[] content = new byte[lengthBytes];
      Payload.fill(MemorySegment.ofArray(content), 0, lengthBytes, 1, expected - 1L);
      assertArrayEquals(content, message.payload(), "message of " + lengthBytes + " bytes");
    }
    assertEquals(List.of(), inbox.failures());
  }

  private static List<Integer> sizes(int max) {
    List<Integer> sizes = new ArrayList<>(List.of(0, 1, 2));
    for (int power = 16; power < max; power *= 2) {
      sizes.addAll(List.of(power - 1, power, power + 1));
    }
    sizes.addAll(List.of(max - 17, max - 16, max - 1, max));
    sizes.removeIf(size -> size < 0 || size > max);
    return sizes;
  }

  @Test
  void refusesWhatDoesNotFit() throws IOException {
    EndpointPair connected = connect();
    MemorySegment heap = MemorySegment.ofArray(new byte[config().maxMessageBytes() + 1]);
    Endpoint endpoint = connected.initiator();
    assertRefused(() -> endpoint.send(1, 1, heap, 0, config().maxMessageBytes() + 1));
    assertRefused(() -> endpoint.send(1, 1, heap, 0, -1));
    assertRefused(() -> endpoint.send(1, 1, heap, heap.byteSize(), 1));
    assertRefused(() -> endpoint.send(256, 1, heap, 0, 1));
    assertRefused(() -> endpoint.send(-1, 1, heap, 0, 1));
    Inbox inbox = new Inbox();
    sendFully(endpoint, 255, 7, heap, 0, 5);
    pollUntil(connected.acceptor(), inbox, () -> inbox.messages().size() == 1);
    assertEquals(7, inbox.messages().getFirst().correlationId());
  }

  private static void assertRefused(Supplier<Long> send) {
    try {
      fail("send returned " + send.get());
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      assertNotNull(e.getMessage());
    }
  }

  @Test
  void keepsTheOrderOfManyMessages() throws IOException {
    EndpointPair connected = connect();
    int count = manyMessages();
    MemorySegment source = MemorySegment.ofArray(new byte[config().maxMessageBytes()]);
    StreamCheck check = new StreamCheck(2, config().maxMessageBytes());
    Inbox senderInbox = new Inbox();
    for (long number = 0; number < count; number++) {
      int lengthBytes = Payload.lengthBytes(2, number, config().maxMessageBytes());
      Payload.fill(source, 0, lengthBytes, 2, number);
      int type = StreamCheck.type(number);
      long startNs = System.nanoTime();
      while (connected.initiator().send(type, number, source, 0, lengthBytes) < 0) {
        connected.acceptor().poll(check, 16);
        connected.initiator().poll(senderInbox, 16);
        assertInTime(startNs, () -> "message " + check.received + " of " + count);
      }
    }
    pollBothUntil(connected, senderInbox, check, () -> check.received == count);
    assertEquals(List.of(), senderInbox.failures());
  }

  @Test
  void pressesBackWhenThePeerDoesNotPollAndLosesNothing() throws IOException {
    EndpointPair connected = connect();
    MemorySegment source = MemorySegment.ofArray(new byte[config().maxMessageBytes()]);
    StreamCheck check = new StreamCheck(3, config().maxMessageBytes());
    Inbox senderInbox = new Inbox();
    long number = 0;
    for (int round = 0; round < 50; round++) {
      int pressed = 0;
      while (pressed < 3) {
        int lengthBytes = Payload.lengthBytes(3, number, config().maxMessageBytes());
        Payload.fill(source, 0, lengthBytes, 3, number);
        long result =
            connected.initiator().send(StreamCheck.type(number), number, source, 0, lengthBytes);
        if (result >= 0) {
          number++;
          assertTrue(number - check.received < 1_000_000, "a peer that never polls is no limit");
        } else {
          assertEquals(SendResult.BACK_PRESSURED, result);
          connected.initiator().poll(senderInbox, 16);
          pressed++;
        }
      }
      assertTrue(number > check.received, "a round must make progress");
      long sent = number;
      pollBothUntil(connected, senderInbox, check, () -> check.received == sent);
    }
    assertEquals(List.of(), senderInbox.failures());
  }

  @Test
  void givesBackRegisteredMemoryOnce() throws IOException {
    EndpointPair connected = connect();
    int max = config().maxMessageBytes();
    Inbox senderInbox = new Inbox();
    StreamCheck check = new StreamCheck(4, max);
    try (Registered memory = new Registered(connected.initiator(), REGISTERED_BYTES)) {
      for (long number = 0; number < 1000; number++) {
        int lengthBytes = Payload.lengthBytes(4, number, max);
        long offset = number % 7;
        Payload.fill(memory.segment, offset, lengthBytes, 4, number);
        long startNs = System.nanoTime();
        while (sendRegistered(connected.initiator(), memory, number, offset, lengthBytes) < 0) {
          connected.initiator().poll(senderInbox, 16);
          connected.acceptor().poll(check, 16);
          assertInTime(startNs, () -> "send of message " + check.received);
        }
        long sent = number + 1;
        pollBothUntil(
            connected,
            senderInbox,
            check,
            () -> check.received == sent && senderInbox.sentTokens().size() == sent);
      }
      connected.initiator().poll(senderInbox, 16);
    }
    List<Long> tokens = new ArrayList<>(senderInbox.sentTokens());
    Collections.sort(tokens);
    assertEquals(tokensUpTo(1000), tokens);
    assertEquals(List.of(), senderInbox.failures());
  }

  @Test
  void closeWithWorkInFlightGivesBackAllTokens() throws IOException {
    EndpointPair connected = connect();
    Inbox senderInbox = new Inbox();
    try (Registered memory = new Registered(connected.initiator(), REGISTERED_BYTES)) {
      long number = 0;
      int bytes = Math.min(1000, config().maxMessageBytes());
      while (sendRegistered(connected.initiator(), memory, number, 0, bytes) >= 0) {
        number++;
        assertTrue(number < 1_000_000, "a peer that never polls is no limit");
      }
      assertTrue(number > 0);
      connected.closeInitiator(senderInbox);
      List<Long> tokens = new ArrayList<>(senderInbox.sentTokens());
      Collections.sort(tokens);
      assertEquals(tokensUpTo(number), tokens);
      assertEquals(List.of(), senderInbox.failures(), "close makes no other callback");
      assertEquals(
          SendResult.CLOSED,
          connected.initiator().send(1, 1, MemorySegment.ofArray(new byte[1]), 0, 1));
      connected.closeInitiator(senderInbox);
      assertEquals(number, senderInbox.sentTokens().size(), "close is idempotent");
    }
  }

  @Test
  void deliversWhatWasSentBeforeAnOrderlyClose() throws IOException {
    EndpointPair connected = connect();
    MemorySegment source = MemorySegment.ofArray(new byte[config().maxMessageBytes()]);
    StreamCheck check = new StreamCheck(5, config().maxMessageBytes());
    int count = 0;
    // A path may allow less than the window to a peer that has just come.
    for (long result = SendResult.OK; result >= 0 && count < Math.min(8, config().window()); ) {
      int lengthBytes = Payload.lengthBytes(5, count, config().maxMessageBytes());
      Payload.fill(source, 0, lengthBytes, 5, count);
      result = connected.initiator().send(StreamCheck.type(count), count, source, 0, lengthBytes);
      count += result >= 0 ? 1 : 0;
    }
    assertTrue(count > 0, "a message is taken");
    connected.closeInitiator(Inbox.IGNORE_TOKENS);
    pollUntil(connected.acceptor(), check, () -> check.failure != null);
    assertEquals(count, check.received);
    EndpointFailure failure = assertPresent(check.failure);
    assertTrue(
        failure.kind() == EndpointFailure.Kind.PEER_CLOSED
            || failure.kind() == EndpointFailure.Kind.PEER_LOST,
        failure::toString);
    assertEquals(
        SendResult.NOT_CONNECTED,
        connected.acceptor().send(1, 1, source, 0, 1),
        "after the failure was reported");
    assertEquals(0, connected.acceptor().poll(check, 16), "a failure is reported once");
  }

  @Test
  void carriesBothWaysWithSendersAndPollersOnThreadsOfTheirOwn() throws Exception {
    EndpointPair connected = connect();
    int count = manyMessages() / 2;
    int max = config().maxMessageBytes();
    List<Worker> workers =
        List.of(
            Worker.sender(connected.initiator(), 11, count, max),
            Worker.poller(connected.initiator(), 12, count, max),
            Worker.sender(connected.acceptor(), 12, count, max),
            Worker.poller(connected.acceptor(), 11, count, max));
    Worker.runAll(workers, Duration.ofMinutes(4));
  }

  @Test
  void allocatesNothingPerMessage() throws IOException {
    EndpointPair connected = connect();
    MemorySegment source = MemorySegment.ofArray(new byte[config().maxMessageBytes()]);
    var counter = new Counter();
    Runnable copied =
        () -> {
          counter.exchangeByCopy(connected, source, 40);
          counter.exchangeByCopy(connected, source, Math.min(1000, (int) source.byteSize()));
        };
    double copiedBytes =
        AllocationMeter.bytesPerOperation(manyMessages() / 5, manyMessages() / 25, copied);
    assertTrue(copiedBytes < AllocationMeter.NONE, () -> "bytes per copied pair " + copiedBytes);
    try (Registered memory = new Registered(connected.initiator(), REGISTERED_BYTES)) {
      int lengthBytes = Math.min(1000, config().maxMessageBytes());
      Runnable registered = () -> counter.exchangeRegistered(connected, memory, lengthBytes);
      double bytes =
          AllocationMeter.bytesPerOperation(manyMessages() / 5, manyMessages() / 25, registered);
      assertTrue(bytes < AllocationMeter.NONE, () -> "bytes per registered message " + bytes);
    }
  }

  @Test
  void givesBackAllResourcesOfEachConnection() throws IOException {
    for (int i = 0; i < manyConnections() / 10; i++) {
      connectExchangeAndClose();
    }
    LeakCheck base = LeakCheck.now();
    for (int i = 0; i < manyConnections(); i++) {
      connectExchangeAndClose();
    }
    base.assertBackToBase(manyConnections() / 3);
  }

  private void connectExchangeAndClose() throws IOException {
    try (EndpointPair connected = openPair()) {
      Inbox inbox = new Inbox();
      MemorySegment source = MemorySegment.ofArray(new byte[100]);
      sendFully(connected.acceptor(), 1, 2, source, 0, 100);
      pollUntil(connected.initiator(), inbox, () -> inbox.messages().size() == 1);
    }
  }

  @Test
  void noticesThatThePeerProcessWasKilled() throws Exception {
    Class<? extends Supplier<Provider>> provider = childProvider();
    assumeTrue(provider != null, "this provider works within one process only");
    try (ChildPeer child = ChildPeer.start(assertPresent(provider), address(), config());
        var bootstrap = LoopbackHandshake.connect(child.address(), patience())) {
      Endpoint endpoint = initiatorProvider().initiate(bootstrap, config());
      try {
        Inbox inbox = new Inbox();
        MemorySegment source = MemorySegment.ofArray(new byte[100]);
        for (int i = 1; i <= 100; i++) {
          int expected = i;
          sendFully(endpoint, 1, i, source, 0, 100);
          pollUntil(endpoint, inbox, () -> inbox.messages().size() == expected);
        }
        child.kill();
        pollUntil(endpoint, inbox, () -> inbox.failure() != null);
        assertNotEquals(EndpointFailure.Kind.PEER_CLOSED, assertPresent(inbox.failure()).kind());
        assertEquals(1, inbox.failures().size());
        assertEquals(SendResult.NOT_CONNECTED, endpoint.send(1, 1, source, 0, 1));
      } finally {
        endpoint.close(Inbox.IGNORE_TOKENS);
      }
    }
  }

  /** Sends while the peer has room for it anyway; being pressed back for long is a failure. */
  private void sendFully(
      Endpoint endpoint,
      int type,
      long correlationId,
      MemorySegment source,
      long offset,
      int lengthBytes) {
    Inbox inbox = new Inbox();
    long startNs = System.nanoTime();
    long result;
    while ((result = endpoint.send(type, correlationId, source, offset, lengthBytes)) < 0) {
      assertEquals(SendResult.BACK_PRESSURED, result);
      endpoint.poll(inbox, 16);
      assertInTime(startNs, () -> "send of message " + correlationId);
    }
    endpoint.flush();
    assertEquals(List.of(), inbox.messages());
  }

  private static long sendRegistered(
      Endpoint endpoint, Registered memory, long number, long offset, int lengthBytes) {
    return endpoint.sendRegistered(
        StreamCheck.type(number),
        number,
        memory.segment,
        offset,
        lengthBytes,
        memory.lkey,
        token(number));
  }

  private static List<Long> tokensUpTo(long count) {
    return LongStream.range(0, count).map(ProviderContract::token).sorted().boxed().toList();
  }

  /** Returns a token of either sign, as handles of the pool have. */
  private static long token(long number) {
    return number % 2 == 0 ? number : Long.MIN_VALUE + number;
  }

  private void pollUntil(Endpoint endpoint, EndpointListener listener, BooleanSupplier done) {
    long startNs = System.nanoTime();
    while (!done.getAsBoolean()) {
      if (endpoint.poll(listener, 16) == 0) {
        LockSupport.parkNanos(1000);
        endpoint.housekeep(System.nanoTime());
      }
      assertInTime(startNs, () -> "what the test waits for");
    }
  }

  private void pollBothUntil(
      EndpointPair connected, Inbox initiator, StreamCheck acceptor, BooleanSupplier done) {
    long startNs = System.nanoTime();
    while (!done.getAsBoolean()) {
      connected.initiator().flush();
      connected.initiator().poll(initiator, 16);
      connected.acceptor().poll(acceptor, 16);
      assertInTime(startNs, () -> "message " + acceptor.received);
    }
  }

  private void assertInTime(long startNs, Supplier<String> what) {
    if (System.nanoTime() - startNs > patience().toNanos()) {
      fail("nothing came of " + what.get() + " within " + patience());
    }
  }

  /** Memory an endpoint can send from; registered when the endpoint wants it registered. */
  private static final class Registered implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final MemorySegment segment;
    private final MemoryRegistrar.@Nullable Registration registration;
    private final int lkey;

    Registered(Endpoint endpoint, long lengthBytes) {
      segment = arena.allocate(lengthBytes, 4096);
      MemoryRegistrar registrar = endpoint.registrar();
      registration = registrar == null ? null : registrar.register(segment.address(), lengthBytes);
      lkey = registration == null ? 0 : registration.lkey();
    }

    @Override
    public void close() {
      if (registration != null) {
        registration.close();
      }
      arena.close();
    }
  }

  /** Counts without keeping anything. */
  private static final class Counter implements EndpointListener {
    private long messages;
    private long tokens;
    private long bytes;

    void exchangeByCopy(EndpointPair connected, MemorySegment source, int lengthBytes) {
      long expected = messages + 1;
      while (connected.initiator().send(3, messages, source, 0, lengthBytes) < 0) {
        connected.initiator().poll(this, 16);
      }
      connected.initiator().flush();
      while (messages < expected) {
        connected.acceptor().poll(this, 16);
        connected.initiator().poll(this, 16);
      }
    }

    void exchangeRegistered(EndpointPair connected, Registered memory, int lengthBytes) {
      long expected = messages + 1;
      long expectedTokens = tokens + 1;
      while (sendRegistered(connected.initiator(), memory, messages, 0, lengthBytes) < 0) {
        connected.initiator().poll(this, 16);
      }
      connected.initiator().flush();
      while (messages < expected || tokens < expectedTokens) {
        connected.acceptor().poll(this, 16);
        connected.initiator().poll(this, 16);
      }
    }

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      messages++;
      bytes += lengthBytes == 0 ? 0 : memory.get(ValueLayout.JAVA_BYTE, offset);
    }

    @Override
    public void onSent(long token) {
      tokens++;
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new AssertionError(cause + " after " + bytes);
    }
  }
}
