package io.rdma4j.provider.verbs;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The ports that connections may use, for example {@code mlx5_0} for all ports of a device or
 * {@code mlx5_1:2} for one of them.
 *
 * @param ports empty for all there are
 * @param gidIndex entry of the GID table to run from, 0 to 255, or {@link #GID_BY_ADDRESS}
 */
public record PortRestriction(List<String> ports, int gidIndex) {
  /** For {@link #gidIndex}: the entry of the address that the connection uses. */
  public static final int GID_BY_ADDRESS = -1;

  /** Every port of every device. */
  public static final PortRestriction NONE = new PortRestriction(List.of(), GID_BY_ADDRESS);

  static final int MAX_GID_INDEX = 255;

  private static final Pattern PORT =
      Pattern.compile("([^:,\\s]+)(?::([1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5]))?");

  /** Validates the names and the index. */
  public PortRestriction {
    ports = List.copyOf(ports);
    if (gidIndex < GID_BY_ADDRESS || gidIndex > MAX_GID_INDEX) {
      throw new IllegalArgumentException(
          VerbsSettings.GID_INDEX + " is " + gidIndex + ", allowed: 0 to " + MAX_GID_INDEX);
    }
    for (String port : ports) {
      if (!PORT.matcher(port).matches()) {
        throw new IllegalArgumentException(
            VerbsSettings.DEVICES
                + " has '"
                + port
                + "', allowed: names of devices, each alone or with a port from 1 to 255, for"
                + " example mlx5_0,mlx5_1:2");
      }
    }
  }

  /** Reads a list with commas. */
  static PortRestriction parse(String text, int gidIndex) {
    List<String> ports = new ArrayList<>();
    for (String port : text.isBlank() ? new String[0] : text.split(",", -1)) {
      ports.add(port.strip());
    }
    return new PortRestriction(ports, gidIndex);
  }

  boolean allows(String device) {
    return ports.isEmpty() || devices().contains(device);
  }

  boolean allows(String device, int port) {
    return ports.isEmpty() || ports.contains(device) || ports.contains(device + ":" + port);
  }

  /** Returns the devices named, each once. */
  Set<String> devices() {
    Set<String> devices = new LinkedHashSet<>();
    for (String port : ports) {
      Matcher named = PORT.matcher(port);
      if (named.matches()) {
        devices.add(named.group(1));
      }
    }
    return devices;
  }
}
