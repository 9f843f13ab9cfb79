package io.rdma4j.host;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds the network device that carries a port. */
final class PortNetdev {
  private PortNetdev() {}

  /**
   * Returns its name, null on InfiniBand and when nothing tells. The first slots of the GID table
   * belong to the port's own network device, later ones to its VLANs. That table is empty while the
   * port is down, has up to a thousand files, and this is asked for each second: so it is read
   * through last.
   *
   * @param deviceDir for example {@code /sys/class/infiniband/mlx5_0}
   * @param port port number
   */
  static @Nullable String of(Probe probe, String deviceDir, int port) {
    String portDir = deviceDir + "/ports/" + port;
    if ("InfiniBand".equals(probe.optionalText(portDir + "/link_layer"))) {
      return null;
    }
    String ndevs = portDir + "/gid_attrs/ndevs/";
    String first = probe.optionalText(ndevs + 0);
    if (first != null) {
      return first;
    }
    String parent = probe.optionalText(deviceDir + "/parent");
    if (parent != null) {
      return parent;
    }
    List<String> onTheBus = probe.names(deviceDir + "/device/net");
    if (onTheBus != null && onTheBus.size() == 1) {
      return onTheBus.getFirst();
    }
    for (int index : probe.numbers(ndevs)) {
      String netdev = probe.optionalText(ndevs + index);
      if (netdev != null) {
        return netdev;
      }
    }
    return null;
  }
}
