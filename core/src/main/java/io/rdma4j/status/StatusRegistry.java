package io.rdma4j.status;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;

import io.rdma4j.Rdma4jException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Where sources of metrics and of tables register, and where a reader gets all of them.
 *
 * <p>Thread-safe. Snapshots may run at the same time, and while sources come and go. The registry
 * holds its sources strongly until their registrations are closed.
 *
 * <p>A source that throws is missing in that snapshot; the others are not. The failure shows: in
 * {@code rdma4j_status_source_failures_total}, and as {@link StatusSnapshot#lastFailure}.
 */
public final class StatusRegistry {
  /** Ends the membership of a source. */
  public interface Registration extends AutoCloseable {
    /**
     * Takes the source out, and waits for a {@link MetricSource#collect} that runs: once this
     * returns, the source is not called again and may give back what it reads. Closing twice is
     * harmless.
     */
    @Override
    void close();
  }

  private static final MetricDescriptor SOURCES =
      gauge("rdma4j_status_sources", "Sources of metrics that are registered.");
  private static final MetricDescriptor FAILURES =
      counter(
          "rdma4j_status_source_failures_total",
          "Times a source of metrics failed and was left out of a snapshot.");

  private static final StatusRegistry GLOBAL = new StatusRegistry();

  private final Object registrationLock = new Object();
  private final AtomicLong failures = new AtomicLong();
  private final Member own = new Member("status", new OwnMetrics());

  /** Copied on each change, so that a snapshot needs no lock that a source could wait for. */
  private volatile List<Member> members = List.of();

  private final Map<String, TableMember> tables = new ConcurrentSkipListMap<>();

  private volatile @Nullable String lastFailure;

  /** Creates a registry apart from the process-wide one. */
  public StatusRegistry() {}

  /** Returns the registry of the process, which parts use unless they are given another. */
  public static StatusRegistry global() {
    return GLOBAL;
  }

  /**
   * Registers a source.
   *
   * @param name names the source in reports of its failure, unique in the registry
   * @throws IllegalStateException when the name is taken, when the source is registered, or when it
   *     states a metric that another source states differently
   */
  public Registration register(String name, MetricSource source) {
    Member member = new Member(name, source);
    synchronized (registrationLock) {
      Map<String, MetricDescriptor> stated = new HashMap<>();
      own.claimNames(stated);
      for (Member other : members) {
        if (other.name.equals(name) || other.source.equals(source)) {
          throw new IllegalStateException(
              "source '%s' is registered, as '%s'; close that first, or choose another name"
                  .formatted(name, other.name));
        }
        other.claimNames(stated);
      }
      member.claimNames(stated);
      List<Member> more = new ArrayList<>(members);
      more.add(member);
      members = List.copyOf(more);
    }
    return member;
  }

  /**
   * Registers the source of a table.
   *
   * @throws IllegalStateException when there is a table of that name
   */
  public Registration register(TableSource source) {
    TableMember member = new TableMember(source);
    TableMember other = tables.putIfAbsent(member.descriptor.name(), member);
    if (other != null) {
      throw new IllegalStateException(
          "table '%s' is registered, by %s; close that first, or choose another name"
              .formatted(member.descriptor.name(), other.source));
    }
    return member;
  }

  /** Returns what the tables show that there are now, by name. */
  public List<TableDescriptor> tables() {
    return tables.values().stream().map(member -> member.descriptor).toList();
  }

  /**
   * Reads a table.
   *
   * @param maxRows rows to return at most; the others are counted
   * @return empty when there is no table of that name
   * @throws Rdma4jException when its source fails, which is counted as failures of sources are
   */
  public Optional<StatusTable> table(String name, int maxRows) {
    TableMember member = tables.get(name);
    if (member == null) {
      return Optional.empty();
    }
    try {
      return member.collect(maxRows);
    } catch (RuntimeException | Error e) {
      lastFailure = "table '" + name + "': " + e;
      failures.incrementAndGet();
      throw new Rdma4jException("table '" + name + "' could not be read: " + e, e);
    }
  }

  /**
   * Returns what the metrics mean that sources have stated, the registry's own included, by name.
   */
  public List<MetricDescriptor> descriptors() {
    return Stream.concat(members.stream(), Stream.of(own))
        .flatMap(member -> member.descriptors.stream())
        .distinct()
        .sorted(Comparator.comparing(MetricDescriptor::name))
        .toList();
  }

  /** Collects every source. The registry's own metrics come last, so they tell of this snapshot. */
  public StatusSnapshot snapshot() {
    Map<Series, Metric> all = new LinkedHashMap<>();
    for (Member member : members) {
      collect(member, all);
    }
    collect(own, all);
    return new StatusSnapshot(List.copyOf(all.values()), lastFailure);
  }

  private void collect(Member member, Map<Series, Metric> all) {
    try {
      all.putAll(member.collect(all.keySet()));
    } catch (Throwable e) {
      lastFailure = "source '" + member.name + "': " + e;
      failures.incrementAndGet();
    }
  }

  private void remove(Member member) {
    synchronized (registrationLock) {
      members = members.stream().filter(m -> m != member).toList();
    }
  }

  /** What no two samples of a snapshot may share. */
  private record Series(String name, List<String> labelValues) {}

  private final class OwnMetrics implements MetricSource {
    @Override
    public List<MetricDescriptor> descriptors() {
      return List.of(SOURCES, FAILURES);
    }

    @Override
    public void collect(Sink sink) {
      sink.add(SOURCES, members.size());
      sink.add(FAILURES, failures.get());
    }
  }

  /** A source in the registry. Its lock is held while it is collected. */
  private final class Member implements Registration {
    private final String name;
    private final MetricSource source;
    private final Set<MetricDescriptor> descriptors;
    private boolean closed;

    Member(String name, MetricSource source) {
      this.name = name;
      this.source = source;
      this.descriptors = Set.copyOf(source.descriptors());
    }

    /** Several sources may state a metric, in the same words; their label values differ. */
    void claimNames(Map<String, MetricDescriptor> stated) {
      for (MetricDescriptor descriptor : descriptors) {
        claim(descriptor.family(), descriptor, stated);
        if (descriptor.alias() != null) {
          claim(descriptor.alias(), descriptor, stated);
        }
      }
    }

    private void claim(
        String word, MetricDescriptor descriptor, Map<String, MetricDescriptor> stated) {
      MetricDescriptor other = stated.putIfAbsent(word, descriptor);
      if (other != null && !other.equals(descriptor)) {
        throw new IllegalStateException(
            "source '%s' states %s, but '%s' is taken by %s; share one descriptor or rename"
                .formatted(name, descriptor, word, other));
      }
    }

    synchronized Map<Series, Metric> collect(Set<Series> taken) {
      if (closed) {
        return Map.of();
      }
      Collection samples = new Collection(descriptors, taken);
      try {
        source.collect(samples);
      } finally {
        samples.over = true;
      }
      return samples.metrics;
    }

    @Override
    public void close() {
      remove(this);
      synchronized (this) {
        closed = true;
      }
    }
  }

  /** The source of a table in the registry. Its lock is held while it is collected. */
  private final class TableMember implements Registration {
    private final TableSource source;
    private final TableDescriptor descriptor;
    private boolean closed;

    TableMember(TableSource source) {
      this.source = source;
      this.descriptor = source.table();
    }

    synchronized Optional<StatusTable> collect(int maxRows) {
      if (closed) {
        return Optional.empty();
      }
      StatusTable.Builder rows = new StatusTable.Builder(descriptor, maxRows);
      source.collect(rows);
      return Optional.of(rows.build());
    }

    @Override
    public void close() {
      tables.remove(descriptor.name(), this);
      synchronized (this) {
        closed = true;
      }
    }
  }

  /** The samples of one source, checked as they come. */
  private static final class Collection implements MetricSource.Sink {
    private final Set<MetricDescriptor> descriptors;
    private final Set<Series> taken;
    private final Map<Series, Metric> metrics = new LinkedHashMap<>();
    private boolean over;

    Collection(Set<MetricDescriptor> descriptors, Set<Series> taken) {
      this.descriptors = descriptors;
      this.taken = taken;
    }

    @Override
    public void add(MetricDescriptor descriptor, long amount, String... labelValues) {
      add(new Metric(descriptor, List.of(labelValues), new Metric.Whole(amount)));
    }

    @Override
    public void add(MetricDescriptor descriptor, double amount, String... labelValues) {
      add(new Metric(descriptor, List.of(labelValues), new Metric.Real(amount)));
    }

    @Override
    public void add(MetricDescriptor descriptor, Distribution value, String... labelValues) {
      add(new Metric(descriptor, List.of(labelValues), value));
    }

    private void add(Metric metric) {
      if (over) {
        throw new IllegalStateException(
            "metric '" + metric.name() + "': added when its collection was over");
      }
      if (!descriptors.contains(metric.descriptor())) {
        throw new IllegalArgumentException(
            "metric '" + metric.name() + "': not among the descriptors its source states");
      }
      Series series = new Series(metric.name(), metric.labelValues());
      if (taken.contains(series) || metrics.putIfAbsent(series, metric) != null) {
        throw new IllegalArgumentException(
            "metric '%s': a second sample with the label values %s"
                .formatted(metric.name(), metric.labelValues()));
      }
    }
  }
}
