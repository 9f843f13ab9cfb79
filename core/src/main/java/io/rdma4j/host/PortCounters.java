package io.rdma4j.host;

import io.rdma4j.host.HostReport.Unreadable;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One reading of the counters of one port.
 *
 * <p>A counter is named by the folder it stands in and its file, since drivers use one name in two
 * folders:
 *
 * <pre>
 *   counters/NAME      /sys/class/infiniband/DEVICE/ports/PORT/counters     port counters of InfiniBand
 *   hw_counters/NAME   /sys/class/infiniband/DEVICE/ports/PORT/hw_counters  what the driver adds
 *   net/NAME           /sys/class/net/NETDEV                                link of the network device
 *   ethtool/NAME       ethtool -S NETDEV                                    what its driver counts
 * </pre>
 *
 * <p>A value is in the counter's own unit: {@code port_xmit_data} counts words of four bytes. A
 * total says little by itself, it has grown since the driver was loaded; {@link CounterDelta} says
 * what happened between two readings.
 *
 * @param device kernel name of the device
 * @param port port number, from 1; 0 for counters of the whole device
 * @param netdev network device of the port, null on InfiniBand and when unknown
 * @param lifespanMs for how long the driver repeats its last answer for {@code hw_counters};
 *     reading more often shows nothing new; null when it does not tell
 * @param values counters that gave a number, unsigned, by name
 * @param missing counters that are there and gave none: never 0, never -1, just unknown
 */
public record PortCounters(
    String device,
    int port,
    @Nullable String netdev,
    @Nullable Long lifespanMs,
    NavigableMap<String, Long> values,
    List<Unreadable> missing) {

  /** Copies the values and the list. */
  public PortCounters {
    values = Collections.unmodifiableNavigableMap(new TreeMap<>(values));
    missing = List.copyOf(missing);
  }

  /** Whether {@code other} is a reading of the same port. */
  public boolean isSamePort(PortCounters other) {
    return port == other.port && device.equals(other.device);
  }
}
