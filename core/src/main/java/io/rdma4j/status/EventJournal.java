package io.rdma4j.status;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.jfr.IncidentEvent;
import io.rdma4j.jfr.JournalEvent;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * What happened: the latest events and incidents, in memory and, where a file was given, in that.
 *
 * <p>Thread-safe. Memory is bounded: {@link #MAX_EVENTS} events and {@link #MAX_INCIDENTS}
 * incidents, of which the oldest goes first. An event takes a lock for some microseconds; nothing
 * that happens for each message makes one.
 *
 * <p>An event of a queue pair gets the connection that uses it: {@link EventKind#CONNECTION_OPENED}
 * and {@link EventKind#PATH_MOVED} tell which, until the connection has ended.
 */
public final class EventJournal implements EventSink, MetricSource, AutoCloseable {
  /** Events kept in memory. */
  public static final int MAX_EVENTS = 4096;

  /** Incidents kept in memory. */
  public static final int MAX_INCIDENTS = 256;

  /** Size of a journal file where nothing else is said: some 8000 events. */
  public static final long DEFAULT_FILE_BYTES = 4L << 20;

  private static final MetricDescriptor EVENTS =
      counter("rdma4j_events_total", "Events by what they tell.", "kind");
  private static final MetricDescriptor DEVICE_EVENTS =
      counter(
          "rdma4j_device_events_total",
          "Asynchronous events of devices.",
          "device",
          "port",
          "kind");
  private static final MetricDescriptor PORT_ACTIVE =
      gauge(
          "rdma4j_device_port_active",
          "Whether a port is up, 1 or 0, once an event has told.",
          "device",
          "port");
  private static final MetricDescriptor INCIDENTS =
      counter("rdma4j_incidents_total", "Incidents that have ended, by their cause.", "cause");
  private static final MetricDescriptor INCIDENTS_OPEN =
      gauge("rdma4j_incidents_open", "Incidents going on, by their cause so far.", "cause");
  private static final MetricDescriptor FILE_FAILURES =
      counter(
          "rdma4j_journal_failures_total",
          "Records that the journal's file did not take, after the first of which it is left.");
  private static final MetricDescriptor LISTENER_FAILURES =
      counter("rdma4j_incident_listener_failures_total", "Exceptions of incident listeners.");

  /** The cause of an incident that nothing known fits, as a label. */
  private static final String UNKNOWN_CAUSE = "unknown";

  private static final Logger LOG = System.getLogger(EventJournal.class.getName());

  private record QueuePair(String device, int number) {}

  private record Port(String device, int port) {}

  private record DeviceKind(Port port, EventKind kind) {}

  private final NanoClock clock;
  private final @Nullable Path path;
  private final List<IncidentListener> listeners = new CopyOnWriteArrayList<>();
  private final Object lock = new Object();

  // All below under the lock.
  private @Nullable JournalFile file;
  private final ArrayDeque<Event> events = new ArrayDeque<>();
  private final LinkedHashMap<Long, Incident> incidents = new LinkedHashMap<>();
  private final Map<QueuePair, EventSubject> owners = new HashMap<>();
  private final Map<EventKind, Long> eventCounts = new EnumMap<>(EventKind.class);
  private final Map<DeviceKind, Long> deviceEventCounts = new LinkedHashMap<>();
  private final Map<Port, Boolean> portActive = new LinkedHashMap<>();
  private final Map<String, Long> incidentCounts = new TreeMap<>();
  private long fileFailures;
  private long listenerFailures;
  private long sequence;
  private Runnable waker = () -> {};

  private EventJournal(NanoClock clock, @Nullable Path path, @Nullable JournalFile file) {
    this.clock = clock;
    this.path = path;
    this.file = file;
  }

  /** Returns a journal in memory alone. */
  public static EventJournal inMemory() {
    return inMemory(NanoClock.SYSTEM);
  }

  /** Returns a journal in memory whose monotonic times are those of {@code clock}. */
  public static EventJournal inMemory(NanoClock clock) {
    return new EventJournal(clock, null, null);
  }

  /**
   * Returns a journal that is also in a file; one that exists is continued.
   *
   * @param sizeBytes of a new file
   * @throws IOException when the file is not a journal, when another writes it, or when there is no
   *     room for it
   */
  public static EventJournal open(Path path, long sizeBytes) throws IOException {
    return open(path, sizeBytes, NanoClock.SYSTEM);
  }

  /**
   * Returns a journal that is also in a file, with monotonic times of {@code clock}.
   *
   * @param sizeBytes of a new file
   * @throws IOException when the file is not a journal, when another writes it, or when there is no
   *     room for it
   */
  public static EventJournal open(Path path, long sizeBytes, NanoClock clock) throws IOException {
    JournalFile file = new JournalFile(path, sizeBytes, wallNs());
    EventJournal journal = new EventJournal(clock, path, file);
    journal.continueFrom(file.contents());
    journal.emit(
        EventKind.JOURNAL_OPENED,
        EventSubject.NONE,
        0,
        0,
        ProcessHandle.current().pid(),
        "process " + ProcessHandle.current().pid() + ", Java " + Runtime.version());
    return journal;
  }

  /** Numbers go on behind those in the file, so that they name one event each. */
  private void continueFrom(JournalContents before) {
    synchronized (lock) {
      for (Event event : before.events()) {
        sequence = Math.max(sequence, event.sequence());
      }
    }
  }

  private static long wallNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  /** Returns where the file is, null when there is none. */
  public @Nullable Path path() {
    return path;
  }

  @Override
  public void emit(
      EventKind kind, EventSubject subject, int code, int vendorError, long value, String text) {
    Runnable wake;
    synchronized (lock) {
      EventSubject attributed = attribute(kind, subject);
      sequence++;
      Event event =
          new Event(
              sequence,
              wallNs(),
              clock.nanoTime(),
              kind,
              attributed,
              code,
              vendorError,
              value,
              text);
      events.addLast(event);
      if (events.size() > MAX_EVENTS) {
        events.removeFirst();
      }
      count(event);
      record(event);
      append(JournalLayout.TYPE_EVENT, JournalCodec.bytes(event));
      wake = waker;
    }
    wake.run();
  }

  private EventSubject attribute(EventKind kind, EventSubject subject) {
    if (subject.queuePair() == 0) {
      if (kind == EventKind.CONNECTION_CLOSED || kind == EventKind.CONNECTION_LOST) {
        owners.values().removeIf(owner -> owner.connection() == subject.connection());
      }
      return subject;
    }
    QueuePair queuePair = new QueuePair(subject.device(), subject.queuePair());
    switch (kind) {
      case CONNECTION_OPENED, PATH_MOVED -> owners.put(queuePair, subject);
      case CONNECTION_CLOSED, CONNECTION_LOST, PATH_LOST, PATH_LEFT ->
          owners.computeIfPresent(
              queuePair, (key, owner) -> owner.connection() == subject.connection() ? null : owner);
      default -> {
        EventSubject owner = owners.get(queuePair);
        if (owner != null && subject.connection() == 0) {
          return subject.of(owner.connection(), owner.peer());
        }
      }
    }
    return subject;
  }

  private void count(Event event) {
    EventKind kind = event.kind();
    eventCounts.merge(kind, 1L, Long::sum);
    if (!kind.isDeviceEvent()) {
      return;
    }
    Port port = new Port(event.subject().device(), event.subject().port());
    deviceEventCounts.merge(new DeviceKind(port, kind), 1L, Long::sum);
    if (kind == EventKind.PORT_ACTIVE || kind == EventKind.PORT_ERR) {
      portActive.put(port, kind == EventKind.PORT_ACTIVE);
    }
  }

  private static void record(Event event) {
    if (JournalEvent.isOn()) {
      JournalEvent.record(
          label(event.kind()),
          event.kind().severity().name(),
          event.subject().connection(),
          event.subject().peer(),
          event.subject().device(),
          event.subject().port(),
          event.text());
    }
  }

  private static void record(Incident incident) {
    if (IncidentEvent.isOn()) {
      IncidentEvent.record(
          incident.id(),
          incident.revision(),
          incident.state().name(),
          causeLabel(incident),
          incident.connections().size(),
          incident.flushedRequests(),
          incident.headline());
    }
  }

  /** A file that fails is left: trouble with a disk must not become trouble with messages. */
  private void append(short type, byte[] record) {
    JournalFile to = file;
    if (to == null) {
      return;
    }
    try {
      to.append(type, record);
    } catch (RuntimeException | InternalError e) {
      // The JVM throws InternalError for a mapped page that is gone: the file was cut short.
      fileFailures++;
      file = null;
      LOG.log(Level.WARNING, "the journal " + path + " is not written any more", e);
      closeQuietly(to);
    }
  }

  private void closeQuietly(JournalFile old) {
    try {
      old.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "closing the journal " + path + " failed", e);
    }
  }

  /**
   * Keeps a picture of an incident and tells the listeners. For the one thread that groups events.
   */
  public void publish(Incident incident) {
    synchronized (lock) {
      Incident before = incidents.put(incident.id(), incident);
      if (before == null && incidents.size() > MAX_INCIDENTS) {
        incidents.remove(incidents.keySet().iterator().next());
      }
      if (incident.state() == Incident.State.CLOSED) {
        incidentCounts.merge(causeLabel(incident), 1L, Long::sum);
      }
      append(JournalLayout.TYPE_INCIDENT, JournalCodec.bytes(incident));
    }
    record(incident);
    for (IncidentListener listener : listeners) {
      try {
        listener.onIncident(incident);
      } catch (RuntimeException e) {
        synchronized (lock) {
          listenerFailures++;
        }
        LOG.log(Level.ERROR, "an incident listener threw", e);
      }
    }
  }

  private static String causeLabel(Incident incident) {
    return incident.cause().map(Cause::id).orElse(UNKNOWN_CAUSE);
  }

  /** Returns the events in memory, oldest first. */
  public List<Event> events() {
    synchronized (lock) {
      return List.copyOf(events);
    }
  }

  /**
   * Returns the events in memory with a higher number.
   *
   * @param afterSequence number of the last one known
   */
  public List<Event> eventsAfter(long afterSequence) {
    synchronized (lock) {
      if (sequence <= afterSequence) {
        return List.of();
      }
      List<Event> later = new ArrayList<>();
      for (Event event : events) {
        if (event.sequence() > afterSequence) {
          later.add(event);
        }
      }
      return later;
    }
  }

  /** Returns the number of the latest event, 0 before the first. */
  public long lastSequence() {
    synchronized (lock) {
      return sequence;
    }
  }

  /** Returns the latest picture of each incident in memory, oldest first. */
  public List<Incident> incidents() {
    synchronized (lock) {
      return List.copyOf(incidents.values());
    }
  }

  /** Has a listener called from now on, until the result is closed. */
  public StatusRegistry.Registration listen(IncidentListener listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /** Sets what is run behind each event, on the thread that emitted it: short, and never fails. */
  public void wakeWith(Runnable action) {
    synchronized (lock) {
      waker = action;
    }
  }

  @Override
  public List<MetricDescriptor> descriptors() {
    return List.of(
        EVENTS,
        DEVICE_EVENTS,
        PORT_ACTIVE,
        INCIDENTS,
        INCIDENTS_OPEN,
        FILE_FAILURES,
        LISTENER_FAILURES);
  }

  @Override
  public void collect(Sink sink) {
    synchronized (lock) {
      for (EventKind kind : EventKind.values()) {
        sink.add(EVENTS, eventCounts.getOrDefault(kind, 0L), label(kind));
      }
      deviceEventCounts.forEach(
          (key, count) ->
              sink.add(
                  DEVICE_EVENTS,
                  count,
                  key.port.device,
                  Integer.toString(key.port.port),
                  label(key.kind)));
      portActive.forEach(
          (port, active) ->
              sink.add(PORT_ACTIVE, active ? 1 : 0, port.device, Integer.toString(port.port)));
      incidentCounts.forEach((cause, count) -> sink.add(INCIDENTS, count, cause));
      Map<String, Long> open = new TreeMap<>();
      incidentCounts.keySet().forEach(cause -> open.put(cause, 0L));
      incidents.values().stream()
          .filter(incident -> incident.state() == Incident.State.OPEN)
          .forEach(incident -> open.merge(causeLabel(incident), 1L, Long::sum));
      open.forEach((cause, count) -> sink.add(INCIDENTS_OPEN, count, cause));
      sink.add(FILE_FAILURES, fileFailures);
      sink.add(LISTENER_FAILURES, listenerFailures);
    }
  }

  private static String label(EventKind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  /** Closes the file. What is in memory stays, and events are still taken. */
  @Override
  public void close() throws IOException {
    synchronized (lock) {
      JournalFile open = file;
      file = null;
      if (open != null) {
        open.close();
      }
    }
  }
}
