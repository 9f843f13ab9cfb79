package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The inline limit is the device's, not the wish. */
@Timeout(60)
final class InlineLimitTest {
  private static final int HEADER_BYTES = 16;

  /** Field case O-17: 220 wished and 101 given; the limit is a limit to the byte. */
  @Test
  void messagesGoInlineUpToTheDevicesLimitAndByKeyAbove() throws IOException {
    var link = new ScriptedLink(1000, 16);
    link.device.limits().maxInlineBytes = 101;
    try (link;
        EndpointPair pair = link.connect()) {
      assertEquals(101, link.device.queuePairs().getFirst().maxInlineBytes());
      assertEquals(1, inlineSendsOf(link, pair, 101 - HEADER_BYTES));
      assertEquals(0, inlineSendsOf(link, pair, 102 - HEADER_BYTES));
    }
  }

  @Test
  void aDeviceWithoutInlineWorksByKeyAlone() throws IOException {
    var link = new ScriptedLink(1000, 4);
    link.device.limits().maxInlineBytes = 0;
    try (link;
        EndpointPair pair = link.connect()) {
      for (int i = 0; i < 20; i++) {
        assertEquals(0, inlineSendsOf(link, pair, i));
      }
    }
  }

  private static long inlineSendsOf(ScriptedLink link, EndpointPair pair, int lengthBytes) {
    long before = link.verbs.ledger().inlineSends();
    Inbox inbox = new Inbox();
    MemorySegment source = MemorySegment.ofArray(new byte[1000]);
    assertEquals(0, pair.initiator().send(1, 1, source, 0, lengthBytes));
    pair.initiator().flush();
    ScriptedLink.pollUntil(pair.acceptor(), inbox, () -> inbox.messages().size() == 1);
    pair.initiator().poll(inbox, 16);
    assertEquals(lengthBytes, inbox.messages().getFirst().payload().length);
    return link.verbs.ledger().inlineSends() - before;
  }
}
