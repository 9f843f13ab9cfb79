package io.rdma4j.diagnosis;

import io.rdma4j.host.CounterReader;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.PortCounters;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Where counters and settings of the machine come from. One thread at a time. */
interface HostSource {
  /** Returns the counters of all ports; empty without any. */
  List<PortCounters> counters();

  /** Returns settings and limits, null when they can not be had. */
  @Nullable HostReport report();

  /** Returns the machine, or the copied tree, at {@code root}. */
  static HostSource at(Path root) {
    return new Files(root);
  }

  /** The files below a root. */
  final class Files implements HostSource {
    private static final Logger LOG = System.getLogger(HostSource.class.getName());

    private final Path root;
    private final @Nullable CounterReader counters;

    private Files(Path root) {
      this.root = root;
      CounterReader reader = null;
      try {
        reader = CounterReader.at(root);
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "no counters below " + root, e);
      }
      counters = reader;
    }

    @Override
    public List<PortCounters> counters() {
      return counters == null ? List.of() : counters.read();
    }

    @Override
    public @Nullable HostReport report() {
      try {
        return HostReport.read(root);
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "no facts below " + root, e);
        return null;
      }
    }
  }
}
