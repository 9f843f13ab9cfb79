package io.rdma4j.host;

import io.rdma4j.host.HostReport.Unreadable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the counters of all ports of a machine, as often as wanted.
 *
 * <p>A device that gives nonsense, or nothing, costs its own values only: what cannot be read is in
 * {@link PortCounters#missing}, and a folder that a driver does not have is no failure at all. No
 * device gives an empty list.
 *
 * <p>Immutable and safe for use by several threads. A reading opens some tens of files of each
 * port.
 */
public final class CounterReader {
  private static final String DEVICES = "/sys/class/infiniband";

  /** How long the driver keeps its values; a setting, and no counter. */
  private static final String LIFESPAN = "lifespan";

  private static final Pattern ETHTOOL_FILE = Pattern.compile("ethtool-S-(.+)\\.txt");
  private static final Pattern ETHTOOL_ROW = Pattern.compile("\\s*(\\S+): (\\d+)\\s*");

  private final HostTree tree;
  private final @Nullable EthtoolSource ethtool;

  private CounterReader(HostTree tree, @Nullable EthtoolSource ethtool) {
    this.tree = tree;
    this.ethtool = ethtool;
  }

  /** Where the statistics come from that a network driver shows to ethtool alone. */
  @FunctionalInterface
  public interface EthtoolSource {
    /** Returns what {@code ethtool -S netdev} prints, null when that can not be had. */
    @Nullable String statistics(String netdev);
  }

  /**
   * Returns a reader for the machine, or copied tree, at {@code root}. A tree may hold the output
   * of {@code ethtool -S NETDEV} as {@code ethtool-S-NETDEV.txt} beside its {@code sys}; that of a
   * port below a bond as {@code ethtool-S-BOND-NETDEV.txt}.
   *
   * @throws IOException when {@code root} is not a directory
   */
  public static CounterReader at(Path root) throws IOException {
    return new CounterReader(HostTree.at(root), null);
  }

  /**
   * Returns a reader for the machine at {@code root} that asks {@code ethtool} for the statistics
   * of the network device of each port, or of the devices below it when it is a bond.
   *
   * @throws IOException when {@code root} is not a directory
   */
  public static CounterReader at(Path root, EthtoolSource ethtool) throws IOException {
    return new CounterReader(HostTree.at(root), ethtool);
  }

  /** Reads all ports once, in the order of devices and ports. */
  public List<PortCounters> read() {
    Probe probe = new Probe(tree);
    List<PortCounters> ports = new ArrayList<>();
    List<String> devices = probe.names(DEVICES);
    if (devices == null) {
      return ports;
    }
    for (String device : devices) {
      String dir = DEVICES + "/" + device;
      Port whole = new Port(device, 0, null);
      whole.readFolder("hw_counters", dir + "/hw_counters");
      if (!whole.isEmpty()) {
        ports.add(whole.counters());
      }
      for (int number : probe.numbers(dir + "/ports")) {
        Port port = new Port(device, number, PortNetdev.of(probe, dir, number));
        port.readAll(dir + "/ports/" + number);
        ports.add(port.counters());
      }
    }
    return ports;
  }

  /** The reading of one port in the making. */
  private final class Port {
    private final Probe probe = new Probe(tree);
    private final TreeMap<String, Long> values = new TreeMap<>();
    private final String device;
    private final int number;
    private final @Nullable String netdev;
    private @Nullable Long lifespanMs;

    Port(String device, int number, @Nullable String netdev) {
      this.device = device;
      this.number = number;
      this.netdev = netdev;
    }

    void readAll(String dir) {
      readFolder("counters", dir + "/counters");
      readFolder("hw_counters", dir + "/hw_counters");
      if (netdev != null) {
        String net = "/sys/class/net/" + netdev;
        readOne("net/carrier_down_count", net + "/carrier_down_count");
        readOne("net/rx_crc_errors", net + "/statistics/rx_crc_errors");
        readEthtool(netdev);
      }
    }

    void readFolder(String folder, String dir) {
      probe.forEachText(
          dir,
          (name, text) -> {
            String path = dir + "/" + name;
            if (name.equals(LIFESPAN)) {
              lifespanMs = probe.parse(path, text);
            } else {
              add(folder + "/" + name, path, text);
            }
          });
    }

    private void readOne(String counter, String path) {
      String text = probe.text(path);
      if (text != null) {
        add(counter, path, text);
      }
    }

    /** The kernel prints counters as unsigned, those of 64 bits too. */
    private void add(String counter, String path, String text) {
      try {
        values.put(counter, Long.parseUnsignedLong(text));
      } catch (NumberFormatException e) {
        probe.report(path, "not a number: '" + text + "'");
      }
    }

    private void readEthtool(String carrier) {
      if (ethtool != null) {
        String below = probe.optionalText("/sys/class/net/" + carrier + "/bonding/slaves");
        for (String name : (below == null ? carrier : below).split(" +", -1)) {
          addEthtool(ethtool.statistics(name));
        }
        return;
      }
      List<String> files = probe.isLive() ? null : probe.names("/");
      if (files == null) {
        return;
      }
      for (String file : files) {
        Matcher name = ETHTOOL_FILE.matcher(file);
        if (name.matches() && isOf(name.group(1), carrier)) {
          addEthtool(probe.text("/" + file));
        }
      }
    }

    private static boolean isOf(String name, String carrier) {
      return name.equals(carrier) || name.startsWith(carrier + "-");
    }

    /** The ports below a bond carry its traffic together, so their counters are added. */
    private void addEthtool(@Nullable String text) {
      if (text == null) {
        return;
      }
      for (String line : text.lines().toList()) {
        Matcher row = ETHTOOL_ROW.matcher(line);
        String counter = row.matches() ? "ethtool/" + row.group(1) : "";
        if (CounterSignal.uses(counter)) {
          try {
            values.merge(counter, Long.parseUnsignedLong(row.group(2)), Long::sum);
          } catch (NumberFormatException e) {
            probe.report(counter, "not a number: '" + row.group(2) + "'");
          }
        }
      }
    }

    boolean isEmpty() {
      return values.isEmpty() && probe.unreadable().isEmpty();
    }

    PortCounters counters() {
      List<Unreadable> missing = probe.unreadable();
      return new PortCounters(device, number, netdev, lifespanMs, values, missing);
    }
  }
}
