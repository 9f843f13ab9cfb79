package io.rdma4j.diagnosis;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.concurrent.Threads;
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
import org.jspecify.annotations.Nullable;

/**
 * Watches a node on a thread of its own: groups the events of its journal into incidents, finds
 * their causes, reads counters, and looks for symptoms while nothing has failed.
 *
 * <pre>
 *  event, trouble     opens an incident; counters are read, listeners hear of it at once
 *  event, related     joins; listeners hear of it, at most ten times a second
 *  1 s after the first event    counters again; its one line goes into the log
 *  5 s after the last event     counters again; it is closed
 * </pre>
 *
 * <p>Any thread may call what is public. Listeners of the journal run on the watch's thread.
 */
public final class Watch implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Watch.class.getName());
  private static final long MS = 1_000_000L;

  /** How often counters are read while nothing happens: some tens of files of each port. */
  private static final long SAMPLE_NS = 1000 * MS;

  /** How long the thread sleeps; what it sleeps longer, the process did not run. */
  private static final long NAP_NS = 50 * MS;

  /** Windows of symptoms, and how far back from an incident its counters go. */
  private static final long WINDOW_NS = 10_000 * MS;

  /** A reading as young as this need not be made again. */
  private static final long FRESH_NS = 20 * MS;

  private static final long REVISE_NS = 100 * MS;
  private static final long SETTLED_NS = 1000 * MS;
  private static final long QUIET_NS = 5000 * MS;

  /** An incident that never gets quiet is closed all the same, and another one opened. */
  private static final long LONGEST_NS = 60_000 * MS;

  /** How long a symptom must be gone before it is told again. */
  private static final long SYMPTOM_GONE_NS = 30_000 * MS;

  private static final int MAX_OPEN = 64;

  /** Lines of the log in ten seconds. */
  private static final int MAX_LINES = 20;

  private static final int MAX_RECENT = 256;
  private static final long CLOSE_TIMEOUT_NS = 1000 * MS;

  private final EventJournal journal;
  private final Consumer<Facts.Builder> applicationFacts;
  private final NanoClock clock;
  private final HostFacts host;
  private final RootCauses causes = RootCauses.builtIn();
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private @Nullable Thread thread;
  private volatile boolean running = true;

  // The watch's thread alone from here on.
  private final CounterHistory counters = new CounterHistory();
  private final List<OpenIncident> open = new ArrayList<>();
  private final ArrayDeque<Event> recent = new ArrayDeque<>();
  private final ArrayDeque<long[]> pauses = new ArrayDeque<>();
  private final Map<String, Long> symptomsSeenNs = new HashMap<>();
  private long lastSequence;
  private long sampledNs;
  private long logWindowNs;
  private int lines;
  private long linesLeftOut;

  /**
   * Prepares a watch.
   *
   * @param applicationFacts adds what the node measures of itself; called on the watch's thread
   * @param clock the journal's
   */
  public Watch(EventJournal journal, Consumer<Facts.Builder> applicationFacts, NanoClock clock) {
    this(journal, applicationFacts, clock, Path.of("/"));
  }

  /** Prepares a watch of the machine, or of the copied tree, at {@code root}. */
  Watch(
      EventJournal journal, Consumer<Facts.Builder> applicationFacts, NanoClock clock, Path root) {
    this.journal = journal;
    this.applicationFacts = applicationFacts;
    this.clock = clock;
    this.host = new HostFacts(root);
    sampledNs = clock.nanoTime() - SAMPLE_NS;
    logWindowNs = sampledNs;
  }

  /** Starts the thread. */
  public void start(String threadName) {
    Thread started = Thread.ofPlatform().name(threadName).daemon(true).unstarted(this::run);
    thread = started;
    journal.wakeWith(() -> LockSupport.unpark(started));
    started.start();
  }

  /** Has something short done on the watch's thread. */
  public void execute(Runnable task) {
    tasks.add(task);
    LockSupport.unpark(thread);
  }

  private void run() {
    while (running) {
      try {
        step(clock.nanoTime());
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "the watch caught an unexpected failure and goes on", e);
      }
      long startNs = clock.nanoTime();
      LockSupport.parkNanos(this, NAP_NS);
      noteNap(startNs, clock.nanoTime());
    }
  }

  /** Notes when the process did not run. */
  void noteNap(long startNs, long endNs) {
    long pauseMs = (endNs - startNs - NAP_NS) / MS;
    if (pauseMs > 0) {
      pauses.addLast(new long[] {endNs, pauseMs});
    }
    while (!pauses.isEmpty() && endNs - pauses.getFirst()[0] > WINDOW_NS) {
      pauses.removeFirst();
    }
  }

  /** One duty cycle. */
  void step(long nowNs) {
    for (Runnable task; (task = tasks.poll()) != null; ) {
      task.run();
    }
    takeEvents();
    if (nowNs - sampledNs >= SAMPLE_NS) {
      sample(nowNs);
      lookForSymptoms(nowNs);
      takeEvents();
    }
    for (OpenIncident incident : List.copyOf(open)) {
      if (incident.changed || nowNs - incident.dueNs >= 0) {
        revise(incident, nowNs);
      }
    }
  }

  private void sample(long nowNs) {
    if (nowNs - sampledNs < FRESH_NS) {
      return;
    }
    sampledNs = nowNs;
    counters.add(nowNs, wallNs(), host.counters());
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
    List<OpenIncident> concerned =
        open.stream()
            .filter(i -> event.monotonicNs() - i.lastNs() <= QUIET_NS && i.concerns(event))
            .toList();
    if (concerned.isEmpty()) {
      if (event.kind().severity() != Severity.INFO) {
        begin(event);
      }
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

  /** What is no part of any trouble. */
  private static boolean isNormal(EventKind kind) {
    return switch (kind) {
      case CONNECTION_OPENED, CONNECTION_CLOSED, COMM_EST, SQ_DRAINED, JOURNAL_OPENED -> true;
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
    boolean quiet = nowNs - incident.lastNs() >= QUIET_NS || ageNs >= LONGEST_NS;
    if (quiet) {
      close(incident, nowNs);
      return;
    }
    boolean due = incident.pictures() == 0 || nowNs - incident.dueNs >= 0;
    if (!due && nowNs - incident.publishedNs() < REVISE_NS) {
      return;
    }
    boolean settled = ageNs >= SETTLED_NS;
    if (incident.pictures() == 0 || (settled && !incident.logged)) {
      sample(nowNs);
    }
    Incident picture = publish(incident, Incident.State.OPEN, diagnose(incident, nowNs), nowNs);
    if (settled) {
      log(incident, picture, nowNs);
    }
    incident.dueNs = settled ? incident.lastNs() + QUIET_NS : incident.openedNs() + SETTLED_NS;
  }

  private void close(OpenIncident incident, long nowNs) {
    sample(nowNs);
    open.remove(incident);
    Incident last = publish(incident, Incident.State.CLOSED, diagnose(incident, nowNs), nowNs);
    log(incident, last, nowNs);
  }

  private List<Cause> diagnose(OpenIncident incident, long nowNs) {
    return causes.of(facts(incident, nowNs).build());
  }

  private Facts.Builder facts(OpenIncident incident, long nowNs) {
    Facts.Builder facts = facts(incident.devices(), incident.openedNs() - WINDOW_NS, nowNs);
    incident.addTo(facts);
    return facts;
  }

  private Facts.Builder facts(Collection<String> devices, long fromNs, long nowNs) {
    Facts.Builder facts = new Facts.Builder();
    counters.deltas(fromNs, devices).forEach(delta -> FactSources.add(facts, delta));
    if (!devices.isEmpty() && !counters.devices().isEmpty()) {
      host.addTo(facts, devices.iterator().next(), nowNs);
    }
    addOwn(facts);
    return facts;
  }

  private void addOwn(Facts.Builder facts) {
    long longestMs = 0;
    for (long[] pause : pauses) {
      longestMs = Math.max(longestMs, pause[1]);
    }
    facts.set("app.pause_ms", (double) longestMs);
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

  /** One line for an incident, and in a storm no more than some of them. */
  private void log(OpenIncident incident, Incident picture, long nowNs) {
    if (incident.logged) {
      return;
    }
    incident.logged = true;
    if (nowNs - logWindowNs >= WINDOW_NS) {
      if (linesLeftOut > 0) {
        LOG.log(Level.WARNING, linesLeftOut + " more incidents are in the journal");
      }
      logWindowNs = nowNs;
      lines = 0;
      linesLeftOut = 0;
    }
    lines++;
    if (lines > MAX_LINES) {
      linesLeftOut++;
      return;
    }
    Severity worst =
        picture.events().stream()
            .map(event -> event.kind().severity())
            .max(Severity::compareTo)
            .orElse(Severity.WARNING);
    LOG.log(worst == Severity.ERROR ? Level.ERROR : Level.WARNING, picture.headline());
  }

  // ---- symptoms ---------------------------------------------------------------------------------

  /** Looks at the last ten seconds of each device, and of the process. */
  private void lookForSymptoms(long nowNs) {
    for (String device : counters.devices()) {
      Facts.Builder facts = new Facts.Builder();
      counters.deltas(nowNs - WINDOW_NS, Set.of(device)).forEach(d -> FactSources.add(facts, d));
      host.addTo(facts, device, nowNs);
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

  /**
   * Returns what this end saw of a fault, for the peer of a connection. On the watch's thread.
   *
   * @param subject the connection's
   */
  public String digest(EventSubject subject) {
    long nowNs = clock.nanoTime();
    takeEvents();
    sample(nowNs);
    Set<String> devices = subject.device().isEmpty() ? Set.of() : Set.of(subject.device());
    Facts.Builder facts = facts(devices, nowNs - WINDOW_NS, nowNs);
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

  /** Ends the thread; what is open is closed, and told. */
  @Override
  public void close() {
    running = false;
    Thread started = thread;
    if (started != null) {
      journal.wakeWith(() -> {});
      LockSupport.unpark(started);
      if (!Threads.join(started, CLOSE_TIMEOUT_NS)) {
        LOG.log(Level.WARNING, "an incident listener does not return; the watch is left to it");
        return;
      }
    }
    long nowNs = clock.nanoTime();
    takeEvents();
    List.copyOf(open).forEach(incident -> close(incident, nowNs));
  }
}
