package io.rdma4j.diagnosis;

import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.LimitsReport;
import io.rdma4j.host.PortReport;
import java.util.Locale;

/** Settings of the machine as facts. */
final class HostFacts {
  private HostFacts() {}

  /** Adds settings of a device, and limits of the process. */
  static void add(Facts.Builder facts, HostReport settings, String device) {
    LimitsReport limits = settings.limits();
    if (limits.memlockBytes() != null && !Boolean.TRUE.equals(limits.ipcLock())) {
      facts.set("config.memlock_bytes", (double) limits.memlockBytes());
    }
    settings.devices().stream()
        .filter(d -> d.name().equals(device))
        .findFirst()
        .ifPresent(d -> add(facts, d));
  }

  private static void add(Facts.Builder facts, DeviceReport device) {
    if (device.transport() != null) {
      facts.set("config." + device.transport().name().toLowerCase(Locale.ROOT), 1);
    }
    facts.set("config.virtual", device.virtual() ? 1 : 0);
    for (PortReport port : device.ports()) {
      if (port.mtuBytes() != null && port.isActive()) {
        facts.set("config.mtu", port.mtuBytes());
      }
      GidReport gid = port.recommendedGid();
      if (gid != null && gid.type() != null) {
        facts.set("config.roce_v1", gid.type() == GidReport.Protocol.ROCE_V1 ? 1 : 0);
      }
    }
  }
}
