package io.rdma4j.diagnosis;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.concurrent.Threads;
import io.rdma4j.host.HostReport;
import io.rdma4j.status.Cause;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventKind.Severity;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Watches a node on a thread of its own: groups the events of its journal into incidents, finds
 * their causes, and looks for symptoms while nothing has failed.
 *
 * <pre>
 *  event, trouble     opens an incident; listeners hear of it once counters are read, or 100 ms
 *                     later when a device does not answer
 *  event, related     joins; listeners hear of it, at most ten times a second
 *  1 s after the first event    counters again; its one line goes into the log
 *  5 s after the last event     counters again; it is closed
 * </pre>
 *
 * <p>An event and a reading wake the thread, and it sleeps no longer than until the next of these
 * moments: no period is between a fault and a listener.
 *
 * <p>Any thread may call what is public. Listeners of the journal run on the watch's thread.
 */
public final class Watch implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Watch.class.getName());
  private static final long MS = 1_000_000L;

  /** How often counters are read while nothing happens: some tens of files of each port. */
  private static final long SAMPLE_NS = 1000 * MS;

  /**
   * How long the thread sleeps when there is nothing to do; what it sleeps longer, the process did
   * not run.
   */
  private static final long NAP_NS = 50 * MS;

  /** Windows of symptoms, and how far back from an incident its counters go. */
  private static final long WINDOW_NS = 10_000 * MS;

  /** A reading as young as this need not be made again. */
  private static final long FRESH_NS = 20 * MS;

  /** How long a new picture of an incident waits for a reading. */
  private static final long PATIENCE_NS = 100 * MS;

  private static final long REVISE_NS = 100 * MS;
  private static final long SETTLED_NS = 1000 * MS;

  /** A line that could not name a cause waits for so long, since the peer's word may have it. */
  private static final long UNKNOWN_SETTLED_NS = 3000 * MS;

  private static final long QUIET_NS = 5000 * MS;

  /** An incident that never gets quiet is closed all the same, and another one opened. */
  private static final long LONGEST_NS = 60_000 * MS;

  /** How long a symptom must be gone before it is told again. */
  private static final long SYMPTOM_GONE_NS = 30_000 * MS;

  private static final int MAX_OPEN = 64;

  private static final int MAX_RECENT = 256;
  private static final long CLOSE_TIMEOUT_NS = 1000 * MS;

  private final EventJournal journal;
  private final Consumer<Facts.Builder> applicationFacts;
  private final NanoClock clock;
  private final HostReader host;
  private final LongConsumer sleep;
  private final RootCauses causes = RootCauses.builtIn();
  private final Queue<Account> asked = new ConcurrentLinkedQueue<>();
  private @Nullable Thread thread;
  private volatile boolean running = true;

  /** Something has come since the last duty cycle began. */
  private volatile boolean woken;

  // The watch's thread alone from here on.
  private final CounterHistory counters = new CounterHistory();
  private final List<OpenIncident> open = new ArrayList<>();
  private final ArrayDeque<Event> recent = new ArrayDeque<>();
  private final Pauses pauses = new Pauses();
  private final IncidentLog log;
  private final List<Account> accounts = new ArrayList<>();
  private final Map<String, Long> symptomsSeenNs = new HashMap<>();
  private @Nullable HostReport settings;
  private long lastSequence;
  private long requestedNs;
  private long readNs;

  /**
   * Prepares a watch.
   *
   * @param applicationFacts adds what the node measures of itself; called on the watch's thread
   * @param clock the journal's
   */
  public Watch(EventJournal journal, Consumer<Facts.Builder> applicationFacts, NanoClock clock) {
    this(journal, applicationFacts, clock, HostSource.at(Path.of("/")), LockSupport::parkNanos);
  }

  /**
   * Prepares a watch of another machine, or of one that misbehaves.
   *
   * @param sleep sleeps so many nanoseconds, or until the thread is unparked
   */
  Watch(
      EventJournal journal,
      Consumer<Facts.Builder> applicationFacts,
      NanoClock clock,
      HostSource source,
      LongConsumer sleep) {
    this.journal = journal;
    this.applicationFacts = applicationFacts;
    this.clock = clock;
    this.host = new HostReader(source, clock);
    this.sleep = sleep;
    requestedNs = clock.nanoTime() - SAMPLE_NS;
    readNs = requestedNs;
    log = new IncidentLog(requestedNs);
  }

  /** Starts the threads: this one, and one that reads the machine. */
  public void start(String threadName) {
    Thread started = Thread.ofPlatform().name(threadName).daemon(true).unstarted(this::run);
    thread = started;
    host.start(threadName + "-reader", this::wake);
    journal.wakeWith(this::wake);
    started.start();
  }

  private void run() {
    while (running) {
      woken = false;
      try {
        step(clock.nanoTime());
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "the watch caught an unexpected failure and goes on", e);
      }
      if (!woken) {
        long startNs = clock.nanoTime();
        long sleepNs = untilNextNs(startNs);
        sleep.accept(sleepNs);
        pauses.woke(startNs + sleepNs, clock.nanoTime());
      }
    }
  }

  /**
   * Ends the sleep of the thread, or has it not begin. Any thread. A thread that parks somewhere
   * else, as one that waits for a listener's lock does, uses up what unpark gives it.
   */
  private void wake() {
    woken = true;
    LockSupport.unpark(thread);
  }

  /** Returns how long there is nothing to do unless somebody wakes the thread. */
  private long untilNextNs(long nowNs) {
    long untilNs = Math.min(NAP_NS, requestedNs + SAMPLE_NS - nowNs);
    for (OpenIncident incident : open) {
      untilNs = Math.min(untilNs, nextNs(incident) - nowNs);
    }
    for (Account account : accounts) {
      untilNs = Math.min(untilNs, account.askedNs + PATIENCE_NS - nowNs);
    }
    return Math.max(untilNs, MS);
  }

  private static long nextNs(OpenIncident incident) {
    if (incident.awaitsCounters) {
      return incident.askedNs + PATIENCE_NS;
    }
    return incident.changed
        ? Math.min(incident.dueNs, incident.publishedNs() + REVISE_NS)
        : incident.dueNs;
  }

  /** One duty cycle. */
  void step(long nowNs) {
    takeEvents();
    for (Account account; (account = asked.poll()) != null; ) {
      account.askedNs = nowNs;
      accounts.add(account);
      requestUnlessFresh(nowNs);
    }
    if (nowNs - requestedNs >= SAMPLE_NS) {
      requestedNs = nowNs;
      host.request();
    }
    if (takeReading()) {
      lookForSymptoms(nowNs);
      takeEvents();
    }
    for (OpenIncident incident : List.copyOf(open)) {
      if (incident.changed || incident.awaitsCounters || nowNs - incident.dueNs >= 0) {
        revise(incident, nowNs);
      }
    }
    answer(nowNs);
  }

  private void requestUnlessFresh(long nowNs) {
    if (readNs - (nowNs - FRESH_NS) < 0) {
      host.request();
    }
  }

  /** Returns whether there was a new one. */
  private boolean takeReading() {
    HostReader.Reading reading = host.take();
    if (reading == null) {
      return false;
    }
    readNs = reading.monotonicNs();
    settings = reading.settings();
    counters.add(readNs, reading.wallNs(), reading.ports());
    return true;
  }

  /** Whether counters were read lately, or would have been by a device that answers. */
  private boolean hasCounters(long askedNs, long nowNs) {
    return readNs - (askedNs - FRESH_NS) >= 0 || nowNs - askedNs >= PATIENCE_NS;
  }

  private static long wallNs() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  // ---- grouping ---------------------------------------------------------------------------------

  private void takeEvents() {
    for (Event event : journal.eventsAfter(lastSequence)) {
      lastSequence = event.sequence();
      take(event);
      recent.addLast(event);
      if (recent.size() > MAX_RECENT) {
        recent.removeFirst();
      }
    }
  }

  private void take(Event event) {
    if (isNormal(event.kind())) {
      return;
    }
    if (changesSettings(event.kind())) {
      host.outdateSettings();
    }
    List<OpenIncident> going =
        open.stream().filter(i -> event.monotonicNs() - i.lastNs() <= QUIET_NS).toList();
    List<OpenIncident> concerned = going.stream().filter(i -> i.concerns(event)).toList();
    if (concerned.isEmpty()) {
      concerned = going.stream().filter(i -> i.mayConcern(event)).limit(1).toList();
    }
    if (concerned.isEmpty()) {
      if (event.kind().severity() != Severity.INFO) {
        begin(event);
      }
      return;
    }
    if (hasNoSubject(event)) {
      concerned.getLast().join(event); // what incidents share is no more than a port
      return;
    }
    OpenIncident first = concerned.getFirst();
    first.join(event);
    // An event of a port or device shows that incidents of its connections are one.
    for (OpenIncident other : concerned.subList(1, concerned.size())) {
      first.absorb(other);
      open.remove(other);
      publish(other, Incident.State.MERGED, List.of(), clock.nanoTime());
    }
  }

  /** Whether an event is about some object of a device, or none, and it can not be said which. */
  private static boolean hasNoSubject(Event event) {
    return event.subject().connection() == 0
        && switch (event.kind()) {
          case CQ_ERR, QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, PATH_MIG, PATH_MIG_ERR -> true;
          case QP_LAST_WQE_REACHED, UNKNOWN_DEVICE_EVENT, SYMPTOM -> true;
          default -> false;
        };
  }

  /** What is no part of any trouble. */
  private static boolean isNormal(EventKind kind) {
    return switch (kind) {
      case CONNECTION_OPENED, CONNECTION_CLOSED, COMM_EST, SQ_DRAINED, JOURNAL_OPENED -> true;
      default -> false;
    };
  }

  /** After a flap the address of a port may be at another index of its table. */
  private static boolean changesSettings(EventKind kind) {
    return switch (kind) {
      case PORT_ACTIVE, PORT_ERR, GID_CHANGE, LID_CHANGE, PKEY_CHANGE, CM_ADDR_CHANGE -> true;
      default -> false;
    };
  }

  private void begin(Event event) {
    if (open.size() == MAX_OPEN) {
      close(open.getFirst(), clock.nanoTime());
    }
    OpenIncident incident = new OpenIncident(event);
    // What came just before and was no trouble by itself may explain it.
    List<Event> before =
        recent.stream()
            .filter(
                e ->
                    event.monotonicNs() - e.monotonicNs() <= WINDOW_NS
                        && e.kind().severity() == Severity.INFO
                        && !isNormal(e.kind())
                        && incident.concerns(e))
            .toList();
    before.forEach(incident::join);
    incident.sortEvents();
    open.add(incident);
  }

  // ---- incidents --------------------------------------------------------------------------------

  private void revise(OpenIncident incident, long nowNs) {
    long ageNs = nowNs - incident.openedNs();
    boolean settled = ageNs >= SETTLED_NS;
    boolean ends = nowNs - incident.lastNs() >= QUIET_NS || ageNs >= LONGEST_NS;
    boolean first = incident.pictures() == 0;
    boolean due = first || nowNs - incident.dueNs >= 0;
    if (!due && nowNs - incident.publishedNs() < REVISE_NS) {
      return;
    }
    if ((first || ends || (settled && !incident.logged)) && !awaitCounters(incident, nowNs)) {
      return;
    }
    if (ends) {
      close(incident, nowNs);
      return;
    }
    Incident picture = publish(incident, Incident.State.OPEN, diagnose(incident), nowNs);
    boolean told = settled && (picture.cause().isPresent() || ageNs >= UNKNOWN_SETTLED_NS);
    if (told) {
      log.write(incident, picture, nowNs);
    }
    long settlesNs = settled ? UNKNOWN_SETTLED_NS : SETTLED_NS;
    incident.dueNs = told ? incident.lastNs() + QUIET_NS : incident.openedNs() + settlesNs;
  }

  /** Asks for counters; returns whether they are there, or have been waited for long enough. */
  private boolean awaitCounters(OpenIncident incident, long nowNs) {
    if (!incident.awaitsCounters) {
      incident.awaitsCounters = true;
      incident.askedNs = nowNs;
      requestUnlessFresh(nowNs);
      takeReading();
    }
    incident.awaitsCounters = !hasCounters(incident.askedNs, nowNs);
    return !incident.awaitsCounters;
  }

  private void close(OpenIncident incident, long nowNs) {
    open.remove(incident);
    Incident last = publish(incident, Incident.State.CLOSED, diagnose(incident), nowNs);
    log.write(incident, last, nowNs);
  }

  private List<Cause> diagnose(OpenIncident incident) {
    return causes.of(facts(incident).build());
  }

  private Facts.Builder facts(OpenIncident incident) {
    Facts.Builder facts = facts(incident.devices(), incident.openedNs() - WINDOW_NS);
    incident.addTo(facts);
    return facts;
  }

  private Facts.Builder facts(Collection<String> devices, long fromNs) {
    Facts.Builder facts = new Facts.Builder();
    counters.deltas(fromNs, devices).forEach(delta -> FactSources.add(facts, delta));
    if (!devices.isEmpty()) {
      addSettings(facts, devices.iterator().next());
    }
    addOwn(facts);
    return facts;
  }

  private void addSettings(Facts.Builder facts, String device) {
    HostReport known = settings;
    if (known != null) {
      HostFacts.add(facts, known, device);
    }
  }

  private void addOwn(Facts.Builder facts) {
    facts.set("app.pause_ms", (double) pauses.longestMs());
    applicationFacts.accept(facts);
  }

  private Incident publish(
      OpenIncident incident, Incident.State state, List<Cause> found, long nowNs) {
    Incident picture =
        incident.picture(
            state,
            wallNs(),
            nowNs,
            found,
            counters.windows(incident.openedNs() - WINDOW_NS, incident.devices()));
    journal.publish(picture);
    return picture;
  }

  // ---- symptoms ---------------------------------------------------------------------------------

  /** Looks at the last ten seconds of each device, and of the process. */
  private void lookForSymptoms(long nowNs) {
    for (String device : counters.devices()) {
      Facts.Builder facts = new Facts.Builder();
      counters.deltas(nowNs - WINDOW_NS, Set.of(device)).forEach(d -> FactSources.add(facts, d));
      addSettings(facts, device);
      tell(causes.symptoms(facts.build()), EventSubject.device(device, 0), nowNs);
    }
    Facts.Builder own = new Facts.Builder();
    addOwn(own);
    tell(causes.symptoms(own.build()), EventSubject.NONE, nowNs);
  }

  private void tell(List<Cause> found, EventSubject subject, long nowNs) {
    for (Cause cause : found) {
      String key = subject.device() + "/" + cause.id();
      Long seenNs = symptomsSeenNs.put(key, nowNs);
      boolean isNew = seenNs == null || nowNs - seenNs > SYMPTOM_GONE_NS;
      if (isNew && !isPartOfOpen(subject)) {
        String evidence = String.join(", ", cause.evidence());
        journal.emit(EventKind.SYMPTOM, subject, cause.title() + ": " + evidence);
      }
    }
  }

  /** An incident that goes on has its causes from the same counters. */
  private boolean isPartOfOpen(EventSubject subject) {
    return open.stream()
        .anyMatch(i -> subject.device().isEmpty() || i.devices().contains(subject.device()));
  }

  // ---- for the peer -----------------------------------------------------------------------------

  /** Somebody who waits for what this end saw. */
  private static final class Account {
    private final EventSubject subject;
    private final Consumer<String> then;
    private long askedNs;

    private Account(EventSubject subject, Consumer<String> then) {
      this.subject = subject;
      this.then = then;
    }
  }

  /**
   * Tells what this end saw of a fault, for the peer of a connection, once counters are read.
   *
   * @param subject the connection's
   * @param then called on the watch's thread, for something short
   */
  public void digest(EventSubject subject, Consumer<String> then) {
    asked.add(new Account(subject, then));
    wake();
  }

  private void answer(long nowNs) {
    for (Account account : List.copyOf(accounts)) {
      if (hasCounters(account.askedNs, nowNs)) {
        accounts.remove(account);
        account.then.accept(digest(account.subject, nowNs));
      }
    }
  }

  private String digest(EventSubject subject, long nowNs) {
    Set<String> devices = subject.device().isEmpty() ? Set.of() : Set.of(subject.device());
    Facts.Builder facts = facts(devices, nowNs - WINDOW_NS);
    TreeSet<String> noted = new TreeSet<>();
    for (Event event : recent) {
      boolean related =
          event.subject().connection() == subject.connection()
              || (event.subject().connection() == 0
                  && event.kind().isDeviceEvent()
                  && event.subject().device().equals(subject.device())
                  && (event.subject().port() == 0 || event.subject().port() == subject.port()));
      if (related
          && nowNs - event.monotonicNs() <= WINDOW_NS
          && event.kind() != EventKind.PEER_DIGEST
          && !isNormal(event.kind())) {
        FactSources.add(facts, event, noted.add("first"));
      }
    }
    return FaultDigest.encode(facts.build().values());
  }

  /** Returns when the thread woke up late. */
  Pauses pauses() {
    return pauses;
  }

  /** Ends the thread; what is open is closed, and told. */
  @Override
  public void close() {
    running = false;
    Thread started = thread;
    if (started != null) {
      journal.wakeWith(() -> {});
      wake();
      if (!Threads.join(started, CLOSE_TIMEOUT_NS)) {
        host.close();
        LOG.log(Level.WARNING, "an incident listener does not return; the watch is left to it");
        return;
      }
    }
    host.close();
    long nowNs = clock.nanoTime();
    takeEvents();
    List.copyOf(open).forEach(incident -> close(incident, nowNs));
  }
}
