package io.rdma4j.status;

import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * What the counters of one port did around an incident.
 *
 * <p>Immutable.
 *
 * @param device kernel name of the device
 * @param port port number, 0 for counters of the whole device
 * @param fromNs time of the earlier reading, nanoseconds since the epoch
 * @param toNs time of the later reading
 * @param increases what each counter that moved went up by, in its own unit, by its name
 * @param unmoved how many counters were read and stood still
 * @param unreadable names of counters that are there and gave no number
 * @param cleared whether counters were cleared in between; increases are lower bounds then
 */
public record CounterWindow(
    String device,
    int port,
    long fromNs,
    long toNs,
    NavigableMap<String, Long> increases,
    int unmoved,
    List<String> unreadable,
    boolean cleared) {

  /** Copies map and list. */
  public CounterWindow {
    increases = Collections.unmodifiableNavigableMap(new TreeMap<>(increases));
    unreadable = List.copyOf(unreadable);
  }
}
