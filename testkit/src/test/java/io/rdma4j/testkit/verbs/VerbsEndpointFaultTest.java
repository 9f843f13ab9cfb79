package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An established endpoint meets every fault a device can show, and accounts for everything. */
@Timeout(60)
final class VerbsEndpointFaultTest {
  private static final int WINDOW = 16;
  private static final int RECEIVES = WINDOW + 3;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory = arena.allocate(4096, 4096);
  private final Inbox inbox = new Inbox();
  private final ScriptedLink link = new ScriptedLink(1000, WINDOW);
  private final EndpointPair pair;
  private final Endpoint endpoint;
  private final ScriptedQueuePair queuePair;
  private final MemoryRegistrar.Registration registration;

  VerbsEndpointFaultTest() throws IOException {
    pair = link.connect();
    endpoint = pair.initiator();
    queuePair = link.device.queuePairs().getFirst();
    MemoryRegistrar registrar = endpoint.registrar();
    assertNotNull(registrar);
    registration = registrar.register(memory.address(), memory.byteSize());
  }

  @AfterEach
  void giveBackEverything() throws IOException {
    registration.close();
    pair.close();
    link.close();
    arena.close();
    assertEquals(0, link.verbs.ledger().receiverNotReady());
  }

  private long sendRegistered(long token) {
    long result = endpoint.sendRegistered(1, token, memory, 0, 100, registration.lkey(), token);
    endpoint.flush();
    return result;
  }

  private EndpointFailure failure() {
    ScriptedLink.pollUntil(endpoint, inbox, () -> inbox.failure() != null);
    endpoint.poll(inbox, 16);
    assertEquals(1, inbox.failures().size());
    return inbox.failures().getFirst();
  }

  private void assertTokens(long count) {
    assertEquals(
        LongStream.range(0, count).boxed().toList(), inbox.sentTokens().stream().sorted().toList());
  }

  @Test
  void oneRealErrorAmongFlushesIsTheCause() throws IOException {
    EndpointPair other = link.connect();
    int sends = 13;
    ScriptedCompletionQueue queue = queuePair.sendCompletions();
    queuePair.stall();
    for (long token = 0; token < sends; token++) {
      assertEquals(SendResult.OK, sendRegistered(token));
    }
    queue.hold();
    queuePair.failNext(ScriptedQueuePair.RETRY_EXCEEDED, 129);
    queuePair.resume();
    assertEquals(sends + RECEIVES, queue.heldCount());
    // Two flushed receives reach the poller before the one real error does.
    queue.release(sends + 1);
    queue.release(sends);
    endpoint.poll(inbox, 16);
    assertNull(inbox.failure(), "the cause is not known yet");
    queue.releaseAll();
    EndpointFailure failure = failure();
    assertEquals(Kind.PEER_LOST, failure.kind());
    assertTrue(failure.message().contains("queue pair " + queuePair.number()), failure.message());
    assertTrue(failure.message().contains("transport retry counter exceeded"), failure.message());
    assertTrue(failure.message().contains("vendor error 129"), failure.message());
    assertTrue(failure.message().contains("31 requests flushed"), failure.message());
    assertTrue(failure.message().contains("the peer or the path"), failure.message());
    assertTokens(sends);
    Inbox untouched = new Inbox();
    other.initiator().send(1, 1, memory, 0, 10);
    other.initiator().flush();
    ScriptedLink.pollUntil(other.acceptor(), untouched, () -> untouched.messages().size() == 1);
    assertEquals(List.of(), untouched.failures());
    other.close();
  }

  @ParameterizedTest
  @CsvSource({
    "12, PEER_LOST",
    "20, PEER_LOST",
    "9, PROTOCOL",
    "10, PROTOCOL",
    "13, PROTOCOL",
    "1, DEVICE",
    "4, DEVICE",
  })
  void theStatusTellsTheKind(int status, Kind kind) {
    queuePair.failNext(status, 7);
    assertEquals(SendResult.OK, sendRegistered(0));
    EndpointFailure failure = failure();
    assertEquals(kind, failure.kind());
    assertTrue(failure.message().contains("status " + status + ", vendor error 7"));
    assertTokens(1);
    assertEquals(SendResult.NOT_CONNECTED, sendRegistered(1));
  }

  @Test
  void aPeerThatNoLongerAnswersIsLost() {
    queuePair.cut();
    assertEquals(SendResult.OK, sendRegistered(0));
    assertEquals(Kind.PEER_LOST, failure().kind());
    assertTokens(1);
  }

  @Test
  void flushesWithoutACauseMeanThatThePeerHasGone() {
    queuePair.stall();
    assertEquals(SendResult.OK, sendRegistered(0));
    queuePair.toError();
    EndpointFailure failure = failure();
    assertEquals(Kind.PEER_LOST, failure.kind());
    assertTrue(failure.message().contains(RECEIVES + 1 + " requests flushed"), failure.message());
    assertTokens(1);
  }

  @Test
  void aDeviceThatKeepsRequestsLosesItsQueuePair() {
    queuePair.stall();
    queuePair.sendCompletions().hold();
    assertEquals(SendResult.OK, sendRegistered(0));
    link.device.raise(AsyncEvent.Type.QP_FATAL, queuePair, 0);
    EndpointFailure failure = failure();
    assertEquals(Kind.DEVICE, failure.kind());
    assertTokens(1);
    assertEquals(1, link.verbs.ledger().live(Ledger.Kind.QUEUE_PAIR), "only the peer's is left");
  }

  @ParameterizedTest
  @CsvSource({
    "CQ_ERR, DEVICE, completion queue overrun",
    "QP_FATAL, DEVICE, queue pair in fatal error",
    "QP_REQ_ERR, PROTOCOL, invalid request",
    "QP_ACCESS_ERR, PROTOCOL, no right to",
  })
  void anEventOfTheQueuePairEndsThisEndpointOnly(AsyncEvent.Type type, Kind kind, String text) {
    boolean ofQueue = type == AsyncEvent.Type.CQ_ERR;
    link.device.raise(type, ofQueue ? queuePair.sendCompletions() : queuePair, 0);
    EndpointFailure failure = failure();
    assertEquals(kind, failure.kind());
    assertTrue(failure.message().contains(text), failure.message());
  }

  @ParameterizedTest
  @CsvSource({"PORT_ERR, 1, port down", "DEVICE_FATAL, 0, device in fatal error"})
  void anEventOfPortOrDeviceEndsItsEndpoints(AsyncEvent.Type type, int port, String text) {
    link.device.raise(type, null, port);
    EndpointFailure failure = failure();
    assertEquals(Kind.DEVICE, failure.kind());
    assertTrue(failure.message().contains(text), failure.message());
  }

  @ParameterizedTest
  @CsvSource({"PORT_ERR, 2", "PORT_ACTIVE, 1", "GID_CHANGE, 1", "COMM_EST, 0", "SQ_DRAINED, 0"})
  void otherEventsChangeNothing(AsyncEvent.Type type, int port) {
    link.device.raise(type, port == 0 ? queuePair : null, port);
    for (int i = 0; i < 10; i++) {
      endpoint.housekeep(System.nanoTime());
      endpoint.poll(inbox, 16);
    }
    assertEquals(SendResult.OK, sendRegistered(0));
    ScriptedLink.pollUntil(endpoint, inbox, () -> inbox.sentTokens().size() == 1);
    assertEquals(List.of(), inbox.failures());
  }

  /** Field case O-17: ENOMEM with free slots. */
  @Test
  void aFullQueueAnswerWithFreeSlotsIsAnErrorAndNotRetried() {
    int before = link.verbs.faults().callsMade("ibv_post_send");
    link.verbs.faults().refuseAlways("ibv_post_send", Errno.ENOMEM);
    assertEquals(SendResult.OK, sendRegistered(0), "accepted, but its doorbell was refused");
    assertEquals(SendResult.NOT_CONNECTED, sendRegistered(1));
    EndpointFailure failure = failure();
    assertEquals(Kind.DEVICE, failure.kind());
    assertTrue(failure.message().contains("ibv_post_send"), failure.message());
    assertTrue(failure.message().contains("errno 12"), failure.message());
    assertTrue(failure.message().contains("0 of 20 places"), failure.message());
    assertEquals(1, link.verbs.faults().callsMade("ibv_post_send") - before);
    assertEquals(List.of(0L), inbox.sentTokens(), "only the accepted one comes back this way");
    link.verbs.faults().clear();
  }

  @Test
  void receivesTakenInPartAreResumedWhereTheyStopped() {
    Inbox peer = new Inbox();
    link.verbs.faults().acceptOnly("ibv_post_recv", 2, Errno.ENOMEM);
    for (long number = 0; number < 10L * WINDOW; number++) {
      while (endpoint.send(1, number, memory, 0, 300) < 0) {
        pair.acceptor().poll(peer, 16);
        endpoint.poll(inbox, 16);
      }
    }
    endpoint.flush();
    ScriptedLink.pollUntil(pair.acceptor(), peer, () -> peer.messages().size() == 10 * WINDOW);
    for (int i = 0; i < peer.messages().size(); i++) {
      assertEquals(i, peer.messages().get(i).correlationId());
    }
    assertEquals(List.of(), peer.failures());
  }

  @Test
  void aReceiveThatIsRefusedAltogetherIsAnError() {
    Inbox peer = new Inbox();
    link.verbs.faults().refuseAlways("ibv_post_recv", Errno.ENOMEM);
    for (long number = 0; number < WINDOW; number++) {
      assertEquals(SendResult.OK, endpoint.send(1, number, memory, 0, 300));
    }
    endpoint.flush();
    ScriptedLink.pollUntil(pair.acceptor(), peer, () -> peer.failure() != null);
    EndpointFailure failure = peer.failures().getFirst();
    assertEquals(Kind.DEVICE, failure.kind());
    assertTrue(failure.message().contains("ibv_post_recv"), failure.message());
    link.verbs.faults().clear();
  }

  @Test
  void aFailingPollEndsTheEndpoint() {
    assertEquals(SendResult.OK, sendRegistered(0));
    link.verbs.faults().refuseAlways("ibv_poll_cq", Errno.EIO);
    EndpointFailure failure = failure();
    assertEquals(Kind.DEVICE, failure.kind());
    assertTrue(failure.message().contains("ibv_poll_cq"), failure.message());
    assertTokens(1);
    link.verbs.faults().clear();
  }

  @Test
  void copiedSendsAskForFewCompletionsAndStillFlow() {
    Inbox peer = new Inbox();
    long before = link.verbs.ledger().signaledSends();
    int count = 40 * WINDOW;
    for (long number = 0; number < count; number++) {
      while (endpoint.send(1, number, memory, 0, 10) < 0) {
        pair.acceptor().poll(peer, 16);
        endpoint.poll(inbox, 16);
      }
    }
    endpoint.flush();
    ScriptedLink.pollUntil(pair.acceptor(), peer, () -> peer.messages().size() == count);
    long signaled = link.verbs.ledger().signaledSends() - before;
    // Every fifth of 20 slots, and the peer's credit messages, one for half a window each.
    assertTrue(signaled <= count / 5 + count / (WINDOW / 2) + 1, () -> "signaled " + signaled);
  }

  @ParameterizedTest
  @CsvSource({
    "9, 0, 0, 'kind 9'",
    "1, 5, 0, 'payload length 5'",
    "1, -1, 0, 'payload length -1'",
    "2, 0, 300, 'never sent'",
    "1, 0, 1, 'never sent'",
  })
  void aPeerThatBreaksTheProtocolIsCutOff(int kind, int length, int credits, String text) {
    MemoryRegion region =
        queuePair.domain.registerMemory(memory.address(), memory.byteSize(), Access.LOCAL_WRITE);
    memory.set(ValueLayout.JAVA_INT, 0, length);
    memory.set(ValueLayout.JAVA_INT, 4, credits | kind << 16);
    Inbox peer = new Inbox();
    try (region;
        SendList list = new SendList(1, 1)) {
      list.add(0, SendList.OP_SEND, 0).gather(memory.address(), 16, region.lkey());
      assertEquals(1, queuePair.postSend(list));
      ScriptedLink.pollUntil(pair.acceptor(), peer, () -> peer.failure() != null);
    }
    assertEquals(Kind.PROTOCOL, peer.failures().getFirst().kind());
    assertTrue(peer.failures().getFirst().message().contains(text), peer.failures()::toString);
    assertEquals(List.of(), peer.messages());
  }

  @Test
  void aMessageShorterThanItsHeaderIsAViolation() {
    MemoryRegion region =
        queuePair.domain.registerMemory(memory.address(), memory.byteSize(), Access.LOCAL_WRITE);
    Inbox peer = new Inbox();
    try (region;
        SendList list = new SendList(1, 1)) {
      list.add(0, SendList.OP_SEND, 0).gather(memory.address(), 15, region.lkey());
      assertEquals(1, queuePair.postSend(list));
      ScriptedLink.pollUntil(pair.acceptor(), peer, () -> peer.failure() != null);
    }
    assertEquals(Kind.PROTOCOL, peer.failures().getFirst().kind());
  }

  @Test
  void closeDoesNotWaitForADeadPeer() throws IOException {
    queuePair.stall();
    for (long token = 0; token < 5; token++) {
      assertEquals(SendResult.OK, sendRegistered(token));
    }
    long startNs = System.nanoTime();
    pair.closeInitiator(inbox);
    assertTrue(System.nanoTime() - startNs < 10_000_000_000L);
    assertTokens(5);
    assertEquals(List.of(), inbox.failures());
  }
}
