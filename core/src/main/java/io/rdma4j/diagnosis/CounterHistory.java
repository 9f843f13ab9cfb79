package io.rdma4j.diagnosis;

import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.HostReport.Unreadable;
import io.rdma4j.host.PortCounters;
import io.rdma4j.status.CounterWindow;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The readings of the counters of the last minute. Watch thread only. */
final class CounterHistory {
  private static final int MAX_SAMPLES = 120;
  private static final long KEEP_NS = 60_000_000_000L;

  private record Sample(long monotonicNs, long wallNs, List<PortCounters> ports) {}

  private final ArrayDeque<Sample> samples = new ArrayDeque<>();

  void add(long monotonicNs, long wallNs, List<PortCounters> ports) {
    samples.addLast(new Sample(monotonicNs, wallNs, List.copyOf(ports)));
    while (samples.size() > MAX_SAMPLES || monotonicNs - samples.getFirst().monotonicNs > KEEP_NS) {
      samples.removeFirst();
    }
  }

  /** The last reading before a moment, or the first there is. */
  private @Nullable Sample before(long monotonicNs) {
    Sample best = samples.peekFirst();
    for (Sample sample : samples) {
      if (sample.monotonicNs > monotonicNs) {
        break;
      }
      best = sample;
    }
    return best;
  }

  /** One port from one reading to another. */
  private interface Pair {
    void take(PortCounters earlier, PortCounters later, Sample from, Sample to);
  }

  private void forEach(long fromNs, Collection<String> devices, Pair pair) {
    Sample from = before(fromNs);
    Sample to = samples.peekLast();
    if (from == null || to == null || from.equals(to)) {
      return;
    }
    for (PortCounters later : to.ports) {
      if (devices.contains(later.device())) {
        from.ports.stream()
            .filter(later::isSamePort)
            .findFirst()
            .ifPresent(earlier -> pair.take(earlier, later, from, to));
      }
    }
  }

  /** What ports counted from a moment to the last reading. */
  List<CounterDelta> deltas(long fromNs, Collection<String> devices) {
    List<CounterDelta> deltas = new ArrayList<>();
    forEach(
        fromNs,
        devices,
        (earlier, later, from, to) -> deltas.add(CounterDelta.between(earlier, later)));
    return deltas;
  }

  /** The same for people and for the journal. */
  List<CounterWindow> windows(long fromNs, Collection<String> devices) {
    List<CounterWindow> windows = new ArrayList<>();
    forEach(
        fromNs,
        devices,
        (earlier, later, from, to) ->
            windows.add(window(CounterDelta.between(earlier, later), later, from, to)));
    return windows;
  }

  private static CounterWindow window(
      CounterDelta delta, PortCounters later, Sample from, Sample to) {
    TreeMap<String, Long> increases = new TreeMap<>();
    int unmoved = 0;
    for (var change : delta.changes().entrySet()) {
      if (change.getValue().increase() > 0) {
        increases.put(change.getKey(), change.getValue().increase());
      } else {
        unmoved++;
      }
    }
    return new CounterWindow(
        delta.device(),
        delta.port(),
        from.wallNs,
        to.wallNs,
        increases,
        unmoved,
        later.missing().stream().map(Unreadable::path).toList(),
        delta.reset());
  }

  /** The devices in the last reading. */
  List<String> devices() {
    Sample last = samples.peekLast();
    return last == null
        ? List.of()
        : last.ports.stream().map(PortCounters::device).distinct().toList();
  }

  /** How far back the readings go from the last one. */
  long spanNs() {
    Iterator<Sample> last = samples.descendingIterator();
    return last.hasNext() ? last.next().monotonicNs - samples.getFirst().monotonicNs : 0;
  }
}
