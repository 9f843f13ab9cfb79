package io.rdma4j.diagnosis;

import io.rdma4j.status.Cause;
import io.rdma4j.status.CounterWindow;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/**
 * An incident that events can still join. Watch thread only.
 *
 * <p>Its scope grows with its events: connections, hosts of peers that are gone, ports and devices
 * that are down.
 */
final class OpenIncident {
  private record Port(String device, int number) {
    /** Whether a subject is on this port; no number stands for every one of the device. */
    boolean has(EventSubject subject) {
      return !subject.device().isEmpty()
          && device.equals(subject.device())
          && (number == 0 || subject.port() == 0 || number == subject.port());
    }
  }

  private final long id;
  private final long openedNs;
  private final List<Event> events = new ArrayList<>();
  private final Set<Long> connections = new LinkedHashSet<>();
  private final Set<String> peers = new LinkedHashSet<>();
  private final Set<Port> portsNamed = new LinkedHashSet<>();

  /** Ports, or with number 0 devices, that are in trouble as a whole. */
  private final Set<Port> portsDown = new LinkedHashSet<>();

  /**
   * Hosts of peers that are in trouble as a whole, by how it shows: one process there may have
   * ended while another one stands still, and each has a cause of its own.
   */
  private final Set<String> hostsClosed = new LinkedHashSet<>();

  private final Set<String> hostsSilent = new LinkedHashSet<>();

  private final TreeMap<String, Double> peerFacts = new TreeMap<>();
  private boolean peerHasTold;
  private long moreEvents;
  private long flushed;
  private long lastNs;
  private int revision;
  private long publishedNs;

  /** Something has joined since the last picture. */
  boolean changed;

  /** When it is to be looked at again, by the clock of {@link Event#monotonicNs}. */
  long dueNs;

  /** Its next picture waits for counters, since {@link #askedNs}. */
  boolean awaitsCounters;

  /** When they were asked for, by the clock of {@link Event#monotonicNs}. */
  long askedNs;

  /** Its line stands in the log. */
  boolean logged;

  OpenIncident(Event first) {
    id = first.sequence();
    openedNs = first.monotonicNs();
    join(first);
  }

  long id() {
    return id;
  }

  long openedNs() {
    return openedNs;
  }

  long lastNs() {
    return lastNs;
  }

  void join(Event event) {
    if (events.size() < Incident.MAX_EVENTS) {
      events.add(event);
    } else {
      moreEvents++;
    }
    lastNs = Math.max(lastNs, event.monotonicNs());
    changed = true;
    EventSubject subject = event.subject();
    if (subject.connection() != 0) {
      connections.add(subject.connection());
    }
    if (!subject.peer().isEmpty()) {
      peers.add(subject.peer());
    }
    if (!subject.device().isEmpty()) {
      portsNamed.add(new Port(subject.device(), subject.port()));
    }
    switch (event.kind()) {
      case PORT_ERR, DEVICE_FATAL, CM_DEVICE_REMOVAL, SRQ_ERR, WQ_FATAL ->
          portsDown.add(
              new Port(subject.device(), event.kind() == EventKind.PORT_ERR ? subject.port() : 0));
      case PEER_SOCKET_CLOSED -> hostsClosed.add(subject.peerHost());
      case PEER_SILENT -> hostsSilent.add(subject.peerHost());
      case COMPLETION_ERROR, COMPLETION_FLUSHED -> flushed += event.value();
      case PEER_DIGEST -> {
        peerHasTold = true;
        FaultDigest.decode(event.text())
            .forEach((name, value) -> peerFacts.merge(name, value, Math::max));
      }
      default -> {}
    }
  }

  /** Whether an event belongs here. */
  boolean concerns(Event event) {
    EventSubject subject = event.subject();
    if (subject.connection() != 0 && connections.contains(subject.connection())) {
      return true;
    }
    return goesWithHost(event) || covers(subject) || isAboutPortOf(event);
  }

  /** Whether it is how a host of this incident goes, or comes back. */
  private boolean goesWithHost(Event event) {
    String host = event.subject().peerHost();
    return switch (event.kind()) {
      case PEER_SOCKET_CLOSED -> hostsClosed.contains(host);
      case PEER_SILENT, PEER_HEARD -> hostsSilent.contains(host);
      default -> false;
    };
  }

  /**
   * Whether an event that no incident is concerned with may be of a connection that ended with the
   * host of its peer, which it shows earlier than by the end of its socket or by silence.
   */
  boolean mayConcern(Event event) {
    String host = event.subject().peerHost();
    return switch (event.kind()) {
      case CONNECTION_LOST, PATH_LOST, CM_DISCONNECTED, COMPLETION_FLUSHED ->
          hostsClosed.contains(host) || hostsSilent.contains(host);
      default -> false;
    };
  }

  /** Whether the subject is on a port or device that is in trouble as a whole. */
  private boolean covers(EventSubject subject) {
    return portsDown.stream().anyMatch(port -> port.has(subject));
  }

  /** Whether an event of a port is about one that this incident's connections use. */
  private boolean isAboutPortOf(Event event) {
    EventSubject subject = event.subject();
    return subject.connection() == 0
        && (event.kind().isDeviceEvent() || event.kind() == EventKind.SYMPTOM)
        && portsNamed.stream().anyMatch(port -> port.has(subject));
  }

  /** Takes over what belongs to another incident, which is then a part of this one. */
  void absorb(OpenIncident other) {
    other.events.forEach(this::join);
    moreEvents += other.moreEvents;
    sortEvents();
  }

  /** By their numbers; who joined late may have been first. */
  void sortEvents() {
    events.sort(Comparator.comparingLong(Event::sequence));
  }

  /** How many pictures of it were made. */
  int pictures() {
    return revision;
  }

  /** When the last one was, by the clock of {@link Event#monotonicNs}. */
  long publishedNs() {
    return publishedNs;
  }

  Set<String> devices() {
    Set<String> devices = new LinkedHashSet<>();
    portsNamed.forEach(port -> devices.add(port.device));
    return devices;
  }

  /** Adds what its events, and the peers' accounts, say. */
  void addTo(Facts.Builder facts) {
    boolean first = true;
    for (Event event : events) {
      FactSources.add(facts, event, first);
      first &= event.kind() != EventKind.COMPLETION_ERROR;
    }
    if (peerHasTold) {
      facts.peer(peerFacts);
    }
  }

  Incident picture(
      Incident.State state,
      long wallNs,
      long nowNs,
      List<Cause> causes,
      List<CounterWindow> counters) {
    revision++;
    publishedNs = nowNs;
    changed = false;
    return new Incident(
        id(),
        revision,
        state,
        events.getFirst().timeNs(),
        wallNs,
        subject(),
        List.copyOf(connections),
        events,
        moreEvents,
        flushed,
        causes,
        counters);
  }

  private EventSubject subject() {
    Set<String> devices = devices();
    String device = devices.size() == 1 ? devices.iterator().next() : "";
    Set<Integer> numbers = new LinkedHashSet<>();
    portsNamed.stream().filter(port -> port.number != 0).forEach(port -> numbers.add(port.number));
    int number = !device.isEmpty() && numbers.size() == 1 ? numbers.iterator().next() : 0;
    boolean single = connections.size() == 1;
    int queuePair =
        single
            ? events.stream()
                .mapToInt(e -> e.subject().queuePair())
                .filter(q -> q != 0)
                .findFirst()
                .orElse(0)
            : 0;
    return new EventSubject(
        device,
        number,
        queuePair,
        single ? connections.iterator().next() : 0,
        peers.size() == 1 ? peers.iterator().next() : "");
  }
}
