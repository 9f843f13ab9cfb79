package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import io.rdma4j.verbs.SendList;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Field case O-17, pieces of a message: never more than a device gathers. */
@Timeout(60)
final class GatherLimitTest {
  /** A device that takes one piece gets a copy; no device gets more than it said it takes. */
  @ParameterizedTest
  @CsvSource({"1, 0", "1, 1", "1, 900", "2, 0", "2, 1", "2, 900", "4, 900", "16, 900"})
  void registeredMemoryIsGatheredOrCopied(int maxSge, int lengthBytes) throws IOException {
    var link = new ScriptedLink(1000, 16);
    link.device.limits().maxSge = maxSge;
    link.device.limits().maxInlineBytes = 0;
    try (link;
        EndpointPair pair = link.connect();
        Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(1000, 8);
      for (int i = 0; i < 1000; i++) {
        memory.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 7));
      }
      Endpoint from = pair.initiator();
      int gathers = Objects.requireNonNull(from.queuePair()).limits().gatherEntries();
      assertEquals(Math.min(2, maxSge), gathers);
      try (Registration registered =
          Objects.requireNonNull(from.registrar()).register(memory.address(), 1000)) {
        var sent = new Inbox();
        var received = new Inbox();
        assertEquals(
            0, from.sendRegistered(1, 2, memory, 50, lengthBytes, registered.lkey(), 4711));
        from.flush();
        ScriptedLink.pollUntil(pair.acceptor(), received, () -> received.messages().size() == 1);
        ScriptedLink.pollUntil(from, sent, () -> !sent.sentTokens().isEmpty());
        byte[] expected = memory.asSlice(50, lengthBytes).toArray(ValueLayout.JAVA_BYTE);
        assertArrayEquals(expected, received.messages().getFirst().payload());
      }
    }
  }

  /** One piece too many is refused where it is added, before anything is posted. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 16})
  void onePieceTooManyIsRefusedWithTheLimit(int maxSge) {
    try (var list = new SendList(2, maxSge)) {
      list.add(1, SendList.OP_SEND, 0);
      for (int i = 0; i < maxSge; i++) {
        list.gather(4096L * (i + 1), 8, 5);
      }
      var refused = assertThrows(IllegalStateException.class, () -> list.gather(4096, 8, 5));
      String message = String.valueOf(refused.getMessage());
      assertTrue(message.contains(maxSge + " gather entries"), message);
      assertEquals(maxSge, list.sgeCount(0), "what was there before");
    }
  }
}
