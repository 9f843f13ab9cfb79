package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Doorbells and completions are shared by batches, exactly; nobody waits for company. */
@Timeout(60)
final class SendBatchTest {
  private static final int WINDOW = 64;

  /** A link, both ends, and registered memory at the initiator. */
  private static final class Rig implements AutoCloseable {
    final Arena arena = Arena.ofShared();
    final MemorySegment memory = arena.allocate(4096, 4096);
    final Inbox inbox = new Inbox();
    final Inbox peer = new Inbox();
    final ScriptedLink link;
    final EndpointPair pair;
    final Endpoint endpoint;
    final MemoryRegistrar.Registration registration;

    Rig(int window, int sendBatch) throws IOException {
      this(new ScriptedLink(1000, window, new VerbsSettings(sendBatch, 0, 0)));
    }

    Rig(ScriptedLink link) throws IOException {
      this.link = link;
      pair = link.connect();
      endpoint = pair.initiator();
      MemoryRegistrar registrar = endpoint.registrar();
      assertNotNull(registrar);
      registration = registrar.register(memory.address(), memory.byteSize());
    }

    long send(long number, boolean registered) {
      return registered
          ? endpoint.sendRegistered(1, number, memory, 0, 300, registration.lkey(), number)
          : endpoint.send(1, number, memory, 0, 300);
    }

    void assertDelivered(int count) {
      ScriptedLink.pollUntil(pair.acceptor(), peer, () -> peer.messages().size() >= count);
      pair.acceptor().poll(peer, 16);
      assertEquals(
          LongStream.range(0, count).boxed().toList(),
          peer.messages().stream().map(Inbox.Message::correlationId).toList());
    }

    void assertTokens(int count) {
      ScriptedLink.pollUntil(endpoint, inbox, () -> inbox.sentTokens().size() >= count);
      endpoint.poll(inbox, 16);
      assertEquals(LongStream.range(0, count).boxed().toList(), inbox.sentTokens());
    }

    @Override
    public void close() throws IOException {
      registration.close();
      pair.close();
      link.close();
      arena.close();
      assertEquals(0, link.verbs.ledger().receiverNotReady());
    }
  }

  /** Sends an answer for some messages, and counts the batches. */
  private static final class Answering implements EndpointListener {
    private final Endpoint endpoint;
    private final long fromNumber;
    int batches;

    Answering(Endpoint endpoint, long fromNumber) {
      this.endpoint = endpoint;
      this.fromNumber = fromNumber;
    }

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      if (correlationId >= fromNumber) {
        assertEquals(SendResult.OK, endpoint.send(2, correlationId, memory, offset, lengthBytes));
      }
    }

    @Override
    public void onBatchEnd() {
      batches++;
    }

    @Override
    public void onSent(long token) {
      throw new AssertionError("token " + token + " of a copied send");
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new AssertionError(cause.toString());
    }
  }

  @ParameterizedTest
  @CsvSource({"1,true", "2,true", "4,true", "8,true", "16,true", "1,false", "4,false", "16,false"})
  void aBatchCostsOneDoorbellAndAtMostOneCompletion(int sendBatch, boolean registered)
      throws IOException {
    try (var rig = new Rig(WINDOW, sendBatch)) {
      Ledger ledger = rig.link.verbs.ledger();
      int messages = WINDOW;
      long doorbells = ledger.sendDoorbells();
      long signaled = ledger.signaledSends();
      for (int i = 0; i < messages; i++) {
        assertEquals(SendResult.OK, rig.send(i, registered));
      }
      assertEquals(messages / sendBatch, ledger.sendDoorbells() - doorbells);
      long asked = ledger.signaledSends() - signaled;
      assertTrue(asked <= messages / sendBatch, () -> "signaled " + asked);
      assertEquals(registered ? messages / sendBatch : asked, asked);
      rig.assertDelivered(messages);
      rig.assertTokens(registered ? messages : 0);
    }
  }

  @Test
  void aLoneMessageGoesWithTheFlushOrTheNextPoll() throws IOException {
    try (var rig = new Rig(WINDOW, 16)) {
      rig.send(0, false);
      rig.endpoint.flush();
      rig.assertDelivered(1);
      rig.send(1, true);
      rig.endpoint.poll(rig.inbox, 16);
      rig.assertDelivered(2);
      long doorbells = rig.link.verbs.ledger().sendDoorbells();
      rig.endpoint.flush();
      assertEquals(doorbells, rig.link.verbs.ledger().sendDoorbells(), "nothing was left");
    }
  }

  @Test
  void aReplyGoesWithThePollThatMadeIt() throws IOException {
    try (var rig = new Rig(WINDOW, 16)) {
      var replies = new Answering(rig.pair.acceptor(), 0);
      for (int i = 0; i < 5; i++) {
        rig.send(i, false);
      }
      rig.endpoint.flush();
      long doorbells = rig.link.verbs.ledger().sendDoorbells();
      assertEquals(5, rig.pair.acceptor().poll(replies, 64));
      assertEquals(1, replies.batches);
      assertEquals(1, rig.link.verbs.ledger().sendDoorbells() - doorbells);
      assertEquals(5, rig.endpoint.poll(rig.inbox, 64));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 8, 16, 17, 64})
  void noMemoryIsStrandedWhateverTheDepth(int window) throws IOException {
    try (var rig = new Rig(window, 16)) {
      int sent = 0;
      for (int burst = 1; burst <= window; burst++) {
        for (int i = 0; i < burst; i++) {
          while (rig.send(sent, true) == SendResult.BACK_PRESSURED) {
            rig.pair.acceptor().poll(rig.peer, 16);
            rig.endpoint.poll(rig.inbox, 16);
          }
          sent++;
        }
        // Idle: no further send helps these out.
        rig.endpoint.flush();
        rig.assertTokens(sent);
      }
      rig.assertDelivered(sent);
    }
  }

  @Test
  void aBatchTakenInPartGoesOnWhereItStopped() throws IOException {
    try (var rig = new Rig(WINDOW, 16)) {
      rig.link.verbs.faults().acceptOnly("ibv_post_send", 10, Errno.ENOMEM);
      long posted = rig.link.verbs.ledger().sendsPosted();
      for (int i = 0; i < 16; i++) {
        assertEquals(SendResult.OK, rig.send(i, true));
      }
      assertEquals(16, rig.link.verbs.ledger().sendsPosted() - posted, "each once");
      rig.assertDelivered(16);
      rig.assertTokens(16);
    }
  }

  @Test
  void aRestThatIsRefusedComesBackAndEndsTheEndpoint() throws IOException {
    try (var rig = new Rig(WINDOW, 16)) {
      Faults faults = rig.link.verbs.faults();
      faults.acceptOnly("ibv_post_send", 10, Errno.ENOMEM);
      faults.refuseNth("ibv_post_send", 2, Errno.ENOMEM);
      for (int i = 0; i < 15; i++) {
        assertEquals(SendResult.OK, rig.send(i, true));
      }
      assertEquals(SendResult.NOT_CONNECTED, rig.send(15, true), "its caller keeps the memory");
      ScriptedLink.pollUntil(rig.endpoint, rig.inbox, () -> rig.inbox.failure() != null);
      assertEquals(Kind.DEVICE, rig.inbox.failures().getFirst().kind());
      assertEquals(List.of(10L, 11L, 12L, 13L, 14L), rig.inbox.sentTokens(), "never posted");
      // The completion that was to speak for these went with the refused rest.
      rig.pair.closeInitiator(rig.inbox);
      assertEquals(
          LongStream.range(0, 15).boxed().toList(),
          rig.inbox.sentTokens().stream().sorted().toList());
      ScriptedLink.pollUntil(rig.pair.acceptor(), rig.peer, () -> rig.peer.failure() != null);
      assertEquals(10, rig.peer.messages().size(), "what the device took, once");
    }
  }

  @Test
  void aFirstPostThatIsRefusedLeavesNothingBehind() throws IOException {
    try (var rig = new Rig(WINDOW, 16)) {
      rig.link.verbs.faults().refuseNext("ibv_post_send", Errno.ENOMEM);
      for (int i = 0; i < 3; i++) {
        assertEquals(SendResult.OK, rig.send(i, true));
      }
      rig.endpoint.flush();
      ScriptedLink.pollUntil(rig.endpoint, rig.inbox, () -> rig.inbox.failure() != null);
      assertEquals(List.of(0L, 1L, 2L), rig.inbox.sentTokens());
      assertEquals(List.of(), rig.peer.messages());
    }
  }

  @Test
  void creditsRideOnWhatGoesAnyway() throws IOException {
    try (var rig = new Rig(16, 16)) {
      for (int i = 0; i < 16; i++) {
        rig.send(i, true);
      }
      rig.endpoint.flush();
      Endpoint other = rig.pair.acceptor();
      var answersTheLast = new Answering(other, 15);
      long posted = rig.link.verbs.ledger().sendsPosted();
      assertEquals(16, other.poll(answersTheLast, 64));
      assertEquals(1, rig.link.verbs.ledger().sendsPosted() - posted, "the answer, and no other");
      rig.endpoint.poll(rig.inbox, 16);
      assertEquals(1, rig.inbox.messages().size());
      int room = 0;
      while (rig.send(100 + room, false) == SendResult.OK) {
        room++;
      }
      assertEquals(16, room, "all credits are back");
    }
  }

  @Test
  void aDeviceThatCanNotGatherGetsOnePiece() throws IOException {
    var link = new ScriptedLink(1000, 16);
    link.device.limits().maxSge = 1;
    try (var rig = new Rig(link)) {
      rig.memory.fill((byte) 7);
      for (int i = 0; i < 10; i++) {
        assertEquals(SendResult.OK, rig.send(i, true));
      }
      rig.endpoint.flush();
      rig.assertDelivered(10);
      rig.assertTokens(10);
      assertEquals(7, rig.peer.messages().getLast().payload()[299]);
    }
  }
}
