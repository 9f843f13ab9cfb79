package io.rdma4j.monitor;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;

import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.CounterReader;
import io.rdma4j.host.CounterSignal;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.PortCounters;
import io.rdma4j.host.PortReport;
import io.rdma4j.host.PortStateReader;
import io.rdma4j.host.PortStateReader.PortState;
import io.rdma4j.status.MetricDescriptor;
import io.rdma4j.status.MetricSource;
import io.rdma4j.status.TableDescriptor;
import io.rdma4j.status.TableDescriptor.Column;
import io.rdma4j.status.TableDescriptor.Kind;
import io.rdma4j.status.TableSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The ports of this machine as metrics and as a table: their state, and what their counters mean,
 * whatever a driver calls them ({@link CounterSignal}).
 *
 * <p>A signal counts from the first look on, across wraps and resets of the counters behind it; one
 * that no counter of the port shows is left out. States and counters are read at most twice a
 * second, however many readers there are; the rest, whose GID tables alone have up to a thousand
 * files, when it is wanted and {@value #DEVICES_FRESH_NS} ns old, or a state has changed. Nobody
 * waits for either for long: a driver may answer late, above all while a port fails. Thread-safe.
 */
final class PortWatch {
  private static final MetricDescriptor ACTIVE =
      gauge("rdma4j_port_active", "Whether a port can carry traffic: 1, or 0.", "device", "port");
  private static final MetricDescriptor SIGNALS =
      counter(
          "rdma4j_port_signals_total",
          "What the counters of a port have counted since the monitor began, by meaning.",
          "device",
          "port",
          "signal");

  private static final TableDescriptor TABLE =
      new TableDescriptor(
          "ports",
          "Ports of the RDMA devices of this machine.",
          List.of(
              new Column("device", Kind.TEXT, "Kernel name of the device."),
              new Column("port", Kind.WHOLE, "Number of the port, from 1."),
              new Column("state", Kind.TEXT, "Logical state as the kernel names it."),
              new Column("link_layer", Kind.TEXT, "InfiniBand or Ethernet."),
              new Column("rate", Kind.TEXT, "Link rate as the kernel words it."),
              new Column("netdev", Kind.TEXT, "Network device that carries the port."),
              new Column("mtu_bytes", Kind.WHOLE, "Path MTU that the port can carry."),
              new Column(
                  "gid_index",
                  Kind.WHOLE,
                  "Index of the address to connect from in the GID table; rdma_cm looks it up anew"
                      + " for each connection."),
              new Column("gid", Kind.TEXT, "That address."),
              new Column("model", Kind.TEXT, "The driver's name of the hardware."),
              new Column("firmware", Kind.TEXT, "Its version."),
              new Column("numa_node", Kind.WHOLE, "Node that the card is on.")));

  private static final long FRESH_NS = 500_000_000L;
  private static final long DEVICES_FRESH_NS = 30_000_000_000L;

  /** The kernel fills, or empties, the GID table of a port a while after its state has changed. */
  private static final long SETTLED_NS = 2_000_000_000L;

  private record Port(String device, int number) {}

  /** What a signal of a port has counted so far. */
  private record Total(Port port, CounterSignal signal, long count) {}

  /** One look at all ports. */
  private record Look(List<PortState> states, List<Total> totals) {}

  private final Path root;
  private final CounterReader counters;
  private final PortStateReader stateReader;
  private final SlowReading<Look> looks;
  private final SlowReading<List<DeviceReport>> devices;

  // The thread of the looks alone.
  private final Map<Port, PortCounters> earlier = new LinkedHashMap<>();
  private final Map<Port, EnumMap<CounterSignal, Long>> totals = new LinkedHashMap<>();
  private @Nullable List<PortState> statesBefore;

  /**
   * Creates a watch.
   *
   * @param root {@code /}, or a folder with a copied tree
   */
  PortWatch(Path root) throws IOException {
    this.root = root;
    this.counters = CounterReader.at(root);
    this.stateReader = PortStateReader.at(root);
    this.looks =
        new SlowReading<>("rdma4j-ports", this::look, FRESH_NS, new Look(List.of(), List.of()));
    this.devices =
        new SlowReading<>("rdma4j-devices", this::readDevices, DEVICES_FRESH_NS, List.of());
  }

  private Look look() {
    List<PortState> states = stateReader.read();
    if (statesBefore != null && !states.equals(statesBefore)) {
      devices.outdate(SETTLED_NS);
    }
    statesBefore = states;
    for (PortCounters now : counters.read()) {
      Port port = new Port(now.device(), now.port());
      PortCounters before = earlier.put(port, now);
      count(port, CounterDelta.between(before == null ? now : before, now));
    }
    List<Total> counted = new ArrayList<>();
    totals.forEach(
        (port, sums) -> sums.forEach((signal, sum) -> counted.add(new Total(port, signal, sum))));
    return new Look(states, List.copyOf(counted));
  }

  private List<DeviceReport> readDevices() {
    try {
      return HostReport.readDevices(root);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void count(Port port, CounterDelta delta) {
    EnumMap<CounterSignal, Long> sums =
        totals.computeIfAbsent(port, p -> new EnumMap<>(CounterSignal.class));
    for (CounterSignal signal : CounterSignal.values()) {
      delta.increase(signal).ifPresent(increase -> sums.merge(signal, increase, Long::sum));
    }
  }

  MetricSource metrics() {
    return new MetricSource() {
      @Override
      public List<MetricDescriptor> descriptors() {
        return List.of(ACTIVE, SIGNALS);
      }

      @Override
      public void collect(Sink sink) {
        collectMetrics(sink);
      }
    };
  }

  private void collectMetrics(MetricSource.Sink sink) {
    Look now = looks.get();
    for (PortState port : now.states) {
      if (port.state() != null) {
        sink.add(ACTIVE, port.isActive() ? 1 : 0, port.device(), "" + port.port());
      }
    }
    for (Total total : now.totals) {
      sink.add(
          SIGNALS,
          total.count,
          total.port.device,
          "" + total.port.number,
          total.signal.name().toLowerCase(Locale.ROOT));
    }
  }

  TableSource table() {
    return new TableSource() {
      @Override
      public TableDescriptor table() {
        return TABLE;
      }

      @Override
      public void collect(Rows rows) {
        collectTable(rows);
      }

      @Override
      public String toString() {
        return "the ports below " + root;
      }
    };
  }

  /** What is now, beside what is known of a port. */
  private void collectTable(TableSource.Rows rows) {
    List<PortState> ports = looks.get().states;
    List<DeviceReport> known = devices.get();
    for (PortState port : ports) {
      DeviceReport device = find(known, d -> d.name().equals(port.device()));
      addRow(
          rows,
          port,
          device,
          device == null ? null : find(device.ports(), p -> p.number() == port.port()));
    }
  }

  private static <T> @Nullable T find(List<T> all, Predicate<T> wanted) {
    return all.stream().filter(wanted).findFirst().orElse(null);
  }

  private static void addRow(
      TableSource.Rows rows,
      PortState now,
      @Nullable DeviceReport device,
      @Nullable PortReport port) {
    if (device == null || port == null) {
      @Nullable Object[] cells = new @Nullable Object[TABLE.columns().size()];
      cells[0] = now.device();
      cells[1] = (long) now.port();
      cells[2] = now.state();
      rows.add(cells);
      return;
    }
    GidReport gid = port.recommendedGid();
    rows.add(
        now.device(),
        (long) now.port(),
        now.state(),
        port.linkLayer(),
        port.rate(),
        port.netdev(),
        port.mtuBytes() == null ? null : (Long) port.mtuBytes().longValue(),
        gid == null ? null : (Long) (long) gid.index(),
        gid == null ? null : gid.ipv4() != null ? gid.ipv4() : gid.gid(),
        device.model(),
        device.firmware(),
        device.numaNode() == null ? null : (Long) device.numaNode().longValue());
  }
}
