package io.rdma4j.tools.doctor;

import io.rdma4j.host.CounterReader;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.PortCounters;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A host at one moment.
 *
 * @param host its facts
 * @param counters its counters, one entry for each port
 */
record Snapshot(HostReport host, List<PortCounters> counters) {
  Snapshot {
    counters = List.copyOf(counters);
  }

  static Snapshot read(Path root) throws IOException {
    HostReport host = HostReport.read(root);
    CounterReader reader =
        host.live() ? CounterReader.at(root, Ethtool::statistics) : CounterReader.at(root);
    return new Snapshot(host, reader.read());
  }

  @Nullable DeviceReport device(String name) {
    return host.devices().stream().filter(d -> d.name().equals(name)).findFirst().orElse(null);
  }

  @Nullable PortCounters sameAs(PortCounters other) {
    return counters.stream().filter(other::isSamePort).findFirst().orElse(null);
  }

  /**
   * Returns this host with its devices as {@code later} shows them. A later tree may hold counters
   * alone: a device whose port states it lacks is described as before. A device that it does not
   * list at all is gone.
   */
  Snapshot updatedBy(Snapshot later) {
    List<DeviceReport> devices = new ArrayList<>();
    for (DeviceReport now : later.host.devices()) {
      DeviceReport before = device(now.name());
      devices.add(before == null || tellsStates(now) ? now : before);
    }
    return new Snapshot(host.withDevices(devices), later.counters);
  }

  static boolean tellsStates(DeviceReport device) {
    return device.ports().stream().anyMatch(port -> port.state() != null);
  }
}
