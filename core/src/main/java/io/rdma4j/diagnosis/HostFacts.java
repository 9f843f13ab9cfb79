package io.rdma4j.diagnosis;

import io.rdma4j.host.CounterReader;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.LimitsReport;
import io.rdma4j.host.PortCounters;
import io.rdma4j.host.PortReport;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the machine says of itself: counters as often as wanted, settings now and then.
 *
 * <p>Watch thread only. Settings are some hundred files, and an incident must not wait for them:
 * after the first time they are read on a thread of their own, and the old ones serve meanwhile.
 */
final class HostFacts {
  private static final Logger LOG = System.getLogger(HostFacts.class.getName());

  /** Settings change when somebody changes them. */
  private static final long KEEP_NS = 30_000_000_000L;

  private final Path root;
  private final @Nullable CounterReader counters;
  private volatile @Nullable HostReport report;
  private volatile boolean reading;
  private boolean everRead;
  private long readNs;

  HostFacts(Path root) {
    this.root = root;
    CounterReader reader = null;
    try {
      reader = CounterReader.at(root);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "no counters below " + root, e);
    }
    counters = reader;
  }

  /** Returns the counters of all ports; empty without any. */
  List<PortCounters> counters() {
    return counters == null ? List.of() : counters.read();
  }

  /** Adds settings of a device, and limits of the process. */
  void addTo(Facts.Builder facts, String device, long nowNs) {
    HostReport known = settings(nowNs);
    if (known == null) {
      return;
    }
    LimitsReport limits = known.limits();
    if (limits.memlockBytes() != null && !Boolean.TRUE.equals(limits.ipcLock())) {
      facts.set("config.memlock_bytes", (double) limits.memlockBytes());
    }
    known.devices().stream()
        .filter(d -> d.name().equals(device))
        .findFirst()
        .ifPresent(d -> add(facts, d));
  }

  private @Nullable HostReport settings(long nowNs) {
    if (!everRead) {
      everRead = true;
      readNs = nowNs;
      read();
    } else if (nowNs - readNs > KEEP_NS && !reading) {
      reading = true;
      readNs = nowNs;
      Thread.ofPlatform().name("rdma4j-settings").daemon(true).start(this::read);
    }
    return report;
  }

  private void read() {
    try {
      report = HostReport.read(root);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "no facts below " + root, e);
    } finally {
      reading = false;
    }
  }

  private static void add(Facts.Builder facts, DeviceReport device) {
    if (device.transport() != null) {
      facts.set("config." + device.transport().name().toLowerCase(java.util.Locale.ROOT), 1);
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
