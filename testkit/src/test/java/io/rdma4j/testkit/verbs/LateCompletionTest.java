package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import io.rdma4j.verbs.AsyncEvent;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What arrived before the trouble is delivered, also when the trouble is seen first. */
@Timeout(60)
final class LateCompletionTest {
  private static final int WINDOW = 16;
  private static final int SENT = 9;

  private final Inbox inbox = new Inbox();
  private final Inbox peerInbox = new Inbox();

  private static void send(EndpointPair pair, MemorySegment memory) {
    for (long i = 0; i < SENT; i++) {
      assertEquals(SendResult.OK, pair.initiator().send(1, i, memory, 0, 100));
    }
    pair.initiator().flush();
  }

  private void assertAllDelivered() {
    assertEquals(
        LongStream.range(0, SENT).boxed().toList(),
        inbox.messages().stream().map(Inbox.Message::correlationId).toList());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, SENT})
  void messagesFollowTheEventThatEndsThePath(int shownBefore) throws IOException {
    try (Arena arena = Arena.ofShared();
        ScriptedLink link = new ScriptedLink(1000, WINDOW);
        EndpointPair pair = link.connect()) {
      ScriptedQueuePair receiver = link.device.queuePairs().getLast();
      receiver.receiveCompletions().hold();
      send(pair, arena.allocate(4096));
      for (int i = 0; i < shownBefore; i++) {
        receiver.receiveCompletions().release(0);
      }
      link.device.raise(AsyncEvent.Type.QP_FATAL, receiver, 0);
      pair.acceptor().housekeep(0);
      pair.acceptor().poll(inbox, 16);
      assertEquals(shownBefore, inbox.messages().size());
      receiver.receiveCompletions().releaseAll();
      ScriptedLink.pollUntil(pair.acceptor(), inbox, () -> inbox.failure() != null);
      assertAllDelivered();
      assertEquals(Kind.DEVICE, inbox.failures().getFirst().kind());
    }
  }

  @Test
  void messagesFollowTheSendThatFailed() throws IOException {
    try (Arena arena = Arena.ofShared();
        ScriptedLink link = new ScriptedLink(1000, WINDOW);
        EndpointPair pair = link.connect()) {
      ScriptedQueuePair receiver = link.device.queuePairs().getLast();
      ScriptedCompletionQueue queue = receiver.receiveCompletions();
      MemorySegment memory = arena.allocate(4096);
      queue.hold();
      send(pair, memory);
      assertEquals(SENT, queue.heldCount());
      receiver.failNext(ScriptedQueuePair.RETRY_EXCEEDED, 0);
      assertEquals(SendResult.OK, pair.acceptor().send(1, 0, memory, 0, 100));
      pair.acceptor().flush();
      queue.release(SENT);
      pair.acceptor().poll(inbox, 16);
      assertTrue(inbox.messages().isEmpty());
      queue.releaseAll();
      ScriptedLink.pollUntil(pair.acceptor(), inbox, () -> inbox.failure() != null);
      assertAllDelivered();
      assertEquals(Kind.PEER_LOST, inbox.failures().getFirst().kind());
    }
  }

  @Test
  void nothingFollowsAGoodbye() throws IOException {
    try (Arena arena = Arena.ofShared();
        ScriptedLink link = new ScriptedLink(1000, WINDOW);
        EndpointPair pair = link.connect()) {
      send(pair, arena.allocate(4096));
      pair.closeInitiator(peerInbox);
      ScriptedLink.pollUntil(pair.acceptor(), inbox, () -> inbox.failure() != null);
      assertAllDelivered();
      assertEquals(Kind.PEER_CLOSED, inbox.failures().getFirst().kind());
    }
  }
}
