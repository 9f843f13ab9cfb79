package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.VerbsException;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import io.rdma4j.verbs.AsyncEvent;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whatever a device announces is acknowledged and in the journal, with what it is about. */
@Timeout(60)
final class DeviceEventsTest {
  private final ScriptedVerbs verbs = new ScriptedVerbs();
  private final ScriptedDevice device =
      verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  private final EventJournal journal = EventJournal.inMemory();
  private final VerbsProvider provider =
      new VerbsProvider(verbs, new VerbsSettings(1, 0, 0), NanoClock.SYSTEM, journal);
  private final Inbox inbox = new Inbox();
  private final EndpointPair pair;
  private final ScriptedQueuePair queuePair;

  DeviceEventsTest() throws IOException {
    pair =
        EndpointPair.connect(
            provider::initiate,
            provider,
            InetAddress.getLoopbackAddress(),
            new EndpointConfig(1000, 16, 4000),
            Duration.ofSeconds(20));
    String mine = "queue pair " + pair.initiator().subject().queuePair();
    queuePair =
        device.queuePairs().stream()
            .filter(qp -> mine.equals("queue pair " + qp.number()))
            .findFirst()
            .orElseThrow();
  }

  @AfterEach
  void giveBackEverything() throws IOException {
    pair.close();
    provider.close();
    assertEquals(0, device.unacknowledgedEvents());
    verbs.ledger().assertNothingLeft();
  }

  private List<Event> deviceEvents() {
    provider.housekeep(System.nanoTime());
    assertEquals(0, device.unacknowledgedEvents(), "all of them are acknowledged");
    return journal.events().stream().filter(e -> e.kind().isDeviceEvent()).toList();
  }

  @ParameterizedTest
  @EnumSource(value = AsyncEvent.Type.class, mode = EnumSource.Mode.EXCLUDE, names = "UNKNOWN")
  void everyEventIsTold(AsyncEvent.Type type) {
    boolean ofQueuePair = type.name().startsWith("QP_") || type.name().startsWith("PATH_");
    boolean ofPort = type.name().startsWith("PORT_") || type.name().endsWith("_CHANGE");
    AutoCloseable source = ofQueuePair ? queuePair : null;
    if (type == AsyncEvent.Type.CQ_ERR) {
      source = queuePair.sendCompletions();
    }
    device.raise(type, source, ofPort ? 1 : 0);
    List<Event> events = deviceEvents();
    assertEquals(1, events.size());
    Event event = events.getFirst();
    assertEquals(type.name(), event.kind().name());
    assertEquals(AsyncEvent.Type.valueOf(event.kind().name()), AsyncEvent.Type.of(event.code()));
    EventSubject expected =
        source == null
            ? EventSubject.device("scripted0", ofPort ? 1 : 0)
            : EventSubject.queuePair("scripted0", 1, queuePair.number());
    assertEquals(expected, event.subject());
  }

  @Test
  void eventsThatThisVersionDoesNotKnowAreKept() {
    device.raise(33, null, 0);
    device.raise(-7, null, 0);
    List<Event> events = deviceEvents();
    assertEquals(List.of(33, -7), events.stream().map(Event::code).toList());
    assertEquals(EventKind.UNKNOWN_DEVICE_EVENT, events.getFirst().kind());
    assertTrue(events.getFirst().text().contains("33"), events.getFirst().text());
  }

  @Test
  void theSameEventAgainIsAnotherEvent() {
    for (int i = 0; i < 5; i++) {
      device.raise(AsyncEvent.Type.COMM_EST, queuePair, 0);
    }
    assertEquals(5, deviceEvents().size());
    pair.initiator().poll(inbox, 16);
    assertEquals(List.of(), inbox.failures());
  }

  @Test
  void eventsOfObjectsThatAreGoneHarmNobody() throws IOException {
    ScriptedQueuePair gone = queuePair;
    pair.close();
    device.raise(AsyncEvent.Type.QP_FATAL, gone, 0);
    device.raise(AsyncEvent.Type.CQ_ERR, null, 0);
    List<Event> events = deviceEvents();
    assertEquals(2, events.size());
    for (Event event : events) {
      assertEquals(EventSubject.device("scripted0", 0), event.subject());
      assertTrue(event.text().contains("no connection uses"), event.text());
    }
  }

  /** Field case O-20: the figures stand beside the overrun, and its requests end. */
  @Test
  void anOverrunComesWithItsFigures() {
    device.raise(AsyncEvent.Type.CQ_ERR, queuePair.sendCompletions(), 0);
    Event event = deviceEvents().getFirst();
    assertEquals(EventKind.CQ_ERR, event.kind());
    assertTrue(event.text().contains("19 receives are outstanding"), event.text());
    ScriptedLink.pollUntil(pair.initiator(), inbox, () -> inbox.failure() != null);
    Event flushed = journal.events().getLast();
    assertEquals(EventKind.COMPLETION_FLUSHED, flushed.kind());
    assertEquals(19, flushed.value());
  }

  @Test
  void theFirstRealErrorIsOneEventAndItsFlushesAreItsConsequence() {
    queuePair.stall();
    MemorySegment memory = MemorySegment.ofArray(new byte[100]);
    for (int i = 0; i < 5; i++) {
      pair.initiator().send(1, i, memory, 0, 100);
    }
    pair.initiator().flush();
    queuePair.failNext(ScriptedQueuePair.RETRY_EXCEEDED, 129);
    queuePair.resume();
    ScriptedLink.pollUntil(pair.initiator(), inbox, () -> inbox.failure() != null);
    List<Event> errors =
        journal.events().stream()
            .filter(e -> e.kind() == EventKind.COMPLETION_ERROR)
            .filter(e -> e.subject().queuePair() == queuePair.number())
            .toList();
    assertEquals(1, errors.size());
    assertEquals(12, errors.getFirst().code());
    assertEquals(129, errors.getFirst().vendorError());
    assertTrue(errors.getFirst().value() >= 19, "flushed: " + errors.getFirst().value());
  }

  @Test
  void aRefusedRegistrationIsTold() {
    verbs.faults().refuseNext("ibv_reg_mr", Errno.ENOMEM);
    MemoryRegistrar registrar = provider.registrars().getFirst();
    try (var arena = java.lang.foreign.Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(4096, 4096);
      Assertions.assertThrows(
          VerbsException.class, () -> registrar.register(memory.address(), 4096));
    }
    Event event = journal.events().getLast();
    assertEquals(EventKind.REGISTRATION_FAILED, event.kind());
    assertEquals(Errno.ENOMEM, event.code());
    assertEquals(4096, event.value());
    assertEquals("scripted0", event.subject().device());
  }
}
