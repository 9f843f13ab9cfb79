package io.rdma4j.host;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the states of all ports of a machine, as often as wanted: one file of each port, where a
 * {@link HostReport} reads hundreds.
 *
 * <p>Immutable and safe for use by several threads.
 */
public final class PortStateReader {
  private static final String DEVICES = "/sys/class/infiniband";

  private final HostTree tree;

  private PortStateReader(HostTree tree) {
    this.tree = tree;
  }

  /**
   * The state of a port.
   *
   * @param device kernel name of the device
   * @param port number of the port, from 1
   * @param state as the kernel names it, for example {@code ACTIVE}; null when unknown
   */
  public record PortState(String device, int port, @Nullable String state) {
    /** Whether the port can carry traffic now. */
    public boolean isActive() {
      return "ACTIVE".equals(state);
    }
  }

  /**
   * Returns a reader for the machine, or copied tree, at {@code root}.
   *
   * @throws IOException when {@code root} is not a directory
   */
  public static PortStateReader at(Path root) throws IOException {
    return new PortStateReader(HostTree.at(root));
  }

  /** Reads all ports once, in the order of devices and ports; empty without any. */
  public List<PortState> read() {
    Probe probe = new Probe(tree);
    List<PortState> states = new ArrayList<>();
    List<String> devices = probe.names(DEVICES);
    if (devices == null) {
      return states;
    }
    for (String device : devices) {
      String ports = DEVICES + "/" + device + "/ports";
      for (int number : probe.numbers(ports)) {
        String state = probe.text(ports + "/" + number + "/state");
        states.add(new PortState(device, number, PortReader.afterColon(state)));
      }
    }
    return states;
  }
}
