package io.rdma4j.host;

import java.util.Collections;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * What a port counted between two readings.
 *
 * <p>Only counters with a value in both readings are here; what one of them lacks is unknown and
 * not zero. A counter that fell has wrapped or was cleared, and {@link How} tells which:
 *
 * <ul>
 *   <li>It wrapped when it is one of 32 bits, went from the upper half of its range to the lower,
 *       and nothing shows that the port was reset. The increase goes on across the wrap.
 *   <li>Otherwise it was cleared (driver loaded anew, {@code perfquery -R}). The increase is what
 *       it counted since, so at least that much happened.
 *   <li>A port counter at the end of its field counts no longer: at least the increase happened.
 * </ul>
 *
 * @param device kernel name of the device
 * @param port port number, 0 for counters of the whole device
 * @param changes changes by the name of the counter, those of zero included
 * @param reset whether counters of this port were cleared between the readings
 */
public record CounterDelta(
    String device, int port, NavigableMap<String, Change> changes, boolean reset) {

  /** Copies the changes. */
  public CounterDelta {
    changes = Collections.unmodifiableNavigableMap(new TreeMap<>(changes));
  }

  /** How an increase was found. */
  public enum How {
    /** The later value less the earlier. */
    COUNTED,
    /** Across the end of 32 bits. */
    WRAPPED,
    /** The counter was cleared; the increase is a lower bound. */
    CLEARED,
    /** The counter has reached its end; the increase is a lower bound. */
    PEGGED
  }

  /**
   * The change of one counter.
   *
   * @param increase in the counter's own unit, not negative
   * @param how how it was found
   */
  public record Change(long increase, How how) {}

  /**
   * Returns what was counted from {@code earlier} to {@code later}.
   *
   * @throws IllegalArgumentException when they are readings of two different ports
   */
  public static CounterDelta between(PortCounters earlier, PortCounters later) {
    if (!earlier.isSamePort(later)) {
      throw new IllegalArgumentException(
          String.format(
              "readings of two ports: %s port %d and %s port %d; compare readings of one",
              earlier.device(), earlier.port(), later.device(), later.port()));
    }
    NavigableMap<String, Change> changes = new TreeMap<>();
    boolean reset = wasReset(earlier, later);
    later
        .values()
        .forEach(
            (counter, now) -> {
              Long before = earlier.values().get(counter);
              if (before != null && !CounterWidth.isGauge(counter)) {
                changes.put(counter, change(counter, before, now, reset));
              }
            });
    return new CounterDelta(later.device(), later.port(), changes, reset);
  }

  private static Change change(String counter, long before, long now, boolean reset) {
    boolean fell = Long.compareUnsigned(now, before) < 0;
    if (fell && !reset && CounterWidth.canWrap(counter, before, now)) {
      return new Change(CounterWidth.across(before, now), How.WRAPPED);
    }
    if (fell) {
      return new Change(bounded(now), How.CLEARED);
    }
    How how = CounterWidth.isPegged(counter, now) ? How.PEGGED : How.COUNTED;
    return new Change(bounded(now - before), how);
  }

  /** Values are unsigned; an increase beyond 2^63 is no count of anything. */
  private static long bounded(long unsigned) {
    return unsigned < 0 ? Long.MAX_VALUE : unsigned;
  }

  /** A fall that no wrap explains; the counters of a port are cleared together. */
  private static boolean wasReset(PortCounters earlier, PortCounters later) {
    return later.values().entrySet().stream()
        .anyMatch(
            entry -> {
              String counter = entry.getKey();
              Long before = earlier.values().get(counter);
              return before != null
                  && !CounterWidth.isGauge(counter)
                  && Long.compareUnsigned(entry.getValue(), before) < 0
                  && !CounterWidth.canWrap(counter, before, entry.getValue());
            });
  }

  /** Returns the increase of one counter, empty when it is unknown. */
  public OptionalLong increase(String counter) {
    Change change = changes.get(counter);
    return change == null ? OptionalLong.empty() : OptionalLong.of(change.increase());
  }

  /** Returns the increase of a signal in its unit, empty when no counter of this port shows it. */
  public OptionalLong increase(CounterSignal signal) {
    return signal.of(this);
  }

  /** Returns whether a signal is known and has increased. */
  public boolean has(CounterSignal signal) {
    return increase(signal).orElse(0) > 0;
  }

  /** Returns whether a signal is known and has not increased: silence that is evidence. */
  public boolean isSilent(CounterSignal signal) {
    return increase(signal).orElse(-1) == 0;
  }
}
