package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.Rest;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Nothing that arrives around the moment of falling asleep is slept over. */
@Timeout(60)
final class ArmingTest {
  private static final int WINDOW = 16;
  private static final String ARM = "ibv_req_notify_cq";

  private final MemorySegment source = MemorySegment.ofArray(new byte[100]);
  private final Inbox inbox = new Inbox();

  private void sendTo(Endpoint from) {
    assertEquals(SendResult.OK, from.send(1, 1, source, 0, 100));
    from.flush();
  }

  @Test
  void whatCameSinceTheLastPollForbidsTheSleep() throws IOException {
    var link = new ScriptedLink(1000, WINDOW);
    try (link;
        EndpointPair pair = link.connect()) {
      Endpoint sleeper = pair.acceptor();
      assertEquals(0, sleeper.poll(inbox, 16));
      assertEquals(Rest.BRIEF, sleeper.arm(), "a scripted channel has no descriptor");
      sendTo(pair.initiator());
      assertEquals(Rest.NONE, sleeper.arm());
      assertEquals(1, sleeper.poll(inbox, 16));
      assertEquals(1, inbox.messages().size(), "what arming has seen is delivered");
      assertEquals(0, sleeper.poll(inbox, 16));
      assertEquals(Rest.BRIEF, sleeper.arm());
    }
  }

  @Test
  void theQueueIsArmedOnceForEachEvent() throws IOException {
    var link = new ScriptedLink(1000, WINDOW);
    try (link;
        EndpointPair pair = link.connect()) {
      Endpoint sleeper = pair.acceptor();
      Faults faults = link.verbs.faults();
      int before = faults.callsMade(ARM);
      for (int i = 0; i < 5; i++) {
        sleeper.arm();
      }
      assertEquals(0, faults.callsMade(ARM) - before, "the set-up has armed it");
      for (int round = 1; round <= 3; round++) {
        sendTo(pair.initiator());
        while (sleeper.poll(inbox, 16) > 0) {
          // as a poller that does not sleep at once
        }
        sleeper.arm();
        sleeper.arm();
        assertEquals(round, faults.callsMade(ARM) - before);
      }
    }
  }

  @Test
  void whatWaitsForADoorbellForbidsTheSleep() throws IOException {
    var link = new ScriptedLink(1000, WINDOW);
    try (link;
        EndpointPair pair = link.connect()) {
      Endpoint endpoint = pair.initiator();
      assertEquals(SendResult.OK, endpoint.send(1, 1, source, 0, 100));
      assertEquals(Rest.NONE, endpoint.arm());
      endpoint.flush();
      assertEquals(Rest.BRIEF, endpoint.arm());
    }
  }

  @Test
  void aDeviceThatCanNotBeArmedIsNoPath() {
    try (var link = new ScriptedLink(1000, WINDOW)) {
      link.verbs.faults().refuseNext(ARM, Errno.EIO);
      IOException failure = assertThrows(IOException.class, link::connect);
      assertTrue(String.valueOf(failure.getMessage()).contains(ARM), failure::toString);
    }
  }

  @Test
  void armingThatFailsLaterEndsTheEndpoint() throws IOException {
    var link = new ScriptedLink(1000, WINDOW);
    try (link;
        EndpointPair pair = link.connect()) {
      Endpoint sleeper = pair.acceptor();
      sendTo(pair.initiator());
      assertEquals(1, sleeper.poll(inbox, 16));
      link.verbs.faults().refuseNext(ARM, Errno.EIO);
      assertEquals(Rest.NONE, sleeper.arm());
      ScriptedLink.pollUntil(sleeper, inbox, () -> inbox.failure() != null);
      assertEquals(Kind.DEVICE, inbox.failures().getFirst().kind());
      assertTrue(inbox.failures().getFirst().message().contains(ARM));
    }
  }

  @Test
  void theEffectiveModerationCanBeRead() throws IOException {
    for (boolean offered : List.of(true, false)) {
      var link = new ScriptedLink(1000, WINDOW, new VerbsSettings(16, 8, 20));
      if (!offered) {
        link.verbs.faults().refuseAlways("ibv_modify_cq", Errno.EOPNOTSUPP);
      }
      try (link;
          EndpointPair pair = link.connect()) {
        String description = pair.initiator().description();
        String expected = offered ? "8 completions or 20 us" : "events not moderated";
        assertTrue(description.contains(expected), description);
      }
    }
  }
}
