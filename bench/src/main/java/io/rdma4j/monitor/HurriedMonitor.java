package io.rdma4j.monitor;

import io.rdma4j.status.EventJournal;
import io.rdma4j.status.StatusRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;

/** A monitor that looks oftener than once a second, so that a short slice has all of its work. */
public final class HurriedMonitor {
  private HurriedMonitor() {}

  /**
   * Starts one on a free port of the loopback address.
   *
   * @param root of the machine whose ports it watches
   * @param periodNs between two looks
   */
  public static Monitor start(
      StatusRegistry registry, EventJournal journal, Path root, long periodNs) {
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return Monitor.start(
        MonitorConfig.defaults().withAddress(anyPort), registry, journal, root, periodNs);
  }
}
