package io.rdma4j.monitor;

import io.rdma4j.Rdma4jException;
import io.rdma4j.status.JsonText;
import io.rdma4j.status.StatusRegistry;
import io.rdma4j.status.TableDescriptor;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.StringJoiner;
import java.util.concurrent.locks.LockSupport;

/**
 * Looks at the registry once a second: for the charts, for the health, and for whoever follows
 * live, who hear of incidents without waiting for the second to end. Tables are read while somebody
 * follows.
 *
 * <p>Runs on a thread of its own; what it found may be read by any.
 */
final class Sampler implements AutoCloseable {
  private static final Logger LOG = System.getLogger(Sampler.class.getName());

  /** What the charts, and the count of seconds that the health looks back, are made for. */
  static final long PERIOD_NS = 1_000_000_000L;

  /** The least between news and what was sent before, so that a storm costs no more than this. */
  private static final long NEWS_NS = 100_000_000L;

  /** How far back the health looks, so that a look each ten seconds misses nothing. */
  private static final int HEALTH_SECONDS = 15;

  /** What pages draw from metrics; their rates are in the points, and the rest is in tables. */
  private static final String LIVE_METRICS =
      "rdma4j_pool_bytes,rdma4j_pool_slabs,rdma4j_port_signals_total";

  /** Rows of a table that a browser is sent each second. */
  private static final int LIVE_ROWS = 200;

  private final StatusRegistry registry;
  private final Incidents incidents;
  private final Runnable eachSecond;
  private final long periodNs;
  private final History history = new History();
  private final LiveFeed feed = new LiveFeed();
  private final Deque<Readings> recent = new ArrayDeque<>();
  private final Thread thread;
  private volatile Readings latest;
  private volatile Health health;
  private volatile boolean hasNews;
  private volatile boolean closed;

  /**
   * Takes the first sample.
   *
   * @param eachSecond something else to do each second
   * @param periodNs {@link #PERIOD_NS}, or less where its cost is to be measured in a short time
   */
  Sampler(StatusRegistry registry, Incidents incidents, Runnable eachSecond, long periodNs) {
    this.registry = registry;
    this.incidents = incidents;
    this.eachSecond = eachSecond;
    this.periodNs = periodNs;
    latest = read();
    recent.add(latest);
    health = Health.of(latest, latest).with(incidents.findings());
    thread = Thread.ofPlatform().name("rdma4j-monitor").daemon(true).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Has followers told what is new of incidents. Any thread. */
  void news() {
    hasNews = true;
    LockSupport.unpark(thread);
  }

  private void run() {
    long sentNs = System.nanoTime();
    long nextNs = sentNs + periodNs;
    while (!closed) {
      long nowNs = System.nanoTime();
      long leftNs = Math.min(nextNs - nowNs, hasNews ? sentNs + NEWS_NS - nowNs : PERIOD_NS);
      if (leftNs > 0) {
        LockSupport.parkNanos(this, leftNs);
        continue;
      }
      hasNews = false;
      boolean isDue = nowNs - nextNs >= 0;
      nextNs = isDue ? Math.max(nextNs + periodNs, nowNs) : nextNs;
      try {
        if (isDue) {
          sample();
          eachSecond.run();
        } else {
          tellNews();
        }
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "a sample failed; the next one comes in a second", e);
      }
      sentNs = System.nanoTime();
    }
  }

  private Readings read() {
    return Readings.of(registry.snapshot(), System.currentTimeMillis(), System.nanoTime());
  }

  private void sample() {
    Readings before = latest;
    Readings now = read();
    latest = now;
    recent.addLast(now);
    if (recent.size() > HEALTH_SECONDS) {
      recent.removeFirst();
    }
    Point point = Point.between(before, now);
    history.add(point);
    health = Health.of(recent.getFirst(), now).with(incidents.findings());
    if (feed.isFollowed()) {
      feed.publish(message(point.json(), now));
    }
  }

  /** What the incidents say alone: reading all the rest would keep it waiting. */
  private void tellNews() {
    health = Health.of(recent.getFirst(), latest).with(incidents.findings());
    if (feed.isFollowed()) {
      feed.publish(
          new StringJoiner(",", "{", "}")
              .add("\"health\":" + health.json())
              .add("\"incidents\":" + incidents.live())
              .toString());
    }
  }

  /**
   * Everything a page shows.
   *
   * @param points one of them, or a list
   */
  private String message(String points, Readings now) {
    return new StringJoiner(",", "{", "}")
        .add("\"points\":" + points)
        .add("\"health\":" + health.json())
        .add("\"snapshot\":" + JsonText.of(now.snapshot(), LIVE_METRICS))
        .add("\"tables\":" + tables())
        .add("\"incidents\":" + incidents.live())
        .toString();
  }

  private String tables() {
    StringJoiner tables = new StringJoiner(",", "{", "}");
    for (TableDescriptor table : registry.tables()) {
      try {
        registry
            .table(table.name(), LIVE_ROWS)
            .ifPresent(rows -> tables.add(JsonText.quote(table.name()) + ":" + rows.json()));
      } catch (Rdma4jException e) {
        // Counted by the registry, and one of the findings from the next sample on.
        LOG.log(Level.DEBUG, "left out of the live page", e);
      }
    }
    return tables.toString();
  }

  /** Returns what a page begins with: as each second, with all points so far. */
  String beginning() {
    return message(history.json(), latest);
  }

  History history() {
    return history;
  }

  LiveFeed feed() {
    return feed;
  }

  Health health() {
    return health;
  }

  @Override
  public void close() {
    closed = true;
    feed.close();
    LockSupport.unpark(thread);
    try {
      thread.join(10_000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
